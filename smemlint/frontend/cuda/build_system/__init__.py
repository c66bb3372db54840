"""How a file is built.

Takes compilation databases, CMake files, Makefiles, setup.py.
Gives macros, include folders and target of a file.
"""
