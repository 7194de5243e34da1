"""Named formats: opens a format by the name that a strategy uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from types import MappingProxyType

from germane.errors import UnknownName
from germane.pipeline.format.compact import Compact
from germane.pipeline.format.layout import Format, Grammar
from germane.pipeline.format.xml import Xml
from germane.ports.tokenizer import Tokenizer

__all__ = ["FORMATS", "open_format"]

FORMATS: Mapping[str, Callable[[str, tzinfo], Grammar]] = MappingProxyType({"compact": Compact, "xml": Xml})
"""By name: makes a grammar from the nonce and the scope's zone."""


def open_format(
    name: str,
    *,
    tokenizer: Tokenizer,
    nonce: str,
    zone: tzinfo,
    terms: Sequence[str],
    first_number: int = 1,
    apart: bool = False,
) -> Format:
    """A format for one assembly. `terms` are the query's words or stems; excerpts of long items are made around them. See
    `Format` for `first_number` and `apart`.

    Raises `UnknownName` for a name that isn't in `FORMATS`.
    """
    grammar = FORMATS.get(name)
    if grammar is None:
        raise UnknownName(f"unknown format {name!r}: use one of {', '.join(sorted(FORMATS))}")
    return Format(grammar(nonce, zone), tokenizer, terms, first_number=first_number, apart=apart)
