"""Answer: what the memory tool says to a model, and how errors of blocks are worded so that it can go on."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from germane.blocks.block import Block
from germane.errors import ConsentNeeded, GermaneError, NotPermitted, StoreError
from germane.memory_tool.paths import MemoryPath

__all__ = ["ToolAnswer", "refusal", "stale"]

_LOG = logging.getLogger("germane.memory_tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """The text for the model, and whether it is an error: then nothing was written but a request for consent."""

    text: str
    is_error: bool = False


def refusal(error: GermaneError, path: MemoryPath | None = None) -> ToolAnswer:
    """Returns an error as an answer. `path` stands in for the block that the error names. What is wrong with the store is
    logged, and isn't told."""
    if isinstance(error, StoreError):
        _LOG.error("the memory tool couldn't reach the store: %s", error)
        text = "The memory can't be reached at the moment, nothing was changed. Go on without it, and try again later."
    elif isinstance(error, ConsentNeeded):
        who = "a human" if error.asked_of == "human" else "your partner"
        text = (
            f"Not done yet: this needs the consent of {who}, who has been asked (request {error.request}). Go on with something"
            " else, and send the same command again once it is approved."
        )
    elif isinstance(error, NotPermitted):
        text = f"Not permitted, nothing was changed: {_renamed(str(error), path)}. Go on without this change."
    else:
        text = _renamed(str(error), path)
    return ToolAnswer(text=text, is_error=True)


def stale(path: MemoryPath, block: Block, view: str) -> ToolAnswer:
    """Returns the answer to an edit that was made from another content than the present one."""
    return ToolAnswer(
        text=f"{path} has changed since it was read, so nothing was done. Its content_sha256 is {block.content_hash} now."
        f" Decide again from its present content.\n{view}",
        is_error=True,
    )


def _renamed(message: str, path: MemoryPath | None) -> str:
    return message if path is None else message.replace(f"block {path.label!r}", f"the file {path}")
