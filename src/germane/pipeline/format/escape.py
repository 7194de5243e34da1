"""Escape: writes stored text so that it can't be mistaken for germane's own structure (FORMAT-3).

Two steps. `clean` makes text fit for any prompt: composed (NFC), visible, without chat-template tokens and without the nonce.
An `escape_…` function then makes it fit for one grammar; it also escapes characters that become special characters under NFKC
or NFKD. Stored text stays verbatim in the store; only what is written into a prompt is escaped. No text is removed because of
its words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from germane.pipeline.format.graphemes import clip
from germane.text.invisible import is_plain, visible
from germane.text.normal import is_normalised, normalised
from germane.text.templates import neutralise

__all__ = ["LIKENESSES", "clean", "escape_attribute", "escape_operator", "escape_text", "label"]

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
    }
)
"""Every other character whose NFKC or NFKD form holds one of `< > &`, with what is written for it."""

_LIKE = re.compile("[" + "".join(LIKENESSES) + "]")
_QUOTES = str.maketrans({'"': "&quot;", "＂": "&quot;", "'": "&apos;", "＇": "&apos;"})
"""The quotes, and every other character whose NFKC or NFKD form holds one."""
_BARE = re.compile(r'[ !"$-9;=>?-Z\\^-~\n\t‘’“”–—…]*+')
"""The commonest characters, without those that template tokens and role labels need: such text needs no cleaning but for the
nonce."""
_WORD = re.compile(r"[A-Za-z0-9_.-]*+")
_SPACES = re.compile(r"\s+")
_MAX_LABEL = 64
"""Graphemes."""
_MAX_LABEL_READ = 4_096
"""Characters of a name that are looked at: 64 graphemes of 64 characters each."""
_CARRIER = "◌"
_OWN_TAGS = frozenset({"block", "blocks", "directive", "notice", "memory", "message", "conversation"})
_SECTION = "_memories"
_MAX_SECTION = 64 + len(_SECTION)
_NAMED = re.compile(r"\s*+/?+\s*+(\w++)")
_BRACKETED = re.compile("([<＜﹤≮])([^<＜﹤≮]{1,160}+)")
"""An opening bracket, and the text after it as far as it can belong to a tag of germane's."""


def clean(text: str, nonce: str) -> str:
    """`text` made fit for any prompt, before it is escaped for one grammar.

    The nonce is removed first, because removing it can join a template token or role label; neutralising those can't join a
    nonce.
    """
    if _BARE.fullmatch(text) and nonce not in text.lower():
        return text
    if is_plain(text):
        return neutralise(_without_nonce(text, nonce))
    return _on_carrier(neutralise(_without_nonce(normalised(visible(text)), nonce)))


def escape_text(text: str) -> str:
    """Cleaned text for a place outside an attribute: writes `& < >` and their likenesses as entities, but no quotes."""
    if "&" in text:
        text = text.replace("&", "&amp;")
    if "<" in text:
        text = text.replace("<", "&lt;")
    if ">" in text:
        text = text.replace(">", "&gt;")
    return text if text.isascii() else _LIKE.sub(lambda found: LIKENESSES[found[0]], text)


def escape_attribute(text: str) -> str:
    """Cleaned text for an XML attribute in double quotes: writes quotes too as entities, and each run of whitespace as one
    space."""
    if _WORD.fullmatch(text):
        return text
    return escape_text(_SPACES.sub(" ", text).strip()).translate(_QUOTES)


def label(text: str, nonce: str) -> str:
    """A name or role, cleaned but not escaped: one line of at most 64 graphemes, from the first 4,096 characters."""
    line = _SPACES.sub(" ", clean(text[:_MAX_LABEL_READ], nonce)).strip()
    return clip(neutralise(line), _MAX_LABEL)  # joining two lines can make a token


def escape_operator(text: str, nonce: str) -> str:
    """The directive as the operator wrote it, but without germane's own tags and without the nonce.

    The opening bracket of such a tag becomes an entity. Lone surrogates, which can't be sent, become U+FFFD.
    """
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _BRACKETED.sub(_unopened, _without_nonce(text, nonce))


def _unopened(found: re.Match[str]) -> str:
    """The bracket and what follows; the bracket as an entity if they open one of germane's tags, with or without the invisible
    characters: a model may read it either way."""
    bracket, after = found.groups()
    if _is_own(after) or ((seen := visible(after)) != after and _is_own(seen)):
        return LIKENESSES.get(bracket, "&lt;") + after
    return found[0]


def _is_own(after: str) -> bool:
    """Whether this, after a bracket, is one of germane's own tags."""
    if (named := _NAMED.match(normalised(after, "NFKD").casefold())) is None:
        return False
    name = named[1]
    return name in _OWN_TAGS or (name.endswith(_SECTION) and len(_SECTION) < len(name) <= _MAX_SECTION)


def _without_nonce(text: str, nonce: str) -> str:
    """`text` with `…` for each nonce, in any case and any compatible form (NFKD)."""
    if nonce in text.lower():
        text = _replaced(text, nonce)
    if text.isascii() or text.replace("…", "").isascii() or is_normalised(text, "NFKD"):
        return text
    plain = normalised(visible(text), "NFKD")
    return normalised(_replaced(plain, nonce)) if nonce in plain.lower() else text


def _replaced(text: str, nonce: str) -> str:
    return re.sub(re.escape(nonce), "…", text, flags=re.IGNORECASE)


def _on_carrier(text: str) -> str:
    """Puts a dotted circle before a combining mark at the beginning, which would otherwise combine with germane's own last
    character."""
    if text and not text[0].isascii() and unicodedata.category(normalised(text[0], "NFKD")[0]).startswith("M"):
        return _CARRIER + text
    return text
