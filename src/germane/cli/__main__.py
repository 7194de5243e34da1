"""Entry point of `python -m germane.cli`, which is the same as the command `germane`."""

from __future__ import annotations

import sys

from germane.cli import main

sys.exit(main())
