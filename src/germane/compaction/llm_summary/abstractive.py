"""Abstractive summary: what happened in a span, in a language model's words, chunk by chunk (HIST-2, HIST-3).

The language model is asked about at most `chunk_size` messages at once, each time with the summary so far, and never about
more than its window takes. Its answer is data: `acceptance.py` decides whether it is accepted. If it isn't, the extractive
summary takes its place. The prose replaces the outline alone; constraints and the ledger are those of the rules.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from germane.catalog.profiles import Catalog
from germane.compaction.llm_summary.acceptance import MustKeep, Replaced, rejection, rejection_beside_pinned, tidy
from germane.compaction.notes import ExchangeNotes, SpanSummary
from germane.compaction.summary_text import extractive_summary, pinned_tokens, prose_lines, told_summary
from germane.ports.models import DATA_RULE, LLM, ModelAnswer, ask_llm, between, new_word
from germane.text.secrets.detection import find_secrets, redacted
from germane.text.summary import summarise
from germane.text.templates import json_line
from germane.types.message import Image, Message, Text, ToolCall, ToolResult

_ANSWER_ALLOWANCE = 1.25
"""Tokens that an answer may have for each one that is asked for: the language model's own tokens differ, and a cut one is
lost."""
_WINDOW_SHARE = 0.75
"""Share of the language model's window that is filled, as the tokens are counted for another model."""
_MIN_ROOM = 256
"""Tokens of messages in a prompt at least: with a window that is smaller still, the endpoint refuses."""
_MIN_SHARE = 0.25
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
        limit = max(int(_MIN_SHARE * max_tokens), max_tokens - pinned)
        answer = int(_ANSWER_ALLOWANCE * limit) + 1
        beside = answer + count(summary_instructions(self._word(), limit)) + max(limit, count(earlier))
        room = max(_MIN_ROOM, int(_WINDOW_SHARE * (self._window - beside)))
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
            return rejection_beside_pinned(prose, told_summary(lines, notes, max_tokens, count), must_keep)

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
        answer = await ask_llm(self.llm, instructions, prompt, word=word, max_tokens=self.answer, patience=self.patience)
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
        prose = tidy(answer)
        fault = rejection(answer, prose, self.replaced, max_tokens=self.limit, count=self.count, instructions=instructions)
        return _Prose("", fault) if fault else _Prose(prose)


# The prompt: what the language model is asked about a chunk of a conversation, whose messages are data in it.


_MAX_OUTPUT, _MAX_ARGUMENTS = 2_000, 1_000
"""Characters of an output and of a call's arguments that are sent while the chunk isn't too large: the beginning and the
end."""
_MAX_MASKED = 120
"""Characters of the same that are left where it is."""
_MAX_SENT = 200_000
"""Characters of one chunk."""
_SYSTEM = """\
You keep the summary of a conversation between a user and an assistant. The assistant goes on working with your summary in place
of the messages. Between two lines that hold only the word {word} stand, one JSON object in a line, the summary so far, if there
is one, and the messages that follow it.
{data}

Write one new summary of at most {words} words that holds what the summary so far says, as far as it still matters, and what the
messages add: what the user wants and demands; what was done, to which files, and how it ended; what was decided and why; errors
and what resolved them; what is still open. Copy names, numbers, dates, paths, addresses, identifiers and error messages letter
by letter. Never write a number, a path or an identifier that doesn't stand there: don't count, add up, convert or guess. Report
in the third person ("the user", "the assistant"), in plain sentences, in the order in which things happened, in the language of
the conversation. No headings, no tags, no code, no lines that begin with a speaker and a colon, no instructions, and nothing
that isn't in the messages. Leave out greetings and repetitions. Answer with the summary alone."""
_WORDS_PER_TOKEN, _SPARE = 0.6, 0.85
"""Words of English per token, rounded down; and the share of the tokens that are asked for, as models don't count well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentTurn:
    """A message as it is sent. `texts` is what it says, `line` the same as a line of the prompt."""

    message: Message
    texts: tuple[str, ...]
    line: str


def summary_instructions(word: str, max_tokens: int) -> str:
    """Returns the instructions. `word` is one that the messages can't know."""
    return _SYSTEM.format(word=word, data=DATA_RULE, words=max(10, int(_WORDS_PER_TOKEN * _SPARE * max_tokens)))


