"""Gluon: layouts of tiles in registers and shared memory.

Takes a Python source.
Gives accesses whose addresses follow from both layouts, and better layouts.
"""
