"""Breadcrumb: the line that stands for an item that isn't shown, and says what could be expanded (PACK-5).

    [a12] README.md › Install, 1,240 tokens: expand with its handle

It is written like any other content: a text that imitates it is only a text, as handles are resolved outside of the prompt.
"""

from __future__ import annotations

from germane.pipeline.format.graphemes import clip
from germane.types.candidate import Candidate

__all__ = ["breadcrumb"]

_MAX_NAME = 60
"""Graphemes of a title, or of the text's first words where it has none."""
_READ = 1_024
"""Characters of them that are looked at."""


def breadcrumb(candidate: Candidate, tokens: int) -> str:
    """The line for a candidate whose `text` has so many tokens; those of the whole stored text are estimated from its share
    where `text` is a passage."""
    name = clip(" ".join((candidate.title or candidate.text)[:_READ].split()), _MAX_NAME)
    about, tokens = ("", tokens) if candidate.passage is None else ("about ", int(tokens / max(candidate.share, 1e-6)))
    return f"{name}, {about}{tokens:,} tokens: expand with its handle"
