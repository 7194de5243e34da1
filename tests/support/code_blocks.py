"""Code blocks: finds the Python blocks of a Markdown document and runs them as a reader would."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from typing import Any, NamedTuple

__all__ = ["NO_TEST", "Block", "blocks", "run"]

FENCE = re.compile(r"^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
NO_TEST = "<!-- no test -->"


class Block(NamedTuple):
    line: int
    code: str


def blocks(text: str) -> list[Block]:
    """The ```python blocks of `text` with the line at which each begins, except those marked with `NO_TEST`."""
    found = []
    for match in FENCE.finditer(text):
        before = text[: match.start()].rstrip("\n").rpartition("\n")[2]
        if before.strip() != NO_TEST:
            found.append(Block(text.count("\n", 0, match.start()) + 2, match["code"]))
    return found


def run(block: Block, name: str, names: dict[str, Any]) -> None:
    """Runs the block with the global names `names`, in an event loop if it awaits at the top level."""
    placed = "\n" * (block.line - 1) + block.code  # so that a traceback shows the line of the document
    code = compile(placed, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(eval(code, names))
    else:
        exec(code, names)
