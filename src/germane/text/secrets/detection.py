"""Detection: finds the secrets in a text, marks them, and screens whole values before they are stored."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from germane.errors import InvalidInput
from germane.text.injected import without_injected
from germane.text.normal import normalised
from germane.text.secrets.formats import FoundSecret, by_format, by_luhn, private_keys
from germane.text.secrets.named import by_name, may_name, named_kind
from germane.types.checks import check_one_of

_WINDOW, _OVERLAP = 16_384, 512
_WORD = 4_096
"""Characters before the end of a window in which one of `_ENDS` is looked for, so that no secret is cut."""
_ENDS = " \n\"',"
_MIN_BY_FORM = 20
"""Characters of the shortest secret that is known by its form."""
_MIN_TEXT = 8
"""Characters of the shortest text that can hold a secret: `pin=1234`."""
_REPEATED, _MIN_REPEATED = 32, 6
"""How many secrets are looked for again in the text, and the characters that they have at least."""
_DIGIT = re.compile("[0-9]")
_CARD_DIGITS = re.compile("[2-6][0-9]{3}[ -]?[0-9]{4}")
"""What every card number holds."""


def find_secrets(text: str, breath: Callable[[], None] = lambda: None) -> tuple[FoundSecret, ...]:
    """Returns the secrets in `text`, in order; no two overlap. Deterministic, in linear time. `breath` is called between two
    windows of a long text. Markers of what was redacted before count as no secret."""
    if len(text) < _MIN_TEXT:
        return ()
    if len(text) <= _WINDOW and "-----" not in text and "Private-Lines" not in text:
        return _apart((*found, *_repeated(text, found))) if (found := _within(text)) else ()
    found = list[FoundSecret]()
    if "PRIVATE KEY" in text or "Private-Lines" in text:
        found += private_keys(text)
    for start, window in _windows(text):
        for one in _within(window):
            found.append(FoundSecret(one.kind, start + one.start, start + one.end))
        breath()
    return _apart((*found, *_repeated(text, found))) if found else ()


def _repeated(text: str, found: Sequence[FoundSecret]) -> Iterator[FoundSecret]:
    """The places where the first secrets stand again, where nothing else tells that they are secrets."""
    seen = {text[one.start : one.end]: one.kind for one in found[:_REPEATED] if one.end - one.start >= _MIN_REPEATED}
    for secret, kind in seen.items():
        at = text.find(secret)
        while at >= 0:
            end = at + len(secret)
            if not text[max(0, at - 1) : at].isalnum() and not text[end : end + 1].isalnum():
                yield FoundSecret(kind, at, end)
            at = text.find(secret, end)


def _windows(text: str) -> Iterator[tuple[int, str]]:
    """The text in windows that overlap, each with its start. A window ends where no secret goes on, if that is near."""
    start = 0
    while True:
        end = start + _WINDOW
        if end >= len(text):
            yield start, text[start:]
            return
        end = max(text.rfind(mark, end - _WORD, end) for mark in _ENDS) + 1 or end
        yield start, text[start:end]
        start = end - _OVERLAP


def _within(text: str) -> list[FoundSecret]:
    found = _in_plain(text)
    if ("</" in text or not text.isascii()) and (plain := unveiled(text)) is not None:
        places = ((one.kind, plain.place(one.start), plain.place(one.end - 1) + 1) for one in _in_plain(plain.text))
        found += [FoundSecret(*place) for place in places]
    return found


def _in_plain(text: str) -> list[FoundSecret]:
    found: list[FoundSecret] = []
    digit = _DIGIT.search(text) is not None
    # Every key that is known by its form has a digit or one of these in it: a text without any needs no look at its words.
    if digit or "_" in text or "-" in text or "KIA" in text or "SIA" in text or "AIza" in text:
        begin = 0
        for word in [word for word in text.split() if len(word) >= _MIN_BY_FORM]:
            begin = text.index(word, begin)
            found += by_format(text, begin, begin + len(word))
            begin += len(word)
    low = text.lower()
    if may_name(low):
        found += by_name(text, low if len(low) == len(text) else "".join(map(_lower, text)))
    if digit and _CARD_DIGITS.search(text):
        found += by_luhn(text)
    return found


def _lower(char: str) -> str:
    """A character in lower case, itself where that would be two characters."""
    low = char.lower()
    return low if len(low) == 1 else char


def _apart(found: Iterable[FoundSecret]) -> tuple[FoundSecret, ...]:
    """The findings in order; those that overlap are one, of the kind of the longest."""
    kept: list[FoundSecret] = []
    longest = 0
    for one in sorted(found, key=lambda each: (each.start, -each.end)):
        if kept and one.start < kept[-1].end:
            last = kept[-1]
            if one.end - one.start > longest:
                kept[-1], longest = last._replace(kind=one.kind), one.end - one.start
            kept[-1] = kept[-1]._replace(end=max(last.end, one.end))
        else:
            kept.append(one)
            longest = one.end - one.start
    return tuple(kept)


# A text without what may stand inside a secret and hide it: invisible characters, other widths, inline markup.


_INVISIBLE = "\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f"
_HIDES = re.compile(f"[{_INVISIBLE}\u2010-\u2012\u2212\uff01-\uff5e\U0001d400-\U0001d7ff]")
_DROPPED = re.compile(
    f"[{_INVISIBLE}]++"
    r"|(?<=[\w=:+/.-])</?(?:b|i|u|s|em|strong|span|code|mark|wbr|font|a|tt|kbd)(?: [^<>]{0,80})?/?>(?=[\w<=:+/.-])"
)
_NARROW = (
    dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2212), "-")
    | {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code - 0xFEE0) not in "!?,;()'\""}
    | {code: folded for code in range(0x1D400, 0x1D800) if (folded := normalised(chr(code), "NFKC")).isascii()}
)


class Unveiled:
    """`text` is the text without its veil; `place` says where one of its characters stands in the original."""

    def __init__(self, text: str, starts: Sequence[int], originals: Sequence[int]) -> None:
        self.text, self._starts, self._originals = text, starts, originals

    def place(self, index: int) -> int:
        """Returns the index in the original of the character at `index`."""
        run = bisect_right(self._starts, index) - 1
        return self._originals[run] + index - self._starts[run]


def unveiled(text: str) -> Unveiled | None:
    """Returns the text without its veil, None where nothing is hidden. Takes linear time."""
    wide = not text.isascii() and _HIDES.search(text) is not None
    if not wide and "</" not in text:
        return None
    kept, starts, originals, size, begin = list[str](), [0], [0], 0, 0
    for match in _DROPPED.finditer(text):
        kept.append(text[begin : match.start()])
        size += match.start() - begin
        begin = match.end()
        starts.append(size)
        originals.append(begin)
    if not wide and len(starts) == 1:
        return None
    kept.append(text[begin:])
    plain = "".join(kept)
    return Unveiled(plain.translate(_NARROW) if wide else plain, starts, originals)


# A marker says what stood in its place: `[redacted: AWS access key]`.


MARKER = "[redacted: "
"""How every marker begins."""


def marker(kind: str) -> str:
    """Returns what stands in the place of a secret of this kind."""
    return f"{MARKER}{kind}]"


def redacted(text: str, found: Iterable[FoundSecret]) -> str:
    """Returns `text` with a marker in the place of each secret found in it."""
    pieces, begin = list[str](), 0
    for one in found:
        pieces += (text[begin : one.start], marker(one.kind))
        begin = one.end
    return "".join((*pieces, text[begin:])) if pieces else text


# SecretScreen: what is stored of the texts of one message or memory: secrets by a policy, and nothing that germane
# injected. All text that callers want stored passes here, so the text of germane's own is left out here, whatever the
# policy (INJECT-5).


SecretPolicy = Literal["redact", "tag", "refuse", "off"]
"""What happens to a secret in what a caller wants stored: a marker takes its place, it is kept and marked as sensitive, the
call is refused, or nobody looks."""
POLICIES: tuple[SecretPolicy, ...] = get_args(SecretPolicy)
_CARD = "card number"
"""What a name of digits can be by chance."""
_LIST_MARK = re.compile(r"\n(?:-|\d{1,6}\.) (?:\[[ x]\] )?")
"""The mark of an item of a list."""
_MIN_REPEATED_CHARS = 6
"""Characters of a secret that is also replaced where only its repetition tells that it is one."""
_MAX_REPEATED_SECRETS = 64
"""How many different secrets are looked for again."""


class SecretScreen:
    """`found` counts the secrets by kind, `left_out` says whether germane's own text was left out. `place` says in a refusal
    where the text stands; the refusal never quotes it."""

    def __init__(self, policy: SecretPolicy, place: str, breath: Callable[[], None] = lambda: None) -> None:
        self.policy, self.place, self._breath = policy, place, breath
        self._known: dict[str, str] = {}
        self.found: Counter[str] = Counter()
        self.left_out = False

    def text(self, value: str, name: str = "") -> str:
        """Returns `value` as it is to be stored; `name` is what it stands under. Raises `InvalidInput` where the policy refuses
        it."""
        given, value = value, without_injected(value)
        self.left_out = self.left_out or value is not given
        if self.policy == "off":
            return value
        found = find_secrets(value, self._breath)
        if name and not found and (kind := named_kind(name, value)) is not None:
            found = (FoundSecret(kind, 0, len(value)),)
        for one in found:
            self.note(one.kind, value[one.start : one.end])
        return redacted(value, found) if self.policy == "redact" else value

    def json(self, value: Any, name: str = "") -> Any:
        """The same for JSON of any depth, whose strings stand under their keys. What is no JSON stays as it is."""
        if isinstance(value, str):
            return self.text(value, name)
        if isinstance(value, Mapping):
            named = ((key, item, isinstance(key, str)) for key, item in value.items())
            return {self.text(key) if text else key: self.json(item, key if text else "") for key, item, text in named}
        if isinstance(value, list | tuple):
            return [self.json(item, name) for item in value]
        return value

    def again(self, value: Any) -> Any:
        """Returns JSON that repeats what was screened before: what was found there is replaced here too, and only what wasn't
        is counted."""
        known, counted = dict(self._known), Counter(self.found)
        value = self.json(value)
        if counted:
            self.found = counted
        return _replaced(value, known) if known and self.policy == "redact" else value

    def note(self, kind: str, secret: str) -> None:
        """Counts a secret. Raises `InvalidInput` where the policy refuses it."""
        if self.policy == "refuse":
            raise InvalidInput(
                f"{self.place} holds a secret ({kind})",
                advice="leave it out, or let germane redact it (secrets = 'redact')",
            )
        self.found[kind] += 1
        if len(self._known) < _MAX_REPEATED_SECRETS:
            self._known[secret] = kind

    def knows(self, secret: str) -> bool:
        """Whether this secret was counted before."""
        return secret in self._known


def refuse_in_name(policy: SecretPolicy, what: str, name: str) -> str:
    """Returns a name by which something is found again. Raises `InvalidInput` where it holds a secret that must not be stored:
    a marker in its place would be another name."""
    kind = secret_in_name(name) if policy in ("redact", "refuse") else None
    if kind is not None:
        raise InvalidInput(f"{what} holds a secret ({kind}), and a name is stored as it is", advice="choose another name")
    return name


def secret_in_name(name: str) -> str | None:
    """Returns the kind of secret that a name holds; None where it holds none. Digits alone are no secret in a name."""
    return next((one.kind for one in find_secrets(name) if one.kind != _CARD), None)


def refuse_joined(policy: SecretPolicy, what: str, before: str, after: str) -> None:
    """Raises `InvalidInput` where a text that was changed holds a secret that must not be stored and wasn't in it `before`:
    one that was written in pieces, each of which looks harmless, items of a list too."""
    if policy not in ("redact", "refuse"):
        return
    joined = _LIST_MARK.sub(" ", after)
    known = {before[one.start : one.end] for one in find_secrets(before)}
    for text in (after,) if joined == after else (after, joined):
        for one in find_secrets(text):
            secret = text[one.start : one.end]
            if secret not in known and secret not in before:
                raise InvalidInput(f"the change makes a secret ({one.kind}) of pieces that {what} holds", advice="leave it out")


def secret_policy(value: object) -> SecretPolicy:
    """Returns a policy by its name. Raises `InvalidInput`."""
    return check_one_of("secrets", value, POLICIES)


def _replaced(value: Any, known: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for secret in sorted(known, key=len, reverse=True):
            if len(secret) >= _MIN_REPEATED_CHARS:
                value = value.replace(secret, marker(known[secret]))
        return value
    if isinstance(value, Mapping):
        return {key: _replaced(item, known) for key, item in value.items()}
    return [_replaced(item, known) for item in value] if isinstance(value, list) else value
