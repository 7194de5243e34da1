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

from germane.format.graphemes import clip
from germane.format.invisible import is_plain, visible
from germane.format.templates import neutralise

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
_BARE = re.compile(r'[ !"$-9;=>?-Z\\-~\n\t‘’“”–—…]*+')
"""What is commonest, without what templates and role labels are made of: nothing in it can need cleaning but the nonce."""
_WORD = re.compile(r"[A-Za-z0-9_.-]*+")
_SPACES = re.compile(r"\s+")
_LABEL = 64
_CARRIER = "◌"
_OWN = re.compile(r"\s*/?\s*(?:directive|notice|memory|message|conversation|\w{1,64}_memories)(?!\w)")
_OPENINGS = re.compile("[<＜﹤≮]")
_REACH = 160


def clean(text: str, nonce: str) -> str:
    """`text` as it may stand in any prompt of germane's, before it is escaped for one grammar."""
    if _BARE.fullmatch(text) and nonce not in text.lower():
        return text
    if is_plain(text):
        return _without(neutralise(text), nonce)
    text = unicodedata.normalize("NFC", visible(text))
    return _carried(_without(neutralise(text), nonce))


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
    """A name or role, cleaned: on one line, at most 64 graphemes. Still to be escaped."""
    return clip(_SPACES.sub(" ", clean(text, nonce)).strip(), _LABEL)


def escape_operator(text: str, nonce: str) -> str:
    """The directive: as the operator wrote it, but that it can't hold one of germane's own tags, nor the nonce.

    A tag keeps its look, with an entity for its first bracket. Lone surrogates, which can't be sent, become U+FFFD.
    """
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _OPENINGS.sub(_unopened, _without(text, nonce))


def _unopened(found: re.Match[str]) -> str:
    """Looks at what follows with and without what can't be seen: either may be how it is read."""
    after = found.string[found.end() : found.end() + _REACH]
    if any(_OWN.match(unicodedata.normalize("NFKD", part).casefold()) for part in (after, visible(after))):
        return LIKENESSES.get(found[0], "&lt;")
    return found[0]


def _without(text: str, nonce: str) -> str:
    """`text` with `…` wherever the nonce stood, in any case and any compatible form."""
    if nonce in text.lower():
        text = _struck(text, nonce)
    if text.isascii() or text.replace("…", "").isascii() or unicodedata.is_normalized("NFKD", text):
        return text
    plain = unicodedata.normalize("NFKD", visible(text))
    return unicodedata.normalize("NFC", _struck(plain, nonce)) if nonce in plain.lower() else text


def _struck(text: str, nonce: str) -> str:
    return re.sub(re.escape(nonce), "…", text, flags=re.IGNORECASE)


def _carried(text: str) -> str:
    """A mark that would sit on germane's own last character gets a circle of its own to sit on."""
    if text and not text[0].isascii() and unicodedata.category(unicodedata.normalize("NFKD", text[0])[0]).startswith("M"):
        return _CARRIER + text
    return text
