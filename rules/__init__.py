"""The rules, one folder each: rule.py, README.md, bad and good kernels."""

TABLE = (
    "bank_conflict",
    "atomic_contention",
    "invalid_swizzle",
    "swizzle_without_effect",
    "swizzle_misses_banks",
    "swizzle_units",
    "swizzle_out_of_extent",
    "swizzle_base_alignment",
    "tma_mode_mismatch",
    "gluon_swizzle_parameter",
    "gluon_swizzle_wraps",
    "gluon_element_bitwidth",
    "misaligned_vector",
    "vector_beyond_mbase",
    "under_aligned_array",
    "model_refuted",
    "out_of_bounds",
    "not_analysed",
    "unused_ignore",
    "malformed_pragma",
)
