"""SML102, atomic-contention: `README.md` is its page."""
