"""What all threads share, and what the paths of a program leave in objects and containers."""

import pytest
from test_cute_dsl_kernels import facts_of

PROGRAM = """
class Tile:
    def __init__(self):
        self.at = 0

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor):
        n = a.shape[0]
        m = b.shape[0]
        self.kernel(a, b, n, m).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor, b: cute.Tensor, n, m):
        tx, _, _ = cute.arch.thread_idx()
        s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(4096), 16)
BODY

def compiled(a, b):
    cute.compile(Tile(), a, b)
"""


def figures(body, tmp_path):
    """Ways of every access of a kernel, in source order; None for one that is not decided."""
    lines = "\n".join(" " * 8 + line for line in body.splitlines())
    (kernel,) = facts_of(PROGRAM.replace("BODY", lines), tmp_path).kernels
    assert not kernel.not_analysed
    return [a.ways if a.certainty.is_decided else None for a in kernel.accesses]


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("tx + n", 1),
        ("32 * tx + n", 32),
        ("2 * tx + n // 3 * 4", 2),
        ("tx * n", None),
        ("tx * (n - m)", None),
        ("tx * (n + n * -1 + 1)", 1),
        ("tx * (-n)", None),
        ("tx + a.shape[1] * 0", 1),
        ("tx * (a.shape[0] - a.shape[1])", None),
    ],
)
def test_a_number_of_the_host_is_the_same_for_all_threads(index, expected, tmp_path):
    """32 lanes with a pitch of one, two and 32 words; two numbers are not taken for one."""
    assert figures(f"x = s[{index}]", tmp_path) == [expected]


@pytest.mark.parametrize(
    ("index", "expected"),
    [("tx + a[0]", 1), ("tx + a[n]", 1), ("a[tx]", None), ("tx * a[0]", None)],
)
def test_what_all_threads_read_at_one_address_is_one_number(index, expected, tmp_path):
    """A row of 32 words behind a number in memory is free of conflicts."""
    assert figures(f"x = s[{index}]", tmp_path) == [expected]


def test_what_is_called_with_a_thread_s_number_differs_by_thread(tmp_path):
    """An unknown function of the thread index may give any address."""
    body = "x = s[n(tx)]\ny = s[n[tx]]"
    lines = "\n".join(" " * 8 + line for line in body.splitlines())
    (kernel,) = facts_of(PROGRAM.replace("BODY", lines), tmp_path).kernels
    assert not any(a.certainty.is_decided for a in kernel.accesses)


def test_both_sides_of_a_branch_begin_with_the_same_attributes(tmp_path):
    """The store has a pitch of one word in the first side, of two in the second one."""
    body = """
self.at = 1
if n > 4:
    self.at = 32
    s[tx * self.at] = 0.0
else:
    s[tx * self.at * 2] = 0.0
"""
    assert figures(body, tmp_path) == [32, 2]


@pytest.mark.parametrize(
    ("index", "expected"), [("tx + self.at", 1), ("tx * self.at", None), ("tx * 2 + self.at", 2)]
)
def test_an_attribute_is_one_of_two_behind_a_branch_that_all_threads_take_alike(
    index, expected, tmp_path
):
    """One of two numbers moves all lanes alike."""
    body = f"if n > 4:\n    self.at = 32\nelse:\n    self.at = 7\nx = s[{index}]"
    assert figures(body, tmp_path) == [expected]


def test_an_attribute_that_is_assigned_on_one_side_of_a_branch_alone(tmp_path):
    """It cannot be read elsewhere: the pitch is two words."""
    body = """
if n > 4:
    self.pitch = 4
    self.pitch = self.pitch // 2
    x = s[tx * self.pitch]
"""
    assert figures(body, tmp_path) == [2]


def test_an_attribute_stays_what_a_path_left_that_returned(tmp_path):
    """Behind the call the pitch is one word or 32."""
    program = PROGRAM.replace(
        "    @cute.kernel",
        """    def choose(self, n):
        self.at = 1
        if n > 4:
            self.at = 32
            return
        self.at = 1

    @cute.kernel""",
    ).replace("BODY", "        self.choose(n)\n        x = s[tx * self.at]")
    ((access,),) = (kernel.accesses for kernel in facts_of(program, tmp_path).kernels)
    assert not access.certainty.is_decided


@pytest.mark.parametrize(
    ("index", "expected"), [("tx + self.at", 1), ("tx * self.at", None), ("2 * tx + self.at", 2)]
)
def test_an_attribute_moves_with_the_iterations_of_a_loop(index, expected, tmp_path):
    """Its value in any iteration is some number, one for all threads."""
    body = f"for i in range(n):\n    x = s[{index}]\n    self.at += 3"
    assert figures(body, tmp_path) == [expected]


def test_a_list_that_is_made_inside_a_branch_is_known_there(tmp_path):
    """The pitch is two words."""
    body = """
if n > 4:
    pitches = []
    pitches.append(2)
    x = s[tx * pitches[0]]
"""
    assert figures(body, tmp_path) == [2]


def test_a_list_that_a_branch_changes_is_not_known_behind_it(tmp_path):
    """The first item is one or two, the second side begins with the first one."""
    body = """
pitches = [1]
if n > 4:
    pitches[0] = 2
else:
    x = s[tx * pitches[0]]
y = s[tx * pitches[0]]
"""
    assert figures(body, tmp_path) == [1, None]
