"""`python -m smemlint`."""

import os  # which is loaded already, as all of pathlib is not
import sys

_home = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
if not sys.flags.safe_path and os.path.realpath(sys.path[0]) != _home:
    del sys.path[0]  # the working directory: what is linted is never imported

from smemlint.cli.main import main  # noqa: E402

sys.exit(main())
