"""Tokenizers: token counts, exact where the vocabulary is installed, else upper estimates; no network.

`open_tokenizer` opens one by the name that the catalog uses. Of a model whose vocabulary isn't public, the count is an upper
estimate, made from the exact count of another vocabulary, the base:

    tokens ≤ factor × base + wide × (characters beyond ASCII) + digit × (ASCII digits), rounded up

One factor doesn't fit all texts: compared with o200k, other vocabularies need up to twice as many tokens for scripts other
than Latin, and those that split numbers into digits up to 2.5 times as many for figures. The estimate is meant to be too
high. A text of a few tokens, or one written to be unusual, can still exceed it; therefore an estimated model gets a wider
safety fraction (BUD-3). Each text is rounded up, so that sums over parts are upper estimates too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from importlib.util import find_spec
from math import ceil
from threading import Lock
from types import MappingProxyType
from typing import cast

from germane.errors import UnknownName
from germane.ports.models import Tokenizer
from germane.text.normal import is_normalised, unpiled

# Exact counts by byte-level BPE, with vocabularies that are part of an installed package. Two packages do the counting.
# Where both have an encoding, the first is preferred, and the second serves platforms for which the first has no wheel.
# Both are thread-safe and release the interpreter lock while they count.


Count = Callable[[str], int]

ENCODINGS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "o200k": (("toktok", "o200k_base"), ("quicktok", "o200k_base")),
        "cl100k": (("toktok", "cl100k_base"), ("quicktok", "cl100k_base")),
        "llama3": (("quicktok", "llama3"),),
        "qwen3": (("quicktok", "qwen3"),),
    }
)
"""For each encoding, the packages that may hold its vocabulary as (package, name there), the preferred one first."""

_COMPOSES = frozenset({"qwen3"})
"""Encodings that normalise a text to NFC before they count it, which can make it longer."""
_NFC_GROWTH = 3
"""How many times longer NFC makes a text at most, in bytes of UTF-8 (Unicode Standard Annex 15)."""
_MIN_BOUNDED = 65_536
"""Characters of a text from which `ceiling` assumes four bytes a character instead of counting bytes."""


class Bpe:
    """Counts tokens of one encoding exactly. Its vocabulary is loaded at the first count (0.1 to 0.4 s). Thread-safe."""

    __slots__ = ("_count", "_lock", "_name", "_package")

    def __init__(self, name: str) -> None:
        self._name = name
        self._package = next(((package, inner) for package, inner in ENCODINGS.get(name, ()) if find_spec(package)), None)
        self._count: Count | None = None
        self._lock = Lock()

    @property
    def available(self) -> bool:
        """Whether a package with this vocabulary is installed."""
        return self._package is not None

    @property
    def name(self) -> str:
        return self._name

    @property
    def exact(self) -> bool:
        return True

    def count(self, text: str) -> int:
        """Returns the exact count, with one exception: for an encoding that normalises, combining marks beyond 30 in a row
        count as their upper bound. Raises `LookupError` when no installed package has the vocabulary."""
        count = self._count or self._open()
        piled = 0
        if self._name in _COMPOSES and len(low := unpiled(text)) < len(text):  # sorting these marks takes quadratic time
            text, piled = low, _NFC_GROWTH * (_bytes(text) - _bytes(low))
        try:
            return piled + count(text)
        except (UnicodeEncodeError, TypeError):
            return piled + count(as_sent(text))

    def ceiling(self, text: str) -> int:
        """Returns the bytes of the text, or an upper bound of them: byte-level BPE never makes more tokens than bytes."""
        long = len(text) > _MIN_BOUNDED and not text.isascii()
        size = 4 * len(text) if long else _bytes(text)
        return _NFC_GROWTH * size if self._name in _COMPOSES and (long or not is_normalised(text)) else size

    def _open(self) -> Count:
        with self._lock:
            if self._count is None:
                if self._package is None:
                    raise LookupError(f"no installed package holds the vocabulary of {self._name!r}")
                self._count = _load(*self._package)
            return self._count

    def __repr__(self) -> str:
        return f"<Bpe {self._name}>"


def as_sent(text: str) -> str:
    """Returns `text` as a provider reads it from JSON: surrogate pairs are joined, lone surrogates become U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _load(package: str, encoding: str) -> Count:
    if package == "quicktok":
        import quicktok

        return cast("Count", quicktok.get_encoding(encoding).count)
    import toktok

    if opened := getattr(
        toktok, "_encoding", None
    ):  # takes 1 µs a text, where batch_count needs 33 µs each time to set itself up
        return cast("Count", opened(encoding).count)
    return lambda text: toktok.batch_count([text], encoding, 1)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upper:
    """The coefficients of the estimate, see the module."""

    factor: float
    wide: float = 0.0
    digit: float = 0.0


