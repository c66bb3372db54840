"""SML502, stage-ring-budget: `README.md` is its page."""
