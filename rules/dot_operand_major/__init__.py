"""SML501, dot-operand-major: `README.md` is its page."""
