"""Blocks: writes memory blocks into a prompt, each between its own tags (BUILD-2).

<block:label permission="ReadWrite" shared_from="owner">
description

content
</block:label>

A label stands in its tags as it is, but for characters that could be taken for something else: those are written as in a URL
(`my%20notes`), so that different labels look different. Content and description are escaped like all stored text, so that no
content closes its tag or opens another.
"""

from __future__ import annotations

import re
import unicodedata

from germane.pipeline.format.escape import clean, escape_attribute, escape_text
from germane.text.invisible import visible
from germane.text.normal import normalised
from germane.text.templates import neutralise
from germane.types.block_text import BlockText

__all__ = ["block_tag", "write_block"]

_SIGNS = frozenset("_-./")
_PLAIN = re.compile(r"[A-Za-z0-9_./-]*+")
"""Labels that stand as they are: the commonest."""


def write_block(
    block: BlockText, nonce: str, *, description: bool = True, schema: bool = False, text: str | None = None
) -> str:
    """Returns the block with its tags. `description` says whether its description is shown, `schema` whether its schema is;
    `text` replaces its content, for an excerpt."""
    tag = block_tag(block.label, nonce)
    owner = "" if block.shared_from is None else f' shared_from="{escape_attribute(clean(block.shared_from, nonce))}"'
    head = [_paragraph(block.description, nonce)] if description and block.description else []
    head += [f"Schema: {_paragraph(block.schema, nonce)}"] if schema and block.schema.strip() else []
    lines = [f'<block:{tag} permission="{escape_attribute(clean(block.permission, nonce))}"{owner}>']
    lines += [*shown, ""] if (shown := list(filter(None, head))) else []
    lines += [escape_text(clean(block.text if text is None else text, nonce)), f"</block:{tag}>"]
    return neutralise("\n".join(lines))


def block_tag(block_label: str, nonce: str) -> str:
    """Returns the label as it stands in a tag: letters, digits, marks and `_-./` that have no other compatible form; every
    other character as the `%XX` of its UTF-8 bytes. Different labels have different tags."""
    if _PLAIN.fullmatch(block_label) and nonce not in block_label.lower():
        return block_label
    text = normalised(block_label)
    broken = _occurrences(text, nonce)
    pieces = (char if _stands(char, place) and place not in broken else _percent(char) for place, char in enumerate(text))
    return "".join(pieces)


def _stands(char: str, place: int) -> bool:
    if char.isascii():
        return char.isalnum() or char in _SIGNS
    kind = unicodedata.category(char)[0]
    return kind in ("LMN" if place else "LN") and normalised(char, "NFKC") == char and visible(char) == char


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def _occurrences(text: str, nonce: str) -> set[int]:
    """Where the nonce begins in the text, in any case and with any accents."""
    lowered = "".join(normalised(char, "NFKD")[:1].lower()[:1] or " " for char in text)
    found, place = set[int](), lowered.find(nonce)
    while place >= 0:
        found.add(place)
        place = lowered.find(nonce, place + 1)
    return found


def _paragraph(text: str, nonce: str) -> str:
    """The text without empty lines: an empty line ends the description."""
    lines = escape_text(clean(text, nonce)).split("\n")
    return "\n".join(line for line in lines if line.strip())
