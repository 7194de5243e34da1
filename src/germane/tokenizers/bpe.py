"""Bpe: exact token counts by byte-level BPE, with vocabularies that are part of an installed package; no network.

Two packages do the counting. Where both have an encoding, the first is preferred, and the second serves platforms for which the
first has no wheel. Both are thread-safe and release the interpreter lock while they count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from threading import Lock
from types import MappingProxyType
from typing import cast

from germane.text.normal import is_normalised, unpiled

__all__ = ["ENCODINGS", "Bpe", "as_sent"]

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
_LONG = 65_536
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
        long = len(text) > _LONG and not text.isascii()
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
