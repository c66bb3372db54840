"""Execution of CuTe DSL programs.

Takes host code and kernels of Python files.
Gives launches, and an event of the trace for every copy through shared memory.
"""
