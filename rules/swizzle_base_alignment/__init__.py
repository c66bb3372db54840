"""SML206, swizzle-base-alignment: `README.md` is its page."""
