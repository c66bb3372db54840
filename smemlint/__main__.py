"""`python -m smemlint`."""

from smemlint.cli import main

raise SystemExit(main())
