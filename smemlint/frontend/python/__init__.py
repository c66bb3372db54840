"""Python sources: text, syntax and imports."""
