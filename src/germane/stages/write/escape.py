"""Escape: writes stored text so that it can't be mistaken for germane's own structure (FORMAT-3), and the nonce.

Two steps. `clean` makes text fit for any prompt: composed (NFC), visible, without chat-template tokens and without the nonce.
An `escape_…` function then makes it fit for one grammar; it also escapes characters that become special characters under NFKC
or NFKD. Stored text stays verbatim in the store; only what is written into a prompt is escaped. No text is removed because of
its words.
"""

from __future__ import annotations

import hmac
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from string import ascii_lowercase
from types import MappingProxyType

from germane.text.normal import is_normalised, is_plain, normalised, visible
from germane.text.templates import neutralise
from germane.types.scope import Scope

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


def escape_label(text: str, nonce: str) -> str:
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


# The nonce marks germane's own sections, stable in a session and unguessable (FORMAT-4). It carries no secret, and the
# model may see it. It only has to be a word that an author of stored content can't know beforehand. Twelve lowercase
# letters hold 56 bits. Letters alone cost the fewest tokens over the vocabularies in use: 7.4 on average with both
# o200k and Qwen's, where 60 bits in base 32 cost 8.5 to 8.9, and digits cost 7 with one and 19 with the other.


NONCE_LENGTH = 12
"""Letters of a nonce."""


@lru_cache(maxsize=1024)
def nonce(key: bytes, scope: Scope) -> str:
    """HMAC-SHA256 (RFC 2104) over org, agent, user and session, each preceded by its length, as twelve lowercase letters.

    Deterministic: equal in all workers that share `key`. Without a session the nonce belongs to the agent and user. An absent
    user or session gives another nonce than every present one.
    """
    digest = hmac.digest(key, b"".join(map(_framed, (scope.org, scope.agent, scope.user, scope.session))), "sha256")
    number, letters = int.from_bytes(digest, "big"), ""
    for _ in range(NONCE_LENGTH):
        number, index = divmod(number, len(ascii_lowercase))
        letters += ascii_lowercase[index]
    return letters


def _framed(part: str | None) -> bytes:
    if part is None:
        return b"\xff" * 4
    raw = part.encode("utf-8", "surrogatepass")
    return len(raw).to_bytes(4, "big") + raw


# Lines of content that look like lines of germane's own.


_MAX_CHECKED = 24
"""Characters at the start of a line that are checked."""


def unforged(line: str, forged: re.Pattern[str], signs: str = "[#") -> str:
    """The line; with a dot before it where `forged` matches its beginning, as its indentation may be of any white space and
    isn't enough to tell it apart. A match begins with one of `signs`."""
    bare = line.lstrip()
    if bare[:1].isascii() and bare[:1] not in signs:
        return line
    head = normalised(bare[:_MAX_CHECKED], "NFKC").lstrip()
    return f"· {bare}" if forged.match(head) else line


# Where text may be cut without splitting what a reader sees as one character. Approximates the extended grapheme
# clusters of Unicode (UAX #29) with the standard library's data: combining marks, joiner sequences, flags, Hangul
# syllables and Indic conjuncts stay whole. Where it differs from UAX #29, it keeps more together, never less.


_JOINERS = "\u200c\u200d"
_VIRAMA = 9
_MAX_CLUSTER = 64
"""Characters: a longer cluster is split."""


def grapheme_floor(text: str, index: int, start: int = 0) -> int:
    """The last index at or before `index` where `text` may be cut. `start` is an earlier such index: the text before it isn't
    looked at, so that cutting a text piece by piece reads each character once."""
    if index >= len(text):
        return len(text)
    cut, stop = max(index, start), max(index - _MAX_CLUSTER, start)
    while cut > stop and _holds(text, cut, start):
        cut -= 1
    return cut if cut > stop or stop == start else index


def clip(text: str, limit: int, marker: str = "…") -> str:
    """At most `limit` graphemes of the text; where it was cut, `marker` is the last of them."""
    if len(text) <= limit:
        return text
    starts, count = [0], 1
    for index in range(1, len(text)):
        if not _holds(text, index, starts[-1]) or index - starts[-1] > _MAX_CLUSTER:
            count += 1
            if count > limit:
                return text[: starts[-1]].rstrip() + marker
            starts.append(index)
    return text


def _holds(text: str, index: int, start: int) -> bool:
    """Whether the characters before and after `index` belong to one grapheme; `start` is an earlier index where `text` may be
    cut."""
    after, before = text[index], text[index - 1]
    if after.isascii():
        return before == "\r" and after == "\n"
    if after in _JOINERS or unicodedata.category(after)[0] == "M" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if "\U000e0020" <= after <= "\U000e007f" or before == "\u200d":
        return True
    if unicodedata.combining(before) == _VIRAMA:
        return after.isalpha()
    if _flag(after) and _flag(before):
        return (index - _flags_from(text, index, start)) % 2 == 1
    return _syllable(before, after)


def _flag(char: str) -> bool:
    """Whether this is a regional indicator: two of them are a flag."""
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flags_from(text: str, index: int, start: int) -> int:
    """Where the run of flag letters before `index` begins."""
    while index > start and _flag(text[index - 1]):
        index -= 1
    return index


def _syllable(before: str, after: str) -> bool:
    """Whether these are Hangul jamo of one syllable."""
    if "\u1160" <= after <= "\u11ff":
        return "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    return "\u1100" <= after <= "\u115f" and "\u1100" <= before <= "\u115f"
