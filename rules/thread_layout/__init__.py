"""SML208, thread-layout: `README.md` is its page."""
