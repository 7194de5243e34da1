"""Arguments: checks what a caller of `germane.history` passes; errors name the argument and say what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from germane.api.arguments import named_model, number
from germane.api.check_messages import conversation, look
from germane.catalog.catalog import Catalog
from germane.catalog.measure_budget import request_room
from germane.catalog.prices import Prices
from germane.compaction.archive import Archive
from germane.compaction.message_cost import Measure
from germane.compaction.plan import CompactionTerms
from germane.compaction.strategy import CompactionStrategy
from germane.dialects.registry import dialect, parse_all
from germane.dialects.system_prompt import system_prompt
from germane.errors import InvalidInput
from germane.history.tokenizers import tokenizer
from germane.types.extent import Extent
from germane.types.limits import CHARACTERS, COUNT, MESSAGES, NAME, TOOLS, shown, text, within
from germane.types.message import Message

__all__ = ["Compactable", "compactable", "one_message"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compactable:
    """A conversation to compact, checked and parsed, and what it has to fit."""

    raws: Sequence[Mapping[str, Any] | Message]
    messages: Sequence[Message]
    terms: CompactionTerms


def compactable(
    messages: Sequence[Mapping[str, Any] | Message],
    *,
    model: str,
    max_tokens: int | None,
    provider: str | None,
    system: Any,
    tools: Sequence[Mapping[str, Any]],
    strategy: CompactionStrategy,
    archive: Archive | None,
    low_water: float,
    max_messages: int | None,
    catalog: Catalog | None = None,
    cite: bool = False,
) -> Compactable:
    """Checks every argument; the messages are parsed last. `catalog` is that of models, by default the built-in one;
    `cite` says that handles may be named although no `archive` is given. Raises `InvalidInput` for the first that can't
    be used."""
    profile = (catalog or Catalog.built_in()).find(named_model(model))
    name = profile.provider if provider is None else text("provider", provider, NAME)
    dialect(name)
    if not isinstance(strategy, get_args(CompactionStrategy)):
        raise InvalidInput(f"strategy must be Truncate, Summarise, Importance or TimeDecay, not {shown(strategy)}")
    if isinstance(low_water, bool) or not isinstance(low_water, int | float) or not 0 <= low_water <= 1:
        raise InvalidInput(f"low_water must be a fraction of max_tokens, 0 to 1, not {shown(low_water)}")
    if max_messages is not None:
        number("max_messages", max_messages, minimum=1)
    counter = tokenizer(profile.tokenizer)
    measure = Measure(profile, counter, name)
    if max_tokens is None:
        size = max(1, request_room(profile, counter))
    else:
        size = number("max_tokens", max_tokens, maximum=COUNT.maximum)
    system_prompt(system, name)
    schemas = _tools(tools)
    raws = conversation(messages, MESSAGES)
    terms = CompactionTerms(
        measure=measure,
        max_tokens=size,
        strategy=strategy,
        low_water=float(low_water),
        max_messages=max_messages,
        system=system,
        tools=schemas,
        cite=cite or archive is not None,
        price=Prices.built_in().find(model),
    )
    return Compactable(raws=raws, messages=parse_all(raws, name), terms=terms)


def one_message(raw: Mapping[str, Any] | Message, provider: str, index: int) -> tuple[Mapping[str, Any] | Message, Message]:
    """Returns a message, the number `index` of its conversation, checked and parsed. Raises `InvalidInput`."""
    (seen,) = look([raw], Extent("messages", CHARACTERS), first=index)
    (message,) = parse_all([seen], provider, first=index)
    return seen, message


def _tools(tools: object) -> tuple[Mapping[str, Any], ...]:
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Sequence):
        raise InvalidInput(f"tools must be a list of tool schemas, not {shown(tools)}")
    within("tools", len(tools), TOOLS)
    for index, tool in enumerate(tools):
        if not isinstance(tool, Mapping):
            raise InvalidInput(f"tools[{index}] must be a tool's schema as a dict, not {type(tool).__name__}")
    return tuple(tools)
