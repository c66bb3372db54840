"""PTX kernels to access facts: what each instruction does to the abstract state."""
