"""Settings: the table of options, configuration files, what users assume.

Takes TOML files and the command line.
Gives `Settings`.
"""
