"""Earlier: the text that stands in a prompt since an earlier call, and the items in it (INJECT-6)."""

from __future__ import annotations

from dataclasses import dataclass

from germane.types.candidate import Sensitivity

__all__ = ["EarlierInjection", "InjectedItem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedItem:
    """One item of a text that was injected. `handle` is its name in that text; `content_hash` is that of the stored text it was
    made from. `stored` is False for an item of a source that the caller registered: the store knows nothing of it. `tokens` are
    those of its line, in the model's tokens that it was written for."""

    handle: str
    id: str
    content_hash: int
    source: str
    sensitivity: Sensitivity = "private"
    stored: bool = True
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierInjection:
    """The text that was injected for the turn at `turn` (index of the message in the request) by an earlier call, as it stands
    in this prompt too. `tokens` are the target model's."""

    turn: int
    text: str
    tokens: int
    items: tuple[InjectedItem, ...] = ()
