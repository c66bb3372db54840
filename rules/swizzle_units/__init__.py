"""SML204, swizzle-units: `README.md` is its page."""
