"""Inline PTX: statements of `asm` templates, run on the values of the evaluator.

Takes an `ir.Asm` node.
Gives values of its outputs, and events for what it accesses.
"""
