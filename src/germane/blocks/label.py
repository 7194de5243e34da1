"""Label: what the label of a block, and the name of a field or a section, may be."""

from __future__ import annotations

import unicodedata

from germane.errors import InvalidInput
from germane.text.normal import normalised, unpiled
from germane.types.limits import shown, whole

__all__ = ["LABEL_BYTES", "NAME_CHARACTERS", "checked_label", "checked_name", "folded_segment", "label_key"]

LABEL_BYTES = 255
"""Maximum length of a label in UTF-8."""
NAME_CHARACTERS = 64
"""Maximum length of the name of a field or a section."""
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that nobody sees, or that change how others are shown."""


def checked_label(value: object, argument: str = "label") -> str:
    """Returns a label in NFC. A label has 1 to 255 bytes of UTF-8, in segments between slashes. Each segment begins and ends
    with a visible character, isn't `.` or `..`, and holds no control or format character and no white space but the space.
    Case counts. Raises `InvalidInput`, which says what to change."""
    text = _whole_text(value, argument, LABEL_BYTES)
    if len(text.encode()) > LABEL_BYTES:
        raise InvalidInput(f"{argument} has {len(text.encode())} bytes of UTF-8, {LABEL_BYTES} are allowed: shorten it")
    for segment in text.split("/"):
        _check_segment(segment, argument)
    return text


def label_key(value: object, argument: str = "label") -> str:
    """Returns the key under which a block with this label is stored and looked up: equal for labels that differ only in how
    their accents are composed. Raises `InvalidInput` for what can't be a label."""
    return checked_label(value, argument)


def folded_segment(segment: str) -> str:
    """Returns a segment of a label with look-alikes as the characters that they stand for (NFKC): a full-width `／` as `/`."""
    return normalised(segment, "NFKC")


def checked_name(value: object, argument: str) -> str:
    """Returns the name of a field or a section in NFC: at most 64 characters, which are letters, digits, `_`, `-` and spaces
    inside, in any script. So a name can't be taken for the structure that a rendered block writes around it. Raises
    `InvalidInput`."""
    text = _whole_text(value, argument, NAME_CHARACTERS)
    if text[0] in "- " or text[-1] == " " or unicodedata.category(text[0])[0] == "M":
        raise InvalidInput(f"{argument} {shown(text)} must begin with a letter, a digit or _, and must not end with a space")
    for character in text:
        if character not in "_- " and unicodedata.category(character)[0] not in "LMN":
            raise InvalidInput(f"{argument} {shown(text)} holds {_named(character)}: use letters, digits, _, - and spaces")
    return text


def _whole_text(value: object, argument: str, longest: int) -> str:
    """Returns a string of 1 to `longest` characters in NFC."""
    if not isinstance(value, str):
        raise InvalidInput(f"{argument} must be a string, not {type(value).__name__}")
    if not value:
        raise InvalidInput(f"{argument} is empty: give it at least one character")
    if len(value) > 4 * longest:  # far too long in any normal form
        raise InvalidInput(f"{argument} has {len(value):,} characters, {longest} are allowed: shorten it")
    whole(argument, value)
    if unpiled(value) != value:
        raise InvalidInput(f"{argument} piles up more than 30 combining marks: remove them")
    text = normalised(value)
    if len(text) > longest:
        raise InvalidInput(f"{argument} has {len(text):,} characters, {longest} are allowed: shorten it")
    return text


def _check_segment(segment: str, argument: str) -> None:
    if not segment:
        raise InvalidInput(f"{argument} has an empty segment: remove the / at its beginning or end, or one of two in a row")
    if segment in (".", ".."):
        raise InvalidInput(f"{argument} has the segment {segment!r}: write the whole label, without . and ..")
    for character in segment:
        category = unicodedata.category(character)
        if category in _UNSEEN or (category == "Zs" and character != " "):
            raise InvalidInput(f"{argument} holds {_named(character)}, which can't be seen: remove it or write a space")
    if segment[0] == " " or segment[-1] == " ":
        raise InvalidInput(f"{argument} has a segment with a space at its beginning or end: remove the space")
    if unicodedata.category(segment[0])[0] == "M":
        raise InvalidInput(f"{argument} has a segment that begins with the combining mark {_named(segment[0])}: remove it")


def _named(character: str) -> str:
    return f"U+{ord(character):04X}"
