"""A kernel whose stride a function gives: its bank conflict says which function a call means."""

from conftest import accesses_of

from smemlint.facts import Access


def access_of(definitions: str, stride: str) -> Access:
    """Returns the store of a warp to every `stride`-th word, an expression of the definitions."""
    text = f"""{definitions}
    __global__ void k(float *g) {{ __shared__ int s[1024]; s[({stride}) * threadIdx.x] = 1; }}
    void run(float *g) {{ k<<<1, 32>>>(g); }}"""
    (access,) = accesses_of(text)
    return access
