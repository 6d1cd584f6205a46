"""Run specmeter as `python -m specmeter`."""

import sys

from specmeter.cli import main

if __name__ == "__main__":
    sys.exit(main())
