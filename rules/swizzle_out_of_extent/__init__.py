"""SML205, swizzle-out-of-extent: `README.md` is its page."""