UPPER: Mapping[str, Upper] = MappingProxyType(
    {
        # Measured, with reconstructed counts: conversation 1.23, code 1.17, Hindi 2.46, Thai 2.18.
        "claude": Upper(factor=1.45, wide=0.4),
        # Measured in the same way: conversation 1.50, code 1.54, Hindi 2.6, Thai 2.3; short German and capitals reach 2.4.
        "claude-4.8": Upper(factor=1.95, wide=0.25),
        # Measured with the vocabulary of V4: conversation 1.04, code 1.06, Hindi 2.2. Earlier versions are assumed to be alike.
        "deepseek": Upper(factor=1.35, wide=0.25),
        # Measured with the 131k vocabulary: conversation 1.16, code 1.04, figures 2.5, XML with ids 1.37.
        "mistral": Upper(factor=1.35, wide=0.3, digit=0.75),
        # Measured with the older 32k vocabulary: conversation 1.21, code 1.22, Korean 2.2, Hindi 4.2, figures 2.5.
        "mistral-32k": Upper(factor=1.5, wide=1.0, digit=0.75),
        # Assumed: a vocabulary of 256k that splits numbers into digits.
        "gemini": Upper(factor=1.35, wide=0.25, digit=0.75),
        # Assumed: a vocabulary of 200k split like o200k.
        "llama4": Upper(factor=1.3, wide=0.25),
        # Measured, for where the vocabulary isn't installed: conversation 1.25, code 1.04, German 1.35, Georgian 5.3.
        "llama3": Upper(factor=1.3, wide=1.7),
        # Measured in the same way: conversation 1.25, code 1.23, German 1.35, figures 2.2, Tamil 3.4.
        "qwen3": Upper(factor=1.3, wide=1.2, digit=0.95),
        # Assumed: the highest of the above.
        "unknown": Upper(factor=1.95, wide=1.0, digit=0.75),
    }
)
"""Coefficients by model family, for counts of o200k as the base. Those of `llama3` and `qwen3` serve where the extra `tokens`
isn't installed."""


class Estimate:
    """Estimates from `base`'s counts; `exact` is always False."""

    __slots__ = ("_base", "_name", "_upper")

    def __init__(self, base: Tokenizer, upper: Upper) -> None:
        self._base, self._upper = base, upper
        self._name = f"{base.name}×{upper.factor:g} (estimate)"

    @property
    def name(self) -> str:
        return self._name

    @property
    def exact(self) -> bool:
        return False

    def count(self, text: str) -> int:
        upper = self._upper
        tokens = upper.factor * self._base.count(text)
        if upper.wide and not text.isascii():
            tokens += upper.wide * (len(text) - len(text.encode("ascii", "ignore")))
        if upper.digit:
            tokens += upper.digit * sum(map(text.count, "0123456789"))
        return ceil(tokens)

    def ceiling(self, text: str) -> int:
        return ceil(self._upper.factor * self._base.ceiling(text) + max(self._upper.wide, self._upper.digit) * len(text))

    def __repr__(self) -> str:
        return f"<Estimate {self._name}>"


class Bytes:
    """Counts one token for each byte of UTF-8, for installations without any vocabulary: far too high, never too low."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return "bytes (estimate)"

    @property
    def exact(self) -> bool:
        return False

    def count(self, text: str) -> int:
        return len(text.encode("utf-8", "surrogatepass"))

    def ceiling(self, text: str) -> int:
        return self.count(text)

    def __repr__(self) -> str:
        return "<Bytes>"


TOKENIZERS: frozenset[str] = frozenset({*ENCODINGS, *UPPER})
"""All names that `open_tokenizer` takes."""


def open_tokenizer(name: str) -> Tokenizer:
    """Returns a tokenizer with a cache of its own: keep it, as each call starts with an empty cache. Nothing is loaded before
    the first count.

    `name` is an encoding (`o200k`, `cl100k`, `llama3`, `qwen3`: exact) or a model family (`claude`, `gemini` …: upper
    estimate). An encoding whose vocabulary isn't installed is estimated likewise. Raises `UnknownName` for any other name.
    """
    if name in ENCODINGS:
        bpe = Bpe(name)
        return CachedTokenizer(bpe) if bpe.available else _estimated(name if name in UPPER else "unknown")
    if name in UPPER:
        return _estimated(name)
    raise UnknownName("unknown tokenizer {}", name, advice=f"use one of {', '.join(sorted(TOKENIZERS))}")


def _estimated(family: str) -> Tokenizer:
    base = Bpe("o200k")
    return CachedTokenizer(Estimate(base, UPPER[family])) if base.available else Bytes()


_MAX_KEY_TEXT = 512
"""Characters up to which a text is its own cache key; a longer text's key is its digest."""

Key = str | bytes


class CachedTokenizer:
    """Caches the counts of `base`.

    The cache approximates an LRU by two generations. A hit in the old generation copies the entry to the young one; when the
    young one is full, it becomes the old one, and the former old one is dropped. Unlike `LruCache` it needs no lock, since each
    step is one dict operation: at worst two threads count the same text. Each generation holds at most `entries` counts and
    `chars` characters of keys.
    """

    __slots__ = ("_base", "_chars", "_entries", "_old", "_young", "_young_chars")

    def __init__(self, base: Tokenizer, *, entries: int = 32_768, chars: int = 4_000_000) -> None:
        self._base = base
        self._entries, self._chars = entries, chars
        self._young: dict[Key, int] = {}
        self._old: dict[Key, int] = {}
        self._young_chars = 0

    @property
    def name(self) -> str:
        return self._base.name

    @property
    def exact(self) -> bool:
        return self._base.exact

    def count(self, text: str) -> int:
        key = text if len(text) <= _MAX_KEY_TEXT else _digest(text)
        count = self._young.get(key)
        if count is None and (count := self._find(key)) is None:
            count = self._base.count(text)
            self._keep(key, count)
        return count

    def known(self, text: str) -> int | None:
        """Returns the count on a cache hit, else None."""
        return self._find(text if len(text) <= _MAX_KEY_TEXT else _digest(text))

    def ceiling(self, text: str) -> int:
        return self._base.ceiling(text)

    def _find(self, key: Key) -> int | None:
        count = self._young.get(key)
        if count is None and (count := self._old.get(key)) is not None:
            self._keep(key, count)
        return count

    def _keep(self, key: Key, count: int) -> None:
        if len(self._young) >= self._entries or self._young_chars >= self._chars:
            self._old, self._young, self._young_chars = self._young, {}, 0
        self._young[key] = count
        self._young_chars += len(key)

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def __repr__(self) -> str:
        return f"<CachedTokenizer {self._base!r}>"


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
