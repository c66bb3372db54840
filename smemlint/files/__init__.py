"""Opening and writing files whose names come from hostile input: confined, bounded, atomic.

Takes a path that a file names.
Gives its bytes, if it lies where it may.
"""
