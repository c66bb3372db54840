"""PTX kernels to access facts: what each instruction does to the abstract state.

Takes a `frontend.ptx` module, launches of its kernels.
Gives the accesses of each kernel, and what ptxas would still fuse.
"""
