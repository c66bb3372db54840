"""Front ends: source text in, kernels as C syntax trees out."""
