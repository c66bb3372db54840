"""SML503, hidden-stride: `README.md` is its page."""
