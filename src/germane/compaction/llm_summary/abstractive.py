"""Abstractive summary: what happened in a span, in a language model's words, chunk by chunk, or extractive (HIST-2, HIST-3).

The language model is asked about at most `chunk_size` messages at once, each time with the summary so far, and never about more
than its window takes. What it answers is data: it is accepted by `acceptance.py`, or the extractive summary stands in its
place. Its prose replaces the outline alone; constraints and the ledger are those of the rules.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from germane.catalog.catalog import Catalog
from germane.compaction.extractive import extractive_summary
from germane.compaction.llm_summary.acceptance import MustKeep, Replaced, dropped, refused, tidied
from germane.compaction.llm_summary.summary_prompt import SentTurn, chunks, summary_instructions, summary_prompt
from germane.compaction.llm_summary.told_summary import pinned_tokens, prose_lines, told_summary
from germane.compaction.notes import ExchangeNotes
from germane.compaction.summary import SpanSummary
from germane.ports.asking import ModelAnswer, ask, new_word
from germane.ports.llm import LLM
from germane.types.message import Message

__all__ = ["TellingModel", "ToldSpan", "abstract"]

_ANSWER = 1.25
"""Tokens that an answer may have for each one that is asked for: the language model's own tokens differ, and a cut one is
lost."""
_MATCH = 0.75
"""Share of the language model's window that is filled, as the tokens are counted for another model."""
_MIN_ROOM = 256
"""Tokens of messages in a prompt at least: with a window that is smaller still, the endpoint refuses."""
_LEAST_SHARE = 0.25
"""Share of a summary's tokens that the prose has at least: constraints and a ledger that are larger leave it as much."""
Count = Callable[[str], int]


class ToldSpan(NamedTuple):
    """A language model's sentences, accepted; where there are none, `fault` says why, without any content."""

    lines: tuple[str, ...] = ()
    fault: str = ""


class _Prose(NamedTuple):
    text: str
    fault: str = ""


async def abstract(
    llm: LLM,
    messages: Sequence[Message],
    *,
    notes: Sequence[ExchangeNotes],
    earlier: str,
    max_tokens: int,
    count: Count,
    covers: int,
    ids: tuple[str, ...] = (),
    chunk_size: int = 50,
    patience: float = 60.0,
    window: int | None = None,
) -> SpanSummary:
    """Returns what happened in the language model's words, a sentence a line: what `earlier` says and the `messages` that
    follow it. It stands for the lines of the `notes`, which are those of all exchanges before the index `covers`; their
    constraints and artifacts belong beside it (`told_summary`), and both together have at most `max_tokens` tokens by `count`.
    Where its text isn't accepted, returns the extractive summary of all notes, with a `note` that says why.

    The other arguments are those of `TellingModel`. Raises nothing but cancellation, as long as `count` doesn't raise."""
    model = TellingModel(llm, chunk_size=chunk_size, patience=patience, window=window)
    told = await model.tell(messages, notes=notes, earlier=earlier, max_tokens=max_tokens, count=count)
    text = "\n".join(told.lines)
    if told.fault:
        text = await asyncio.to_thread(extractive_summary, notes, max_tokens, count)
    return SpanSummary(
        text=text, covers=covers, tokens=count(text), method="extractive" if told.fault else "llm", ids=ids, note=told.fault
    )


