"""The index of a run.

Takes sources and settings.
Gives units, main files, user input, and the dependencies of every result.
"""
