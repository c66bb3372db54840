"""SML904, model-refuted: `README.md` is its page."""
