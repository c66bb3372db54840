"""What `--verify-gpu` does: replays address patterns on a GPU and times them.

`forms` writes the replay kernels, `plan` says what of an access is replayed, `engine` runs in a
child process and is all that touches the GPU, `device` starts it, `judge` compares.
"""
