"""Named formats: opens a format by the name that a strategy uses, and checks which details it can write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from types import MappingProxyType

from germane.errors import InvalidInput, UnknownName
from germane.pipeline.format.compact import Compact
from germane.pipeline.format.digest import Digest
from germane.pipeline.format.layout import Format, Grammar
from germane.pipeline.format.markdown import Markdown
from germane.pipeline.format.xml import Xml
from germane.ports.tokenizer import Tokenizer
from germane.types.strategy import Detail

__all__ = ["FORMATS", "check_details", "open_format"]

FORMATS: Mapping[str, Callable[[str, tzinfo, Sequence[Detail]], Grammar]] = MappingProxyType(
    {
        "compact": lambda nonce, zone, _: Compact(nonce, zone),
        "digest": lambda nonce, zone, _: Digest(nonce, zone),
        "markdown": lambda nonce, zone, _: Markdown(nonce, zone),
        "xml": Xml,
    }
)
"""By name: makes a grammar from the nonce, the scope's zone and the details to write."""
_WITH_DETAILS = frozenset({"xml"})


def check_details(name: str, details: Sequence[Detail]) -> None:
    """Raises `InvalidInput` where the format can't write these details."""
    if details and name not in _WITH_DETAILS:
        raise InvalidInput(
            f"details {', '.join(details)} can't be written in the format {name!r}: leave details empty, or use the format "
            f"{' or '.join(sorted(_WITH_DETAILS))}"
        )


def open_format(
    name: str,
    *,
    tokenizer: Tokenizer,
    nonce: str,
    zone: tzinfo,
    terms: Sequence[str],
    details: Sequence[Detail] = (),
    first_number: int = 1,
    apart: bool = False,
) -> Format:
    """A format for one assembly. `terms` are the query's words or stems; excerpts of long items are made around them. See
    `Format` for `first_number` and `apart`.

    Raises `UnknownName` for a name that isn't in `FORMATS`, `InvalidInput` for details that the format can't write.
    """
    grammar = FORMATS.get(name)
    if grammar is None:
        raise UnknownName(f"unknown format {name!r}: use one of {', '.join(sorted(FORMATS))}")
    check_details(name, details)
    return Format(grammar(nonce, zone, details), tokenizer, terms, first_number=first_number, apart=apart)
