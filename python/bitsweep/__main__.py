"""``python -m bitsweep``: the command line."""

import sys

from bitsweep._cli import main

sys.exit(main())
