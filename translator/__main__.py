"""`python -m translator` is the command `translator`."""

import sys

from translator.cli import main

if __name__ == "__main__":
    sys.exit(main())
