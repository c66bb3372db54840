"""SML101, bank-conflict: `README.md` is its page."""
