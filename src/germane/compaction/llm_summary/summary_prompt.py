"""Summary prompt: what a language model is asked about a chunk of a conversation, whose messages are data in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from germane.ports.asking import DATA_RULE, between
from germane.text.json_line import json_line
from germane.text.secrets.find import find_secrets
from germane.text.secrets.redact import redacted
from germane.text.summary import summarise
from germane.types.message import Image, Message, Text, ToolCall, ToolResult

__all__ = ["SentTurn", "chunks", "sent", "summary_instructions", "summary_prompt"]

_OUTPUT, _ARGUMENTS = 2_000, 1_000
"""Characters of an output and of a call's arguments that are sent while the chunk isn't too large: the beginning and the
end."""
_MASKED = 120
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


def sent(message: Message, *, masked: bool = False) -> SentTurn:
    """Returns a message as it is sent: without secrets, its outputs and arguments shortened, or `masked`: a line of each."""
    said, calls, results = list[str](), list[str](), list[str]()
    for part in message.parts:
        match part:
            case Text(text):
                said.append(_sendable(text))
            case ToolCall():
                calls.append(f"{part.name}({_sendable(_ends(part.arguments, _MASKED if masked else _ARGUMENTS))})")
            case ToolResult():
                failed = "failed: " if part.error else ""
                results.append(failed + _sendable(_ends(part.text, _MASKED if masked else _OUTPUT)))
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
        made = tuple(sent(message, masked=mask) for message in messages)
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
    whole = sent(message, masked=True)
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
