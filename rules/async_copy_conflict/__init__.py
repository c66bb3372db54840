"""SML103, async-copy-conflict: `README.md` is its page."""
