"""SML207, tma-mode-mismatch: `README.md` is its page."""
