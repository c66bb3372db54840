"""Loops: known trip counts, periodic iterations, widening and what an iteration modifies."""
