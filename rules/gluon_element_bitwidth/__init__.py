"""SML212, gluon-element-bitwidth: `README.md` is its page."""
