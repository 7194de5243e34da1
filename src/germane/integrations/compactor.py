"""Compactor: makes a conversation fit a model's window, without a store and without a network.

`compact` does it once. `Compactor` does it again and again for a conversation that grows: a new message costs the same however
long the conversation has become. `recompact` is the way out after a provider has refused a request as too long. Errors name
the argument and say what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from threading import RLock
from typing import Any, get_args

from germane.api.arguments import check_conversation, check_messages, named_model
from germane.catalog.profiles import Catalog, Prices
from germane.catalog.request_tokens import request_room
from germane.compaction.context_overflow import read_overflow
from germane.compaction.conversation import GrowingConversation, plan_compaction
from germane.compaction.entries import archive_entries
from germane.compaction.message_cost import Measure
from germane.compaction.notebook import Summaries
from germane.compaction.plan import Compaction, CompactionTerms
from germane.compaction.render import render
from germane.compaction.strategy import SUMMARISE, CompactionStrategy
from germane.dialects.registry import dialect, is_plain, parse_all, system_prompt
from germane.errors import InvalidInput
from germane.kinds.conversations.value import Archive
from germane.models.tokenizers import open_tokenizer
from germane.ports.models import Tokenizer
from germane.types.checks import check_number, check_size, check_text, check_type, check_whole_number
from germane.types.limits import CHARACTERS, COUNT, MESSAGES, NAME, TOOLS
from germane.types.message import Message, Raw
from germane.types.nested_data import Extent


@dataclass(frozen=True, slots=True)
class _Added:
    """`said` is the text of a plain message, by which an edit is seen at once."""

    raw: Raw
    message: Message
    said: str | None


class Compactor:
    """Mutable; safe for threads: two that compact at once get the same result.

        compactor = Compactor(model="gpt-4o", max_tokens=16_000)
        compactor.extend(messages)
        compaction = compactor.compact()

    The arguments are those of `compact`. The result is the same as that of `compact` for the same messages."""

    def __init__(
        self,
        *,
        model: str,
        max_tokens: int | None = None,
        provider: str | None = None,
        system: Any = None,
        tools: Sequence[Mapping[str, Any]] = (),
        strategy: CompactionStrategy = SUMMARISE,
        archive: Archive | None = None,
        low_water: float = 0.5,
        max_messages: int | None = None,
    ) -> None:
        given = compactable(
            [],
            model=model,
            max_tokens=max_tokens,
            provider=provider,
            system=system,
            tools=tools,
            strategy=strategy,
            archive=archive,
            low_water=low_water,
            max_messages=max_messages,
        )
        self._terms = given.terms
        self._archive = archive
        self._lock = RLock()
        self._added: list[_Added] = []
        self._kept: frozenset[str] = frozenset()
        """Handles of entries that were read back."""
        self._fold = GrowingConversation(self._terms)

    def __len__(self) -> int:
        """The number of messages added."""
        return len(self._added)

    def add(self, message: Raw) -> None:
        """Adds a message at the end. Raises `InvalidInput` for one that can't be read."""
        with self._lock:
            raw, read = one_message(message, self._terms.measure.provider, len(self._added))
            self._added.append(_added(raw, read))
            self._fold.add(raw, read)

    def extend(self, messages: Iterable[Raw]) -> None:
        """Adds messages at the end. Raises `InvalidInput` for the first that can't be read; those before it were added."""
        with self._lock:
            for message in messages:
                self.add(message)

    def compact(self, messages: Sequence[Raw] | None = None, *, summaries: Summaries = ()) -> Compaction:
        """Returns the conversation as it fits. With `messages`, the whole conversation as it is now, what is new is added, and
        where a message isn't what it was when it was added, the work starts again from there: edits and deletions are seen.
        What stays is of the newest `messages`, with their cache marks."""
        with self._lock:
            if messages is not None:
                self._follow(messages)
            plan = self._fold.plan(summaries)
            if self._archive is None or not plan.entries:
                return render(plan)
            kept = archive_entries(self._archive, plan.entries, self._kept)
            self._kept |= kept.handles
            return render(plan, kept.handles, kept.reasons)

    def _follow(self, messages: Sequence[Raw]) -> None:
        """Makes the conversation be `messages`."""
        if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
            raise InvalidInput(f"must be a list of messages, not {type(messages).__name__}", path="messages")
        renewed: list[_Added] = []
        for known, raw in zip(self._added, messages, strict=False):
            if (again := self._again(known, raw, len(renewed))) is None:
                break
            renewed.append(again)
        same = len(renewed)
        if same < len(self._added):
            self._added, self._fold = renewed, GrowingConversation(self._terms)
            for known in self._added:
                self._fold.add(known.raw, known.message)
        else:
            self._added = renewed
            self._fold.renew([known.raw for known in renewed])
        for raw in messages[same:]:
            self.add(raw)

    def _again(self, known: _Added, raw: Raw, index: int) -> _Added | None:
        """The message in its newest object, in which what isn't read may differ; None where it isn't the same message."""
        if known.said is not None and isinstance(raw, dict) and is_plain(raw):
            if raw["content"] != known.said or raw["role"] != known.message.role:
                return None
            return known if raw is known.raw else replace(known, raw=raw)
        try:
            seen, read = one_message(raw, self._terms.measure.provider, index)
        except InvalidInput:
            return None
        return _added(seen, known.message) if read == known.message else None


