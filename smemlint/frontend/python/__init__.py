"""Python sources: text, syntax, imports and parameters.

Takes text.
Gives syntax trees with places; nothing is imported or executed.
"""
