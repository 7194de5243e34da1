"""Strategy: which exchanges leave the prompt first, and what stands in their place (HIST-2). Frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from germane.types.checks import check_number, check_whole_number
from germane.types.codec import tagged


@dataclass(frozen=True, slots=True, kw_only=True)
class _Masking:
    mask: bool = True
    """Whether old tool outputs are masked before anything else leaves."""
    keep_outputs: int = 6
    """The newest tool outputs, which are never masked before anything older."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncate(_Masking):
    """The oldest messages leave; at most `keep_recent` stay, and fewer where their tokens don't fit."""

    keep_recent: int = 100

    def __post_init__(self) -> None:
        _check_whole_numbers(keep_recent=self.keep_recent, keep_outputs=self.keep_outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarise(_Masking):
    """The oldest exchanges leave, a summary of at most `summary_tokens` stands for them. An LLM is given at most `chunk_size`
    messages at once, with the summary so far."""

    chunk_size: int = 50
    summary_tokens: int = 2_000

    def __post_init__(self) -> None:
        _check_whole_numbers(chunk_size=self.chunk_size, summary_tokens=self.summary_tokens, keep_outputs=self.keep_outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Importance(_Masking):
    """The `keep_recent` newest exchanges stay, and of the older ones the `keep_important` that matter most; a summary stands
    for the others."""

    keep_recent: int = 20
    keep_important: int = 20
    summary_tokens: int = 2_000

    def __post_init__(self) -> None:
        _check_whole_numbers(keep_recent=self.keep_recent, keep_important=self.keep_important, keep_outputs=self.keep_outputs)
        _check_whole_numbers(summary_tokens=self.summary_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeDecay(_Masking):
    """An exchange counts for what it says, halved for each `half_life` exchanges that came after it; those that count least
    leave first, and a summary stands for them."""

    half_life: float = 20.0
    summary_tokens: int = 2_000

    def __post_init__(self) -> None:
        _check_whole_numbers(summary_tokens=self.summary_tokens, keep_outputs=self.keep_outputs)
        check_number("half_life", self.half_life, 0, 1e9, above=True, unit="exchanges")


CompactionStrategy = Truncate | Summarise | Importance | TimeDecay
tagged("name", {"truncate": Truncate, "summarise": Summarise, "importance": Importance, "time-decay": TimeDecay})


def _check_whole_numbers(**given: int) -> None:
    for name, value in given.items():
        check_whole_number(name, value)


SUMMARISE = Summarise()
"""The strategy of a compaction that names none."""
