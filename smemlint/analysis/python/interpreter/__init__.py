"""An interpreter of Python sources over abstract values; nothing of the source is executed."""
