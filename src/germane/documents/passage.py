"""Passage: a piece of a document that is stored, searched and shown as one, with its title and its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["DocumentPassage", "body", "headed", "place_label"]

_BETWEEN = " › "
_MAX_LABEL = 64
"""Characters of a label, as many as are shown of any name."""
_MAX_TITLE, _MAX_HEADING = 120, 80
"""Characters of a title and of one heading in a passage's first line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPassage:
    """`text` is what stands in the document, `path` the headings or names that it stands under, `locator` its page or lines in
    words (empty where the path tells enough), `start` and `stop` its characters in the document's text."""

    text: str
    path: tuple[str, ...] = ()
    locator: str = ""
    start: int = 0
    stop: int = 0

    def metadata(self, title: str, media_type: str) -> dict[str, Any]:
        """What is stored of the passage's place, in the metadata of its provenance."""
        return {
            "title": title,
            "media_type": media_type,
            "path": [heading[:_MAX_HEADING] for heading in self.path],
            "locator": self.locator,
            "start": self.start,
            "stop": self.stop,
        }


def headed(passage: DocumentPassage, title: str) -> str:
    """Returns the passage as it is stored: title and path in a first line, which is searched with it, and the text."""
    parts = (title[-_MAX_TITLE:], *(heading[:_MAX_HEADING] for heading in passage.path[:6]))
    return f"{' '.join(_BETWEEN.join(parts).split())}\n{passage.text}"


def body(text: str) -> str:
    """Returns a stored passage without its first line."""
    return text.partition("\n")[2]


def place_label(metadata: Mapping[str, Any]) -> str:
    """Returns title, path and place in one line of at most 64 characters: headings in the middle go first, then the beginning
    of the title."""
    path, locator = metadata.get("path"), metadata.get("locator")
    given = metadata.get("title")
    title = _word(given[-_MAX_TITLE:] if isinstance(given, str) else given) or "document"
    headings = [_word(heading) for heading in path[:6]] if isinstance(path, list) else []
    ends = [_word(locator)] if locator else []
    while len(headings) > 1 and len(_BETWEEN.join((title, *headings, *ends))) > _MAX_LABEL:
        del headings[0]
    rest = _BETWEEN.join(("", *headings, *ends))
    if len(title) + len(rest) > _MAX_LABEL:
        title = f"…{title[-max(15, _MAX_LABEL - len(rest) - 1) :]}" if len(title) > 16 else title
    return title + rest


def _word(value: object) -> str:
    return " ".join(value[:_MAX_TITLE].split()) if isinstance(value, str) else ""
