"""Tokens of CUDA C++.

Takes text.
Gives tokens that know their place; matching brackets.
"""
