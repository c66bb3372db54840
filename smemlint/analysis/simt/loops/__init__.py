"""Loops: known trip counts, periodic iterations, widening and what an iteration modifies.

Takes a loop node.
Gives the state behind it, and the events of its iterations.
"""
