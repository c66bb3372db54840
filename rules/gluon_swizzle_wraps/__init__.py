"""SML211, gluon-swizzle-wraps: `README.md` is its page."""
