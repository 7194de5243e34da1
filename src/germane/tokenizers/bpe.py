"""Exact counts by byte-level BPE, from vocabularies that ship inside a package: no network, ever.

Two packages do the work behind one face; where both know an encoding the first is preferred and the second stands in when the
first has no wheel for the platform. Both release the interpreter lock while they count and may be called from several threads.
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
"""For each name, where its vocabulary may be found: (package, its name there), the preferred first."""

_COMPOSES = frozenset({"qwen3"})
"""These normalise to NFC before they count, which can lengthen a text."""
_LONGER = 3
"""How many times as many bytes of UTF-8 NFC makes of a text at most (Unicode)."""
_LONG = 65_536
"""Characters of a text whose bytes aren't counted: it takes four a character at most."""


class Bpe:
    """Exact counts of one encoding; its vocabulary is read at the first count (0.1 to 0.4 s), not before."""

    __slots__ = ("_count", "_lock", "_name", "_package")

    def __init__(self, name: str) -> None:
        self._name = name
        self._package = next(((package, inner) for package, inner in ENCODINGS.get(name, ()) if find_spec(package)), None)
        self._count: Count | None = None
        self._lock = Lock()

    @property
    def available(self) -> bool:
        """Whether a package that holds this vocabulary is installed."""
        return self._package is not None

    @property
    def name(self) -> str:
        return self._name

    @property
    def exact(self) -> bool:
        return True

    def count(self, text: str) -> int:
        """Exact but for more than 30 combining marks in a row where the encoding composes: those are counted at their most."""
        count = self._count or self._open()
        piled = 0
        if self._name in _COMPOSES and len(low := unpiled(text)) < len(text):  # it would sort the pile in quadratic time
            text, piled = low, _LONGER * (_bytes(text) - _bytes(low))
        try:
            return piled + count(text)
        except (UnicodeEncodeError, TypeError):
            return piled + count(as_sent(text))

    def ceiling(self, text: str) -> int:
        """Byte-level BPE never makes more tokens than bytes."""
        long = len(text) > _LONG and not text.isascii()
        size = 4 * len(text) if long else _bytes(text)
        return _LONGER * size if self._name in _COMPOSES and (long or not is_normalised(text)) else size

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
    """`text` as a provider reads it after JSON: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _load(package: str, encoding: str) -> Count:
    if package == "quicktok":
        import quicktok

        return cast("Count", quicktok.get_encoding(encoding).count)
    import toktok

    if opened := getattr(toktok, "_encoding", None):  # 1 µs a text; batch_count sets up its scratch space in 33 µs each time
        return cast("Count", opened(encoding).count)
    return lambda text: toktok.batch_count([text], encoding, 1)[0]
