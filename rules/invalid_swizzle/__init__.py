"""SML201, invalid-swizzle: `README.md` is its page."""
