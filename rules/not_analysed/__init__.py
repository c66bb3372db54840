"""SML901, not-analysed: `README.md` is its page."""
