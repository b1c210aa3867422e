"""`python -m vbench` is `vbench`."""

import sys

from vbench.cli import main

if __name__ == "__main__":
    sys.exit(main())
