"""SML302, vector-beyond-mbase: `README.md` is its page."""
