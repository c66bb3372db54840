"""Directives, conditions in three values, macros and includes.

Takes tokens of files.
Gives one stream of tokens, and what was assumed for it.
"""
