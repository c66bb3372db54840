"""What `--verify-gpu` does: measures on a GPU what was predicted.

Patterns: `forms` writes the replay kernels, `plan` says what of an access is replayed, `engine`
runs in a child process and is all that touches the GPU, `device` starts it, `judge` compares,
`findings` puts the verdicts on findings, `fixes` finds the accesses after a fix.

Kernels, only with `=kernel`: `calls` says how an instance is called, `harness` and `cupy_call` are
the programs that call it, `programs` chooses among them, `counters` builds, profiles and reads in
a child process, `kernels` compares lines.
"""
