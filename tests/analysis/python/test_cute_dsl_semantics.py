"""What Python's statements leave in variables of a kernel, seen in the pitch of an access."""

import pytest
from test_cute_dsl_kernels import facts_of

PROGRAM = """
import enum
from dataclasses import dataclass, field, replace

class Mode(enum.Enum):
    WIDE = 8

@dataclass
class Config:
    pitch: int = 1
    wide: int = field(default=2)

    def __post_init__(self):
        self.double = 2 * self.pitch

COUNT = 1

def raise_count():
    global COUNT
    COUNT = 8

def total(*parts, **named):
    return sum(parts) + named.get("more", 0)

@cute.kernel
def kernel(a: cute.Tensor):
    tx, _, _ = cute.arch.thread_idx()
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(8192), 16)
    p = 1
BODY
    x = s[tx * p]

@cute.jit
def run(a: cute.Tensor):
    kernel(a).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""


def pitch(body, tmp_path):
    """Ways of the access, which are its pitch in words; None where it is not decided."""
    lines = "\n".join("    " + line for line in body.splitlines())
    ((access,),) = (k.accesses for k in facts_of(PROGRAM.replace("BODY", lines), tmp_path).kernels)
    return access.ways if access.certainty.is_decided else None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def up():\n    nonlocal p\n    p = 8\nup()", 8),
        ("raise_count()\np = COUNT", 8),
        ("match 3:\n    case 3:\n        p = 4\n    case _:\n        p = 2", 4),
        ("match 5:\n    case 3 | 4:\n        p = 4\n    case n if n > 9:\n        p = 8", None),
        ("match 5:\n    case 3 | 4:\n        p = 4\n    case _:\n        p = 2", 2),
        ("match p:\n    case [q]:\n        p = 4\n    case _:\n        p = 2", None),
        ("with a as p:\n    pass", None),
        ("try:\n    p = 2\n    raise ValueError\nexcept ValueError:\n    p = 4", 4),
        ("p = sorted([8, 2, 4], reverse=True)[0]", 8),
        ("p = max((1, 2), key=lambda v: -v) * 4", None),
        ("for i, n in enumerate((0, 0), 7):\n    p = i", 8),
        ("c = Config()\nsetattr(c, 'pitch', 8)\np = c.pitch", 8),
        ("c = Config()\nfor n in ('a', 'b'):\n    setattr(c, f'{n}_x', 4)\np = c.a_x", 4),
        ("p = Config(pitch=4).double", 8),
        ("p = Config().wide", 2),
        ("p = replace(Config(wide=8), pitch=4).pitch", 4),
        ("p = Mode.WIDE.value", 8),
        ("p = {n: 2 * n for n in (1, 2, 4)}[4]", 8),
        ("q = [1, 2, 4]\np = q.pop()", 4),
        ("p = total(*[1, 1], **{'more': 2})", 4),
        ("if (n := 8) > 4:\n    p = n", 8),
        ("p = [8 if t == 'n' else 1 for t in 'tn'][1]", 8),
        ("for t in 'abc':\n    p = p * 2", 8),
        ("p = torch.arange(0, 16, 2).shape[0]", 8),
        ("p = 4 * torch.arange(9, 9).dim()", None),
        ("p = torch.rand(4, 4).half().element_size()", 2),
        ("p = torch.rand(4, 4).half().double().element_size()", 8),
    ],
)
def test_a_variable_holds_what_python_gives_it(body, expected, tmp_path):
    """Machine code of the same kernels has these pitches (nvidia-cutlass-dsl 4.8.1)."""
    assert pitch(body, tmp_path) == expected
