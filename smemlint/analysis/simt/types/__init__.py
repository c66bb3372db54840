"""Types: resolution, templates, specializations, overloads and records.

Takes type nodes and spellings.
Gives types of `domain.ctypes` with sizes and members.
"""
