"""SML902, unused-ignore: `README.md` is its page."""
