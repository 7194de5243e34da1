"""Start: what `germane` alone prints: what it is for, what to type first, and what is in the store."""

from __future__ import annotations

from pathlib import Path

from germane.cli.screen import console

__all__ = ["print_start"]

_FIRST = (
    ("germane demo", "see how it works, on a sample"),
    ("germane import FILE", "bring in conversations"),
    ('germane remember "Likes tea" --user anna', "store a memory"),
    ('germane search "tea" --user anna', "look for something"),
    ('germane assemble --query "Tea or coffee?" --user anna', "what a model would get"),
    ("germane list --user anna", "look through the memories"),
    ("germane serve", "run the service"),
)


def print_start(db: Path) -> None:
    """Print the start page. Opens no store."""
    screen = console()
    screen.print("germane keeps the conversations and memories of LLM agents, and gives each request what it needs of them.\n")
    width = max(len(command) for command, _ in _FIRST)
    for command, what in _FIRST:
        if width + len(what) + 4 <= screen.width:
            screen.print(f"  {command:<{width}}  {what}")
        else:
            screen.print(f"  {command}", soft_wrap=True)
            screen.print(f"    {what}")
    there = db.is_file()
    screen.print(f"\nThe store is {db}: germane stats tells what is in it." if there else f"\nThere is no store at {db} yet.")
    screen.print("germane -h lists all commands, germane COMMAND -h explains one.")
