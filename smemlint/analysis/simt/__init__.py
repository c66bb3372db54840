"""Evaluation: which shared bytes the lanes of every warp touch, and what that costs."""
