"""The abstract domain: affine integers over lanes, intervals, pointers, memory, the trace.

Takes values.
Gives values: pure operations, which record nothing but in `trace`.
"""
