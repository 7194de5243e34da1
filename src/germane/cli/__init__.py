"""The command: germane in a terminal. It translates arguments in and answers out, and decides nothing of its own.

    germane demo | remember | record | search | assemble | explain | feedback | forget
            import | export | backup | doctor | reembed | directive | eval | keys

Exit codes:  0 done · 1 failed, or not found, or declined · 2 usage or input that can't be used · 3 the store can't be used
             (missing, damaged, read-only, full, newer) · 130 interrupted · 141 the reader of the output went away
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from germane.errors import MissingExtra

__all__ = ["main"]

_EXTRA = ("rich", "typer")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (the process's own by default) and hand back its exit code. Never raises on bad input."""
    try:
        from germane.cli.app import run
    except KeyboardInterrupt:
        print("germane: interrupted", file=sys.stderr)
        return 130
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRA:
            raise
        print(f"germane: {MissingExtra('cli', package)}", file=sys.stderr)
        return 1
    return run(argv)
