"""Abstract interpretation of Python sources, one package for each dialect."""
