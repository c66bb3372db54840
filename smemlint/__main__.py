"""`python -m smemlint`."""

from smemlint.cli.main import main

raise SystemExit(main())
