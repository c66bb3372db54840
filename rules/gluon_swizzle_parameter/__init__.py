"""SML210, gluon-swizzle-parameter: `README.md` is its page."""
