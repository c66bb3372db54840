"""Rule: see README.md."""
