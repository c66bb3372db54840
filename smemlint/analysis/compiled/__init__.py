"""Abstract interpretation of compiled code, PTX and SASS, for all threads of a block at once.

A front end builds a `program.program` of `Instruction` closures over a `state.State`;
`machine.Machine` runs it, and `accesses.accesses` makes facts of what was recorded. `values`,
`arithmetic`, `bits` and `predicates` are the domain: exact lanes plus unknowns that are one number
for a warp.
"""
