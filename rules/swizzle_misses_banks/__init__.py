"""SML203, swizzle-misses-banks: `README.md` is its page."""
