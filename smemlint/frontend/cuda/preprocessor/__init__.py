"""Directives, conditions in three values, macros and includes."""
