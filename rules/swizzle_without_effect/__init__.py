"""SML202, swizzle-without-effect: `README.md` is its page."""
