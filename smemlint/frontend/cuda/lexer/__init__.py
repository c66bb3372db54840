"""Tokens of CUDA C++."""
