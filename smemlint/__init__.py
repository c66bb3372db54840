"""smemlint tells GPU programmers, from source alone, what their shared-memory accesses cost."""

__version__ = "0.1.0"
