"""Escape: whatever was stored, written so that it can't be taken for what germane writes (FORMAT-3).

Two steps. `clean` makes text fit for any prompt: composed (NFC), visible, free of chat-template marks and of the nonce. An
`escape_…` then makes it fit for one grammar; each also escapes what would turn into a special character under NFKC or NFKD.
What is stored stays verbatim; this is only ever done to what is written. Nothing is left out for the words in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from germane.pipeline.format.graphemes import clip
from germane.pipeline.format.invisible import is_plain, visible
from germane.pipeline.format.templates import neutralise
from germane.text.normal import is_normalised, normalised

__all__ = ["LIKENESSES", "clean", "escape_attribute", "escape_operator", "escape_text", "escape_xml", "label"]

LIKENESSES: Mapping[str, str] = MappingProxyType(
    {
        "﹤": "&lt;",
        "＜": "&lt;",
        "≮": "&lt;\u0338",
        "﹥": "&gt;",
        "＞": "&gt;",
        "≯": "&gt;\u0338",
        "﹠": "&amp;",
        "＆": "&amp;",
        "＂": "&quot;",
        "＇": "&apos;",
    }
)
"""Every other character whose NFKC or NFKD form holds one of `< > & " '`, with what is written for it."""

_LIKE = re.compile("[" + "".join(LIKENESSES) + "]")
_BARE = re.compile(r'[ !"$-9;=>?-Z\\^-~\n\t‘’“”–—…]*+')
"""What is commonest, without what templates and role labels are made of: nothing in it can need cleaning but the nonce."""
_WORD = re.compile(r"[A-Za-z0-9_.-]*+")
_SPACES = re.compile(r"\s+")
_LABEL = 64
_LONGEST_LABEL = 4_096
"""Characters of a name that are looked at: 64 graphemes of 64 characters each."""
_CARRIER = "◌"
_OWN = frozenset({"directive", "notice", "memory", "message", "conversation"})
_SECTION = "_memories"
_LONGEST_SECTION = 64 + len(_SECTION)
_NAMED = re.compile(r"\s*+/?+\s*+(\w++)")
_OPENED = re.compile("([<＜﹤≮])([^<＜﹤≮]{1,160}+)")
"""A bracket, and what follows as far as it can belong to it."""


def clean(text: str, nonce: str) -> str:
    """`text` as it may stand in any prompt of germane's, before it is escaped for one grammar.

    The nonce goes first: what is left around it may be a token or a role label. Breaking those puts nothing together.
    """
    if _BARE.fullmatch(text) and nonce not in text.lower():
        return text
    if is_plain(text):
        return neutralise(_without(text, nonce))
    return _carried(neutralise(_without(normalised(visible(text)), nonce)))


def escape_text(text: str) -> str:
    """Cleaned text for a place without quotes: `& < >` and their likenesses as entities."""
    if "&" in text:
        text = text.replace("&", "&amp;")
    if "<" in text:
        text = text.replace("<", "&lt;")
    if ">" in text:
        text = text.replace(">", "&gt;")
    return text if text.isascii() else _LIKE.sub(lambda found: LIKENESSES[found[0]], text)


def escape_xml(text: str) -> str:
    """Cleaned text for an element: `& < > " '` and their likenesses as entities."""
    text = escape_text(text)
    if '"' in text:
        text = text.replace('"', "&quot;")
    return text.replace("'", "&apos;") if "'" in text else text


def escape_attribute(text: str) -> str:
    """Cleaned text for an attribute in double quotes; whitespace of any kind becomes one space."""
    if _WORD.fullmatch(text):
        return text
    return escape_xml(_SPACES.sub(" ", text).strip())


def label(text: str, nonce: str) -> str:
    """A name or role, cleaned: on one line, at most 64 graphemes, read from its first 4,096 characters. Still to be escaped."""
    line = _SPACES.sub(" ", clean(text[:_LONGEST_LABEL], nonce)).strip()
    return clip(neutralise(line), _LABEL)  # two lines made one may be a token


def escape_operator(text: str, nonce: str) -> str:
    """The directive: as the operator wrote it, but that it can't hold one of germane's own tags, nor the nonce.

    A tag keeps its look, with an entity for its first bracket. Lone surrogates, which can't be sent, become U+FFFD.
    """
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _OPENED.sub(_unopened, _without(text, nonce))


def _unopened(found: re.Match[str]) -> str:
    """Looks at what follows with and without what can't be seen: either may be how it is read."""
    bracket, after = found.groups()
    if _is_own(after) or ((seen := visible(after)) != after and _is_own(seen)):
        return LIKENESSES.get(bracket, "&lt;") + after
    return found[0]


def _is_own(after: str) -> bool:
    """Whether one of germane's own tags goes on like this."""
    if (named := _NAMED.match(normalised(after, "NFKD").casefold())) is None:
        return False
    name = named[1]
    return name in _OWN or (name.endswith(_SECTION) and len(_SECTION) < len(name) <= _LONGEST_SECTION)


def _without(text: str, nonce: str) -> str:
    """`text` with `…` wherever the nonce stood, in any case and any compatible form."""
    if nonce in text.lower():
        text = _struck(text, nonce)
    if text.isascii() or text.replace("…", "").isascii() or is_normalised(text, "NFKD"):
        return text
    plain = normalised(visible(text), "NFKD")
    return normalised(_struck(plain, nonce)) if nonce in plain.lower() else text


def _struck(text: str, nonce: str) -> str:
    return re.sub(re.escape(nonce), "…", text, flags=re.IGNORECASE)


def _carried(text: str) -> str:
    """A mark that would sit on germane's own last character gets a circle of its own to sit on."""
    if text and not text[0].isascii() and unicodedata.category(normalised(text[0], "NFKD")[0]).startswith("M"):
        return _CARRIER + text
    return text
