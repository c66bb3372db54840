"""PTX, the assembly of NVIDIA's virtual architecture.

Takes text.
Gives typed statements of each function, read on demand, with their source lines.
"""
