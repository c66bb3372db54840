"""Host code: the launches it makes and the kernel instances that follow from them.

Takes functions of a unit.
Gives a `KernelTask` for every block shape and set of template arguments.
"""
