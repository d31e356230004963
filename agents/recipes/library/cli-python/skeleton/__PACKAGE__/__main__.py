"""`python -m __PACKAGE__`."""

from __future__ import annotations

import sys

from __PACKAGE__.cli import main

if __name__ == "__main__":
    sys.exit(main())
