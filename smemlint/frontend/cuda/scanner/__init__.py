"""Cuts a token stream into definitions without parsing them.

Takes preprocessed tokens.
Gives `Scanned`: functions, records and declarations as tokens.
"""
