"""Abstractive summary: a span's summary in a language model's words, chunk by chunk, or the extractive one (HIST-2, HIST-3).

The language model is asked about at most `chunk_size` messages at once, each time with the summary so far, and never about more
than its window takes. What it answers is data: it is accepted by `acceptance.py`, or the extractive summary stands in its
place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from germane.catalog.catalog import Catalog
from germane.compaction.acceptance import MustKeep, Replaced, refused, tidied
from germane.compaction.extractive import extractive_summary
from germane.compaction.notes import ExchangeNotes
from germane.compaction.summary import SpanSummary
from germane.compaction.summary_prompt import SentMessage, chunks, summary_instructions, summary_prompt
from germane.ports.asking import Answer, ask, new_word
from germane.ports.llm import LLM
from germane.types.message import Message

__all__ = ["abstract"]

_ANSWER = 1.25
"""Tokens that an answer may have for each of `max_tokens`: the language model's own tokens differ, and a cut answer is lost."""
_MATCH = 0.75
"""Share of the language model's window that is filled, as the tokens are counted for another model."""
_MIN_ROOM = 256
"""Tokens of messages in a prompt at least: with a window that is smaller still, the endpoint refuses."""
Count = Callable[[str], int]


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
    word: Callable[[], str] = new_word,
) -> SpanSummary:
    """Returns the summary of what `earlier` says and of the `messages` that follow it, of at most `max_tokens` tokens by
    `count`, in the language model's words, or else extractive, with a `note` that says why.

    `notes` are those of all exchanges before the index `covers`, also of those that `earlier` stands for: constraints and
    artifacts among them are pinned beside the summary. `patience` is in seconds for each question. `window` is the language
    model's, in tokens; by default the catalog's for `llm.name`, and 8,192 for a model that it doesn't know. `word` returns a
    word that no content can know. Raises nothing but cancellation, as long as `count` doesn't raise."""
    extractive = await asyncio.to_thread(extractive_summary, notes, max_tokens, count)
    asked = _Asked(llm, max_tokens, count, chunk_size, patience, _window(llm) if window is None else window, word)
    try:
        text, note = await asked.about(messages, earlier, notes, extractive)
    except Exception as error:
        text, note = "", f"the summary failed: {type(error).__name__}"
    return SpanSummary(
        text=extractive if note else text,
        covers=covers,
        tokens=count(extractive if note else text),
        method="extractive" if note else "llm",
        ids=ids,
        note=note,
    )


class _Asked:
    """One language model, asked step by step. A step returns the new summary, and why there is none."""

    def __init__(
        self, llm: LLM, max_tokens: int, count: Count, chunk_size: int, patience: float, window: int, word: Callable[[], str]
    ) -> None:
        self._llm, self._max_tokens, self._count = llm, max_tokens, count
        self._chunk_size, self._patience, self._word = chunk_size, patience, word
        self._answer = int(_ANSWER * max_tokens) + 1
        beside = self._answer + max_tokens + count(summary_instructions(word(), max_tokens))
        self._room = max(_MIN_ROOM, int(_MATCH * (window - beside)))

    async def about(
        self, messages: Sequence[Message], earlier: str, notes: Sequence[ExchangeNotes], extractive: str
    ) -> tuple[str, str]:
        made = await asyncio.to_thread(lambda: list(chunks(messages, self._chunk_size, self._room, self._count)))
        made = [chunk for chunk in made if any(message.texts for message in chunk)]
        if not made:
            return "", "there is nothing that a language model could sum up"
        replaced = await asyncio.to_thread(Replaced, earlier, notes, self._count)
        must_keep = await asyncio.to_thread(MustKeep, extractive, earlier, notes)
        text = earlier
        for number, chunk in enumerate(made, start=1):
            text, note = await self._step(text, chunk, replaced, must_keep if number == len(made) else None)
            if note:
                return "", note
        return text, ""

    async def _step(
        self, earlier: str, chunk: Sequence[SentMessage], replaced: Replaced, must_keep: MustKeep | None
    ) -> tuple[str, str]:
        """One chunk. Where the endpoint says that it is too much, its halves, once, with their outputs masked."""
        answer, instructions = await self._ask(earlier, chunk)
        parts: list[Sequence[SentMessage]] = [chunk]
        if answer.too_long:
            parts = await asyncio.to_thread(self._halves, chunk)
        for number, part in enumerate(parts, start=1):
            if answer.too_long or number > 1:
                answer, instructions = await self._ask(earlier, part)
            if answer.fault:
                return "", answer.fault
            last = must_keep if number == len(parts) else None
            earlier, note = await asyncio.to_thread(self._checked, answer.text, instructions, part, replaced, last)
            if note:
                return "", note
        return earlier, ""

    async def _ask(self, earlier: str, chunk: Sequence[SentMessage]) -> tuple[Answer, str]:
        """The answer, and the instructions that it followed, both without the word."""
        word = self._word()
        instructions = summary_instructions(word, self._max_tokens)
        prompt = summary_prompt(earlier, chunk, word)
        answer = await ask(self._llm, instructions, prompt, word=word, max_tokens=self._answer, patience=self._patience)
        return answer, instructions.replace(word, "")

    def _halves(self, chunk: Sequence[SentMessage]) -> list[Sequence[SentMessage]]:
        messages = [one.message for one in chunk]
        return list(chunks(messages, -(-len(messages) // 2), self._room // 2, self._count, masked=True))

    def _checked(
        self, answer: str, instructions: str, chunk: Sequence[SentMessage], replaced: Replaced, must_keep: MustKeep | None
    ) -> tuple[str, str]:
        replaced.add([text for message in chunk for text in message.texts], self._count)
        text = tidied(answer)
        note = refused(
            answer,
            text,
            replaced,
            max_tokens=self._max_tokens,
            count=self._count,
            instructions=instructions,
            must_keep=must_keep,
        )
        return ("", note) if note else (text, "")


def _window(llm: LLM) -> int:
    """Returns the window of the model that stands behind the colon of a name such as `openai:gpt-4o-mini`."""
    return Catalog.built_in().find(str(llm.name).partition(":")[2]).window
