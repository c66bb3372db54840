"""One kernel instance: evaluated, its unknowns split by residue, its accesses summarized.

Takes a `KernelTask`.
Gives `KernelFacts`.
"""
