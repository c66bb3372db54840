"""The language server.

Takes messages of an editor.
Gives diagnostics, fixes, hovers and hints while one types.
"""
