"""The rules, one folder each: rule.py, README.md, bad and good kernels."""

OF_FACTS = (
    "bank_conflict",
    "async_copy_conflict",
    "atomic_contention",
    "swizzle_misses_banks",
    "swizzle_units",
    "misaligned_vector",
    "vector_beyond_mbase",
    "under_aligned_array",
    "model_refuted",
    "out_of_bounds",
    "missing_instruction",
    "not_analysed",
    "unused_ignore",
    "malformed_pragma",
)
OF_LAYOUTS = (
    "invalid_swizzle",
    "swizzle_without_effect",
    "swizzle_out_of_extent",
    "swizzle_base_alignment",
    "tma_mode_mismatch",
    "thread_layout",
    "gluon_swizzle_parameter",
    "gluon_swizzle_wraps",
    "gluon_element_bitwidth",
    "split_vector",
)
"""Rules that judge layouts alone, loaded where there are any."""
OF_PRODUCTS = ("dot_operand_major", "stage_ring_budget", "hidden_stride")
"""Rules that judge matrix products alone, loaded where there are any."""
