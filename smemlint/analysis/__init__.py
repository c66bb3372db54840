"""Program to facts: every dialect, and compiled code.

Takes units of `frontend` and settings.
Gives `Facts`: accesses with wavefronts, a certainty and a reason.
"""
