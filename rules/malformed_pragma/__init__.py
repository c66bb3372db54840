"""SML903, malformed-pragma: `README.md` is its page."""
