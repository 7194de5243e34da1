"""Entry point of `python -m germane.cli`, which is the same as the command `germane`."""

import sys

from germane.cli import main

sys.exit(main())
