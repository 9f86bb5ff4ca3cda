"""`python -m dbench_export`."""

import sys

from .cli import main

sys.exit(main())
