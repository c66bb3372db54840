"""Cuts a token stream into functions, records and declarations."""
