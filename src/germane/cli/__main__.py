"""`python -m germane.cli`: the same as the command `germane`."""

import sys

from germane.cli import main

sys.exit(main())