def summary_prompt(earlier: str, messages: Sequence[SentTurn], word: str) -> str:
    """Returns the summary so far and the messages, as data."""
    lines = [json_line({"summary so far": earlier})] if earlier else []
    return between(word, "\n".join((*lines, *(message.line for message in messages))))


def sent_turn(message: Message, *, masked: bool = False) -> SentTurn:
    """Returns a message as it is sent: without secrets, its outputs and arguments shortened, or `masked`: a line of each."""
    said, calls, results = list[str](), list[str](), list[str]()
    for part in message.parts:
        match part:
            case Text(text):
                said.append(_sendable(text))
            case ToolCall():
                calls.append(f"{part.name}({_sendable(_ends(part.arguments, _MAX_MASKED if masked else _MAX_ARGUMENTS))})")
            case ToolResult():
                failed = "failed: " if part.error else ""
                results.append(failed + _sendable(_ends(part.text, _MAX_MASKED if masked else _MAX_OUTPUT)))
            case Image():
                said.append("[image]")
    return _written(message, said, calls, results)


def chunks(
    messages: Sequence[Message], size: int, room: int, count: Callable[[str], int], *, masked: bool = False
) -> Iterator[tuple[SentTurn, ...]]:
    """Yields the messages in chunks of at most `size` messages and `room` tokens. Where the messages of a chunk don't fit,
    their outputs are masked first, then the chunk is cut in two, and of a single message its best sentences are sent."""
    for start in range(0, len(messages), max(1, size)):
        yield from _fitting(messages[start : start + max(1, size)], room, count, masked)


def _fitting(
    messages: Sequence[Message], room: int, count: Callable[[str], int], masked: bool
) -> Iterator[tuple[SentTurn, ...]]:
    for mask in (True,) if masked else (False, True):
        made = tuple(sent_turn(message, masked=mask) for message in messages)
        if _fits(made, room, count):
            yield made
            return
    if len(messages) > 1:
        middle = len(messages) // 2
        yield from _fitting(messages[:middle], room, count, True)
        yield from _fitting(messages[middle:], room, count, True)
    else:
        yield (_shortened(messages[0], room, count),)


def _fits(made: Sequence[SentTurn], room: int, count: Callable[[str], int]) -> bool:
    written = "\n".join(one.line for one in made)
    return len(written) <= _MAX_SENT and count(written) <= room


def _shortened(message: Message, room: int, count: Callable[[str], int]) -> SentTurn:
    """One message that doesn't fit by itself: as many of its best sentences as do, each part of JSON counted twice."""
    whole = sent_turn(message, masked=True)
    text = "\n".join(whole.texts)[:_MAX_SENT]
    made = summarise(text, max(1, room // 2), lambda part: count(json_line(part)), reach=_MAX_SENT, least=1)
    return _written(message, ["" if made is None else made.text], (), ())


def _written(message: Message, said: Sequence[str], calls: Sequence[str], results: Sequence[str]) -> SentTurn:
    fields: dict[str, object] = {"role": message.role}
    if message.name:
        fields["name"] = _sendable(message.name)
    if message.created_at is not None:
        fields["at"] = message.created_at.strftime("%Y-%m-%d %H:%M")
    if text := "\n".join(filter(None, said)):
        fields["text"] = text
    if calls:
        fields["calls"] = list(calls)
    if results:
        fields["results"] = list(results)
    about = (str(fields.get("name", "")), str(fields.get("at", "")))
    return SentTurn(message=message, texts=tuple(filter(None, (*about, *said, *calls, *results))), line=json_line(fields))


def _ends(text: str, characters: int) -> str:
    """The text; of a longer one two thirds of so many characters from its beginning, and a third from its end."""
    if len(text) <= characters:
        return text
    last = characters // 3
    return f"{text[: characters - last]} … {text[-last:]}"


def _sendable(text: str) -> str:
    return redacted(text, find_secrets(text))
