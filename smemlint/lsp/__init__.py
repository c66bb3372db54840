"""The language server: diagnostics, fixes, hovers and hints in an editor, while one types."""
