"""SML304, split-vector: `README.md` is its page."""
