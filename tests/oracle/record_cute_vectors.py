"""Records how wide nvidia-cutlass-dsl makes the vector copies of a fixture (needs the DSL, no GPU).

    PYTHONPATH=. python tests/oracle/record_cute_vectors.py > fixtures/cute/vectors.json

By kernel: the widths in bytes of the shared loads and stores in its PTX, and how many there are.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import tempfile
from collections import Counter
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("CUTE_DSL_ARCH", "sm_80")
os.environ["CUTE_DSL_KEEP_PTX"] = "1"
os.environ["CUTE_DSL_DUMP_DIR"] = tempfile.mkdtemp()

from cutlass import cute

ROOT = Path(__file__).resolve().parents[2]
FIXTURE = ROOT / "fixtures" / "python" / "cute_vectors.py"
_ACCESS = re.compile(r"\b(ld|st)\.(?:volatile\.)?shared(?:\.v(\d))?\.[a-z]+(\d+)")


def widths(ptx: str) -> dict[str, int]:
    """Bytes of each shared access -> how many."""
    found = Counter(
        f"{'load' if kind == 'ld' else 'store'} {int(count or 1) * int(bits) // 8}"
        for kind, count, bits in _ACCESS.findall(ptx)
    )
    return dict(sorted(found.items()))


def compiled(kernel: object) -> str:
    @cute.jit
    def host() -> None:
        kernel().launch(grid=(1, 1, 1), block=(32, 1, 1))  # type: ignore[operator]

    ptx = cute.compile(host).__ptx__
    return ptx.decode() if isinstance(ptx, bytes) else str(ptx)


def main() -> None:
    spec = importlib.util.spec_from_file_location("cute_vectors", FIXTURE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names = re.findall(r"^def (\w+)", FIXTURE.read_text(), re.M)
    found = {name: widths(compiled(getattr(module, name))) for name in names}
    print(
        json.dumps(
            {"nvidia-cutlass-dsl": version("nvidia-cutlass-dsl"), "kernels": found}, indent=1
        )
    )


if __name__ == "__main__":
    main()
