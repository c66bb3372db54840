"""Execution of CuTe DSL programs: host code for its launches, kernels for their accesses."""