class TellingModel:
    """A language model that tells what happened. `patience` is in seconds for each question. `window` is the model's, in
    tokens; by default the catalog's for the name behind the colon of `llm.name`, and 8,192 for one that it doesn't know. `word`
    returns a word that no content can know."""

    def __init__(
        self,
        llm: LLM,
        *,
        chunk_size: int = 50,
        patience: float = 60.0,
        window: int | None = None,
        word: Callable[[], str] = new_word,
    ) -> None:
        self._llm, self._chunk_size, self._patience, self._word = llm, chunk_size, patience, word
        self._window = Catalog.built_in().find(str(llm.name).partition(":")[2]).window if window is None else window

    async def tell(
        self, messages: Sequence[Message], *, notes: Sequence[ExchangeNotes], earlier: str, max_tokens: int, count: Count
    ) -> ToldSpan:
        """Returns the sentences that stand for `earlier` and the `messages`, in a summary of `max_tokens` tokens with what is
        pinned of `notes`. Raises nothing but cancellation."""
        try:
            return await self._told(messages, notes, earlier, max_tokens, count)
        except Exception as error:
            return ToldSpan(fault=f"the summary failed: {type(error).__name__}")

    async def _told(
        self, messages: Sequence[Message], notes: Sequence[ExchangeNotes], earlier: str, max_tokens: int, count: Count
    ) -> ToldSpan:
        pinned = await asyncio.to_thread(pinned_tokens, notes, max_tokens, count)
        limit = max(int(_LEAST_SHARE * max_tokens), max_tokens - pinned)
        answer = int(_ANSWER * limit) + 1
        beside = answer + count(summary_instructions(self._word(), limit)) + max(limit, count(earlier))
        room = max(_MIN_ROOM, int(_MATCH * (self._window - beside)))
        sent = await asyncio.to_thread(lambda: list(chunks(messages, self._chunk_size, room, count)))
        sent = [chunk for chunk in sent if any(message.texts for message in chunk)]
        if not sent:
            return ToldSpan(fault="there is nothing that a language model could sum up")
        replaced = await asyncio.to_thread(Replaced, earlier, notes, count)
        question = _Question(self._llm, self._patience, self._word, limit, answer, room, count, replaced)
        prose = earlier
        for chunk in sent:
            prose, fault = await question.about(prose, chunk)
            if fault:
                return ToldSpan(fault=fault)
        lines = prose_lines(prose)

        def checked() -> str:
            must_keep = MustKeep(extractive_summary(notes, max_tokens, count), earlier, notes)
            return dropped(prose, told_summary(lines, notes, max_tokens, count), must_keep)

        fault = await asyncio.to_thread(checked)
        return ToldSpan(fault=fault) if fault else ToldSpan(lines)


class _Question(NamedTuple):
    """One span that a language model is asked about, chunk by chunk."""

    llm: LLM
    patience: float
    word: Callable[[], str]
    limit: int
    """Tokens of the prose."""
    answer: int
    """Tokens that the answer may have."""
    room: int
    """Tokens of the messages in one question."""
    count: Count
    replaced: Replaced

    async def about(self, earlier: str, chunk: Sequence[SentTurn]) -> _Prose:
        """Asks about one chunk. Where the endpoint says that it is too much, about its parts, once, with their outputs
        masked."""
        answer, instructions = await self._ask(earlier, chunk)
        if not answer.too_long:
            return await self._accepted(answer, instructions, chunk)
        told = _Prose(earlier)
        for part in await asyncio.to_thread(self._parts, chunk):
            answer, instructions = await self._ask(told.text, part)
            told = await self._accepted(answer, instructions, part)
            if told.fault:
                break
        return told

    async def _ask(self, earlier: str, chunk: Sequence[SentTurn]) -> tuple[ModelAnswer, str]:
        """The answer, and the instructions that it followed, both without the word."""
        word = self.word()
        instructions = summary_instructions(word, self.limit)
        prompt = summary_prompt(earlier, chunk, word)
        answer = await ask(self.llm, instructions, prompt, word=word, max_tokens=self.answer, patience=self.patience)
        return answer, instructions.replace(word, "")

    def _parts(self, chunk: Sequence[SentTurn]) -> list[tuple[SentTurn, ...]]:
        """The chunk as two of half its messages, or as more where they don't fit half of its room."""
        messages = [one.message for one in chunk]
        return list(chunks(messages, -(-len(messages) // 2), self.room // 2, self.count, masked=True))

    async def _accepted(self, answer: ModelAnswer, instructions: str, chunk: Sequence[SentTurn]) -> _Prose:
        return (
            _Prose("", answer.fault)
            if answer.fault
            else await asyncio.to_thread(self._checked, answer.text, instructions, chunk)
        )

    def _checked(self, answer: str, instructions: str, chunk: Sequence[SentTurn]) -> _Prose:
        self.replaced.add([text for message in chunk for text in message.texts], self.count)
        for one in chunk:
            said = one.message.text if one.message.role == "user" else one.message.content
            self.replaced.grounds.add(said, one.message.role)
        prose = tidied(answer)
        fault = refused(answer, prose, self.replaced, max_tokens=self.limit, count=self.count, instructions=instructions)
        return _Prose("", fault) if fault else _Prose(prose)
