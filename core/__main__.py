"""Run the command line with ``python -m kingpost``."""

import sys

from kingpost.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
