"""Expand: one call of `expand` or `compress`: the whole of what a line of a context stands for, or a shorter text.

`expand` reads a task's result, a message, a memory, or what was archived. `compress` makes one text fit into a number of
tokens, by a language model that may be asked, else by the text's own sentences. It never runs inside an assembly: a language
model takes seconds, and an assembly has milliseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from germane.api.arguments import named_model, normalise_filters
from germane.api.contents import find_thing
from germane.api.verbs.build import ADDITIONAL
from germane.api.wiring import Parts
from germane.errors import InvalidInput, NotFound
from germane.kinds.blocks.reads import FirstNamed, SeenEntries
from germane.kinds.blocks.value import stored_id
from germane.kinds.conversations.messages import entry_text
from germane.kinds.conversations.reads import EntriesByHandle
from germane.kinds.events.reads import SeenEvents
from germane.kinds.inventory import AllowedIds
from germane.kinds.memories.reads import SeenMemories
from germane.kinds.memories.value import Memory
from germane.kinds.tasks.reads import FramesById
from germane.kinds.tasks.value import TaskArtifact, TaskFrame
from germane.ports.models import DATA_RULE, LLM, ModelAnswer, Tokenizer, ask_llm, between, new_word
from germane.stores.contract import ScopedStore
from germane.text.summary import summarise
from germane.text.terms import query_terms
from germane.types.budget import CompressedText, TokenCount
from germane.types.candidate import Chosen
from germane.types.checks import check_flags, check_optional_text, check_text, check_whole_number
from germane.types.context import BuiltContext, Context
from germane.types.limits import CHARACTERS, COUNT, QUERY
from germane.types.query import Filters
from germane.types.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """The whole text of a stored thing. `kind` is task, memory, message, block, entry, archived (what a compaction took out),
    or the category of another item of the context; `artifacts` are what a task points to: each can be expanded by its id."""

    id: str
    kind: str
    title: str = ""
    text: str
    artifacts: tuple[TaskArtifact, ...] = ()

    def __repr__(self) -> str:
        return f"<Expanded {self.kind} {self.id} {len(self.text)} chars>"


async def expand_item(
    parts: Parts, scope: Scope, handle: str, context: Context | BuiltContext | None, filters: Filters | None = None
) -> Expanded:
    """Returns what `handle` stands for: a handle of `context`, one of an artifact (`m3.1`), or an id, as far as it may be
    shown now: by the store's own rules, and by `filters`, which are those of the context where none are given. Raises
    `NotFound`, and `InvalidInput` where several things begin with that id."""
    store, at, filters = parts.store.within(scope), parts.clock.now(), normalise_filters(filters, scope.zone)
    id, number = _named(handle, context)
    item: Chosen | None = None
    if context is not None:
        item = next((one for one in context.items if one.id == id), None)
        query = context.trace.query
        if query is not None:
            filters, at = filters or query.filters, query.at if query.dated else at
    wanted = filters or Filters()
    if item is not None and number is None and item.scored.candidate.only_from(_own(parts, context)):
        return _as_shown(item)
    if (frame := await _task(store, id, wanted)) is not None:
        if number is None:
            return _of_task(frame, frame.result if frame.result and not frame.open else frame.goal)
        if not 1 <= number <= len(frame.artifacts):
            raise NotFound(f"the task of {{}} has {len(frame.artifacts)} artifacts, counted from 1", handle)
        id, item = frame.artifacts[number - 1].id, None
        if (other := await _task(store, id, wanted)) is not None:
            return _of_task(other, other.result or other.goal)
    elif number is not None:
        raise NotFound("{} names an artifact, and the line isn't that of a task", handle)
    return (
        await _thing(store, id, at, wanted) or await _archived(store, id, wanted) or await _other(store, id, item, at, wanted)
    )


def _named(handle: str, context: Context | BuiltContext | None) -> tuple[str, int | None]:
    """The id that a handle stands for, and the number of the artifact that it names."""
    if context is None:
        return handle, None
    if not isinstance(context, Context | BuiltContext):
        raise InvalidInput(f"must be what assemble or build returned, not {type(context).__name__}", path="context")
    known = context.attribution
    if handle in known:
        return known[handle], None
    line, point, number = handle.rpartition(".")
    if point and line in known and 0 < len(number) <= 9 and number.isascii() and number.isdecimal():
        return known[line], int(number)
    return handle, None


def _as_shown(item: Chosen) -> Expanded:
    candidate = item.scored.candidate
    return Expanded(id=item.id, kind=candidate.category, title=candidate.title, text=candidate.text)


def _of_task(frame: TaskFrame, text: str) -> Expanded:
    return Expanded(id=frame.id, kind="task", title=frame.goal, text=text, artifacts=frame.artifacts)


async def _task(store: ScopedStore, name: str, filters: Filters) -> TaskFrame | None:
    id = stored_id(name)
    frame = (await store.ask(FramesById((id,)))).get(id)
    return frame if frame is not None and frame.sensitivity in filters.sensitivities else None


async def _thing(store: ScopedStore, name: str, at: datetime, filters: Filters) -> Expanded | None:
    """What has exactly this id and may be shown; None where nothing has."""
    id = stored_id(name)
    if not await store.ask(AllowedIds([name, id], at, filters)):
        return None
    for event in await store.ask(SeenEvents([id])):
        return Expanded(id=id, kind="message", title=event.name or event.role, text=event.text)
    for memory in await store.ask(SeenMemories([id])):
        return Expanded(id=id, kind="memory", title=memory.kind, text=memory.text)
    for entry in await store.ask(SeenEntries([id])):
        return Expanded(id=id, kind="entry", text=entry.text)
    for block in await store.ask(FirstNamed([id])):
        return Expanded(id=id, kind="block", title=block.label, text=block.text)
    return None


async def _archived(store: ScopedStore, handle: str, filters: Filters) -> Expanded | None:
    """What a compaction took out of a prompt, by its handle; it is private."""
    found = await store.ask(EntriesByHandle([handle])) if "private" in filters.sensitivities else ()
    return Expanded(id=handle, kind="archived", title=found[0].entry.title, text=entry_text(found[0].entry)) if found else None


async def _other(store: ScopedStore, name: str, item: Chosen | None, at: datetime, filters: Filters) -> Expanded:
    """What the context shows and is no text of its own, such as a relation; else what the beginning of an id, or a caller's own
    id of a message, stands for."""
    if item is not None:
        allowed = await store.ask(AllowedIds([name], at, filters))
        if allowed:
            return _as_shown(item)
    thing = await find_thing(store, name)
    if not await store.ask(AllowedIds([thing.id], at, filters)):
        raise NotFound("nothing that {} stands for is here: it was forgotten, has ended, or isn't yours to see", name)
    if isinstance(thing, Memory):
        return Expanded(id=thing.id, kind="memory", title=thing.kind, text=thing.text)
    return Expanded(id=thing.id, kind="message", title=thing.name or thing.role, text=thing.text)


def _own(parts: Parts, context: Context | BuiltContext | None) -> frozenset[str]:
    """The sources whose items aren't the store's: those that were registered, and what a caller gave to `build`."""
    given = {ADDITIONAL} if isinstance(context, BuiltContext) else set[str]()
    return frozenset({*parts.engine.sources, *given})


# One call of `compress`, and the count of a text's tokens.


T = TypeVar("T")

_MAX_INLINE = 16_384
"""Characters of a text that is counted and shortened on the event loop; a longer one in a thread."""
_MAX_COUNTED = 1_000_000
"""Characters of a text that is counted: of a longer one the upper bound from its size is given, as counting takes seconds."""
_MAX_READ = 200_000
"""Characters of a text that are read for its summary: of a longer one its beginning, samples, and its end."""
_MAX_ASKED = 200_000
"""Characters of a text that is sent to a language model."""
_LLM_SECONDS = 60.0
"""Seconds that a language model has."""
_SYSTEM = """\
You shorten one text to at most {tokens} tokens. The text stands between two lines that hold only the word {word}.
{data}
Keep names, numbers, dates, paths, identifiers, error messages, decisions and what is still to be done, word for word where you
can. Leave out greetings, repetitions and what follows from the rest. Write in the language of the text. Add nothing that isn't
in it. {query}Answer with the shortened text alone."""
_QUERY = "What matters most is what helps with the request that stands after the text. "


async def estimate_tokens(parts: Parts, content: str, model: str) -> TokenCount:
    """See `Agent.estimate_tokens`."""
    return await _token_count(check_text("content", content, CHARACTERS, valid=False), _tokenizer(parts, model))


async def compress(
    parts: Parts, content: str, max_tokens: int, *, model: str, query: str | None, use_llm: bool | None
) -> CompressedText:
    """See `Agent.compress`."""
    check_text("content", content, CHARACTERS)
    check_whole_number("max_tokens", max_tokens, high=COUNT.maximum)
    check_optional_text("query", query, QUERY)
    worker = parts.extraction_worker
    if use_llm is not None:
        check_flags(use_llm=use_llm)
    if use_llm and worker is None:
        raise InvalidInput(
            "needs a language model, and none is configured",
            path="use_llm",
            advice="open with Germane.open(…, llm=…), or leave it out",
        )
    return await _compressed(
        content,
        max_tokens,
        _tokenizer(parts, model),
        terms=[] if query is None else [term.word for term in query_terms(query)],
        query=query or "",
        llm=None if worker is None or use_llm is False else worker.llm,
    )


def _tokenizer(parts: Parts, model: str) -> Tokenizer:
    return parts.engine.tokenizer(parts.catalog.find(named_model(model)).tokenizer)


async def _token_count(text: str, tokenizer: Tokenizer) -> TokenCount:
    """Returns the tokens of a text: counted, or of a very long one an upper bound."""
    if len(text) > _MAX_COUNTED:
        return TokenCount(tokens=tokenizer.ceiling(text), exact=False, tokenizer=tokenizer.name)
    tokens = await _aside(text, lambda: tokenizer.count(text))
    return TokenCount(tokens=tokens, exact=tokenizer.exact, tokenizer=tokenizer.name)


async def _compressed(
    text: str, max_tokens: int, tokenizer: Tokenizer, *, terms: Sequence[str] = (), query: str = "", llm: LLM | None = None
) -> CompressedText:
    """Returns the text within `max_tokens`: as it is where it fits, else as `llm` shortens it, else its own sentences, those
    with `terms` first. An answer of the language model's that is empty, too long or not shorter isn't used. Raises nothing that
    a language model raises."""
    before = (await _token_count(text, tokenizer)).tokens
    if before <= max_tokens:
        return CompressedText(text=text, tokens=before, original_tokens=before, method="whole", share=1.0)
    note = ""
    if llm is not None:
        answer = await _ask_llm(llm, text, max_tokens, query)
        tokens = tokenizer.count(answer.text) if len(answer.text) <= _MAX_ASKED else before
        if 0 < tokens <= max_tokens and not answer.fault:
            share = min(1.0, len(answer.text) / len(text))
            return CompressedText(text=answer.text, tokens=tokens, original_tokens=before, method="llm", share=share)
        note = answer.fault or "the language model's answer was too long"
    own = await _aside(text, lambda: summarise(text, max_tokens, tokenizer.count, terms=terms, reach=_MAX_READ, least=1))
    shown = "" if own is None else own.text
    return CompressedText(
        text=shown,
        tokens=tokenizer.count(shown) if shown else 0,
        original_tokens=before,
        method="extractive",
        share=len(shown) / len(text),
        note=note,
    )


async def _ask_llm(llm: LLM, text: str, max_tokens: int, query: str) -> ModelAnswer:
    if len(text) > _MAX_ASKED:
        return ModelAnswer(fault=f"the text has more than the {_MAX_ASKED:,} characters that a language model is sent")
    word = new_word()
    system = _SYSTEM.format(tokens=max_tokens, word=word, data=DATA_RULE, query=_QUERY if query else "")
    prompt = between(word, text) + (f"\n\nThe request:\n{query}" if query else "")
    return await ask_llm(llm, system, prompt, word=word, max_tokens=max_tokens, patience=_LLM_SECONDS)


async def _aside(text: str, work: Callable[[], T]) -> T:
    return work() if len(text) <= _MAX_INLINE else await asyncio.to_thread(work)
