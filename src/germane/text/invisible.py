"""Invisible characters: removes characters that a model reads but a person doesn't see (FORMAT-3).

Removed are C0 controls except tab and newline, C1 controls, soft hyphens, zero-width and bidi controls, invisible operators,
fillers, tag characters, annotation and notation controls, variation selectors, noncharacters and lone surrogates. Joiners
(U+200C, U+200D) are kept where a script or an emoji needs them, U+FE0E and U+FE0F where they select how an emoji is drawn.
Signs of Unicode category "format" that are drawn, such as the Arabic number signs, are kept. Every line separator becomes a
newline.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["is_plain", "visible"]

_EMOJI_SET = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u2300-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    "\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
"""Characters that may be drawn as an emoji: whole blocks, a little wider than Unicode's own list."""

_PLANES = "".join(f"{chr(plane << 16 | 0xFFFE)}-{chr(plane << 16 | 0xFFFF)}" for plane in range(17))
_DROPPED = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff\ufdd0-\ufdef" + _PLANES + "]"
)
_LINES = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_JOINERS = re.compile(
    f"[\u200c\u200d\ufe0e\ufe0f](?<![{_EMOJI_SET}][\ufe0e\ufe0f])"
    f"(?!(?<=[{_EMOJI_SET}]\u200d)[{_EMOJI_SET}])(?!(?<=[{_EMOJI_SET}]\ufe0f\u200d)[{_EMOJI_SET}])"
)
"""Joiners and selectors that `_working` must check: not a selector right after an emoji, nor a joiner between two emoji, as
these are always kept."""
_EMOJI = re.compile(f"[{_EMOJI_SET}]")
_JOINED = re.compile(
    "[\u0620-\u06ff\u0710-\u07fa\u0840-\u085b\u0860-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17dd\u1807\u1820-\u18aa"
    "\u1900-\u194f\u1a20-\u1aad\u1b00-\u1bff\u1c00-\u1c4f\ua840-\ua87f\ua880-\ua8df\ua8e0-\ua8ff\ua980-\ua9df\uaa00-\uaa5f"
    "\uaae0-\uaaff\uabc0-\uabff\U00010a00-\U00010aff\U00010d00-\U00010d2f\U00011000-\U000114df\U0001e900-\U0001e943]"
)
_PLAIN = re.compile(
    "[ -~\n\t\u00a0-\u00ac\u00ae-\u02ff\u0391-\u03a1\u03a3-\u03ce\u0400-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u20ac"
    "\u2190-\u22ff\u3001-\u3029\u3041-\u3096\u30a1-\u30fe\u4e00-\u9fff\uac00-\ud7a3]*+"
)
_VIRAMA = 9


def is_plain(text: str) -> bool:
    """Whether `text` has only common characters, each of which is visible, composed and a grapheme by itself."""
    return _PLAIN.fullmatch(text) is not None


def visible(text: str) -> str:
    """`text` without invisible characters, and with a newline for each line separator."""
    if "\r" in text or not text.isprintable():
        text = _LINES.sub("\n", text)
    if text.isascii():
        return text if text.isprintable() else _DROPPED.sub("", text)
    text = _DROPPED.sub("", text)
    return _JOINERS.sub(_working, text)


def _working(found: re.Match[str]) -> str:
    """The joiner or selector if it changes how its neighbours are drawn, otherwise nothing."""
    text, index, char = found.string, found.start(), found[0]
    before, after = text[index - 1 : index], text[index + 1 : index + 2]
    if char in "\ufe0e\ufe0f":
        works = bool(_EMOJI.match(before)) or (before != "" and before in "0123456789#*" and after == "\u20e3")
    elif char == "\u200d" and _EMOJI.match(text[index - 2 : index - 1] if before == "\ufe0f" else before):
        works = bool(_EMOJI.match(after))
    else:
        works = bool(before) and (
            unicodedata.combining(before) == _VIRAMA or bool(_JOINED.match(before) and _JOINED.match(after))
        )
    return char if works else ""
