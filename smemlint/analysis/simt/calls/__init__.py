"""Calls: which function a call means, its operands, inlining, construction and lambdas.

Takes a call node.
Gives the value that its function returns.
"""
