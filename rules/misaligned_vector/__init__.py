"""SML301, misaligned-vector: `README.md` is its page."""
