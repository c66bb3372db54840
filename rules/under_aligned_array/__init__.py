"""SML303, under-aligned-array: `README.md` is its page."""
