"""Calls: which function a call means, its operands, inlining, construction and lambdas."""
