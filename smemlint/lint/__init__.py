"""Rules: what is reported, and what is not.

Takes facts.
Gives findings: selected, suppressed, compared with a baseline.
"""
