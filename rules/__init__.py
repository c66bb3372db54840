"""The rules, one folder each: rule.py, README.md, bad and good kernels."""

TABLE = (
    "bank_conflict",
    "atomic_contention",
    "misaligned_vector",
    "out_of_bounds",
    "not_analysed",
    "unused_ignore",
    "malformed_pragma",
)
