"""SML401, out-of-bounds: `README.md` is its page."""
