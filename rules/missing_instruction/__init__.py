"""SML504, missing-instruction: `README.md` is its page."""
