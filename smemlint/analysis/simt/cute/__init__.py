"""CuTe in CUDA C++: what begins with `cute::` is known to the evaluator, headers or not.

`types` and `functions` are tables from CuTe's names to the engine in `smemlint.layout.cute`;
`accesses` turns the instructions of a copy into accesses at the line that the user wrote.
"""
