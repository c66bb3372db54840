"""Functions and methods of the DSL: layouts, tensors and their parts, atoms, threads."""
