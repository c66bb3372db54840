"""What becomes of branches: selects, blocks of their own, or one store behind both ways.

Takes the arms of a branch where an evaluation stands.
Gives whether accesses around it, and in it, can still be fused.
"""