def _added(raw: Raw, message: Message) -> _Added:
    return _Added(raw, message, raw["content"] if isinstance(raw, dict) and is_plain(raw) else None)


def compact(
    messages: Sequence[Mapping[str, Any] | Message],
    *,
    model: str,
    max_tokens: int | None = None,
    provider: str | None = None,
    system: Any = None,
    tools: Sequence[Mapping[str, Any]] = (),
    strategy: CompactionStrategy = SUMMARISE,
    archive: Archive | None = None,
    summaries: Summaries = (),
    low_water: float = 0.5,
    max_messages: int | None = None,
) -> Compaction:
    """Returns the messages as they fit `max_tokens`, which are those of the whole request: messages, system prompt and tools.

    Nothing changes while they fit. Else old tool outputs are masked first, then the oldest exchanges leave, with one summary
    for all of them, down to `low_water` of the tokens; the same conversation with one more message so keeps its beginning
    until the next time. `max_tokens` is by default what the model's window has beside its answer and a safety margin.

    With an `archive` what was taken out is kept there, and named by handles that bring it back. `summaries` were prepared
    earlier; the newest one that covers what left stands in the place of an extractive one. Raises `InvalidInput` for arguments
    that can't be used, and never for what the messages say."""
    given = compactable(
        messages,
        model=model,
        max_tokens=max_tokens,
        provider=provider,
        system=system,
        tools=tools,
        strategy=strategy,
        archive=archive,
        low_water=low_water,
        max_messages=max_messages,
    )
    return compacted(given, archive, summaries)


def compacted(given: Compactable, archive: Archive | None, summaries: Summaries = ()) -> Compaction:
    """Returns the compaction of checked arguments."""
    plan = plan_compaction(given.raws, given.messages, given.terms, summaries)
    if archive is None or not plan.entries:
        return render(plan)
    kept = archive_entries(archive, plan.entries)
    return render(plan, kept.handles, kept.reasons)


# The way out after a provider has refused a request as too long.


_MARGIN = 0.95
"""The part of what the provider allows that is used: its count of what is left isn't known."""


def recompact(
    error: object,
    messages: Sequence[Mapping[str, Any] | Message],
    *,
    model: str,
    max_tokens: int | None = None,
    provider: str | None = None,
    system: Any = None,
    tools: Sequence[Mapping[str, Any]] = (),
    strategy: CompactionStrategy = SUMMARISE,
    archive: Archive | None = None,
    summaries: Summaries = (),
    low_water: float = 0.5,
    max_messages: int | None = None,
) -> Compaction:
    """Returns the messages of a refused request as they fit after all. `error` is the exception, its text, or the body of the
    provider's answer. What it says about the tokens of the request and of the limit tells how much the provider counts for a
    token of germane's, and so how much must go; where it says nothing, half of the tokens go. All else as for `compact`."""
    given = compactable(
        messages,
        model=model,
        max_tokens=max_tokens,
        provider=provider,
        system=system,
        tools=tools,
        strategy=strategy,
        archive=archive,
        low_water=low_water,
        max_messages=max_messages,
    )
    measure = given.terms.measure
    tokens = measure.fixed(system, given.terms.tools) + sum(
        measure.message(message, raw).cost for message, raw in zip(given.messages, given.raws, strict=True)
    )
    told = read_overflow(error)
    if told.most is None:
        allowed = tokens // 2
    elif told.used is None:
        allowed = min(int(told.most * _MARGIN), int(tokens * _MARGIN))
    else:
        allowed = int(tokens * told.most / told.used * _MARGIN)
    terms = replace(given.terms, max_tokens=min(given.terms.max_tokens, allowed))
    return compacted(replace(given, terms=terms), archive, summaries)


# Checks of what a caller passes.


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
    name = profile.provider if provider is None else check_text("provider", provider, NAME)
    dialect(name)
    if not isinstance(strategy, get_args(CompactionStrategy)):
        raise InvalidInput("must be Truncate, Summarise, Importance or TimeDecay, not {}", strategy, path="strategy")
    check_number("low_water", low_water, 0, 1)
    if max_messages is not None:
        check_whole_number("max_messages", max_messages, low=1)
    counter = tokenizer(profile.tokenizer)
    measure = Measure(profile, counter, name)
    if max_tokens is None:
        size = max(1, request_room(profile, counter))
    else:
        size = check_whole_number("max_tokens", max_tokens, high=COUNT.maximum)
    system_prompt(system, name)
    schemas = _tools(tools)
    raws = check_conversation(messages, MESSAGES)
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
    (seen,) = check_messages([raw], Extent("messages", CHARACTERS), first=index)
    (message,) = parse_all([seen], provider, first=index)
    return seen, message


def _tools(tools: object) -> tuple[Mapping[str, Any], ...]:
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Sequence):
        raise InvalidInput("must be a list of tool schemas, not {}", tools, path="tools")
    check_size("tools", len(tools), TOOLS)
    for index, tool in enumerate(tools):
        check_type(f"tools[{index}]", tool, Mapping, "a tool's schema as a dict")
    return tuple(tools)


# One tokenizer for each vocabulary and process, with one cache of counts.


@cache
def tokenizer(name: str) -> Tokenizer:
    """Returns the tokenizer of that name. Raises `UnknownName`."""
    return open_tokenizer(name)
