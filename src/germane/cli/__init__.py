"""CLI: the command `germane`. It turns arguments into calls of the API and prints the results; it holds no logic of its own.

    germane demo | remember | record | search | assemble | explain | feedback | forget | directive
            list | show | update | versions | messages | sessions | users | agents | orgs | stats
            ingest | documents | import | export | backup | doctor | reembed | eval | serve | keys | pseudonym

A module in `commands/` holds the commands of one noun or of one purpose; the table in `app.py` says which. The exit codes
are in `screen.Exit`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from germane.errors import MissingExtra

__all__ = ["main"]

_EXTRA = ("rich", "typer")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (default: the arguments of the process). Returns the exit code; never raises on bad input."""
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
