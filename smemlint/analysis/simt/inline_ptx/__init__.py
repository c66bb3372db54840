"""Inline PTX: statements of `asm` templates, run on the values of the evaluator."""
