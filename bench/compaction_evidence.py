"""Compaction evidence: how much of what questions need is still in a conversation after it was compacted.

    python -m bench compaction-evidence ../shared/data/locomo-dev [--shares 10 25 50] [--half tune] [--only Importance]

Each conversation of the data set is one list of messages, all sessions in a row, and is compacted to shares of its tokens (the
model's count). Of two people who talk, the one who speaks first is the user, the other the assistant; both keep their names.
What is left is compared with the labels, in percent:

- *evidence*: messages that questions name as their evidence, and that stand in the result whole
- *its words*: evidence messages whose sentence that says most of the answer is there in words: one sentence or line of the
  result has every content word that it shares with the answer, but for those that the question gives away
- *answers*: answers that stand in the conversation word for word, and still do
- *answer's words*: the mean share of an answer's content words in the result, wherever they stand

The first row is plain truncation: the newest messages that fit, whole. Compactions leave `--low-water` of the tokens, so that
all are compared at about the same size; by default they would leave a half, to move seldom. The conversations have no tool
outputs, so that masking can change nothing; `--unmasked` compacts without it, to show that. `--half tune` takes every second
conversation, `--half held-out` the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from bench.machine import describe
from germane.catalog.profiles import Catalog
from germane.catalog.request_tokens import message_tokens
from germane.compaction.strategy import CompactionStrategy, Importance, Summarise, TimeDecay, Truncate
from germane.integrations import compact
from germane.models.tokenizers import open_tokenizer
from germane.ports.models import Tokenizer
from germane.text.clauses import sentences
from germane.text.terms import analyse, query_terms
from germane.types.message import Message
from germane_eval.answers import contained, words_shared
from germane_eval.dataset import Conversation
from germane_eval.formats import load

__all__ = ["Kept", "Needed", "kept_of", "main", "needed_of", "truncated", "wire_messages"]

_MODEL = "gpt-4o"
_SHARES = (10, 25, 50)
Wire = Sequence[Mapping[str, Any]]
Words = tuple[frozenset[str], ...]
"""Words, each by its possible stems."""


class Needed(NamedTuple):
    """What one question needs: the texts of its evidence, each with those words of one sentence that bear the answer; the
    answer; and whether that stands in the conversation word for word."""

    evidence: tuple[tuple[str, Words], ...]
    answer: str
    stands: bool


class Kept(NamedTuple):
    """The four shares, in [0, 1]; None where no question has what is measured."""

    evidence: float | None
    words: float | None
    answers: float | None
    shared: float | None


def wire_messages(conversation: Conversation) -> list[dict[str, Any]]:
    """The whole conversation as messages of a chat completion. Where nobody is the assistant, everyone is but the one who
    speaks first."""
    said = [message for messages in conversation.sessions.values() for message in messages]
    assisted = any(message.role == "assistant" for message in said)
    found = list[dict[str, Any]]()
    for message in said:
        role = message.role if assisted or message.name == said[0].name else "assistant"
        found.append({"role": role, "content": message.content} | ({"name": message.name} if message.name else {}))
    return found


def needed_of(conversation: Conversation) -> list[Needed]:
    """What each question of the conversation needs."""
    texts = {message.id: message.content for messages in conversation.sessions.values() for message in messages}
    whole = "\n".join(texts.values())
    found = list[Needed]()
    for question in conversation.questions:
        answer, given = question.answer or "", _stems(question.text)
        words = tuple(stems for term in query_terms(answer) if given.isdisjoint(stems := frozenset(term.stems)))
        evidence = [texts[id] for id in sorted(question.evidence) if id in texts]
        found.append(Needed(tuple((text, _bearing(text, words)) for text in evidence), answer, bool(contained(answer, whole))))
    return found


def kept_of(asked: Sequence[Needed], texts: Iterable[str]) -> Kept:
    """How much of what the questions need stands in the texts of a compacted conversation."""
    result = "\n".join(texts)
    lines = {_stems(line) for line in _lines(result)}
    plain = _spaced(result)
    whole = {text: _spaced(text) in plain for one in asked for text, _ in one.evidence}
    words = {pair: _stand(pair[1], lines) for one in asked for pair in one.evidence if pair[1]}
    return Kept(
        _mean(whole[text] for one in asked for text, _ in one.evidence),
        _mean(words[pair] for one in asked for pair in one.evidence if pair[1]),
        _mean(bool(contained(one.answer, result)) for one in asked if one.stands),
        _mean(share for one in asked if (share := words_shared(one.answer, result)) is not None),
    )


def truncated(messages: Wire, max_tokens: int) -> tuple[list[str], int]:
    """The texts of the newest messages that fit, and their tokens."""
    texts, tokens = list[str](), 0
    for message in reversed(messages):
        tokens += (cost := _tokens(message["role"], message["content"], message.get("name")))
        if tokens > max_tokens:
            return texts[::-1], tokens - cost
        texts.append(message["content"])
    return texts[::-1], tokens


def _bearing(text: str, words: Words) -> Words:
    """Those of the words that stand in the sentence of the text that has the most of them, the first of several."""
    found = [tuple(word for word in words if not word.isdisjoint(_stems(line))) for line in _lines(text)]
    return max(found, key=len, default=())


def _stand(words: Words, lines: Iterable[frozenset[str]]) -> bool:
    return any(all(not word.isdisjoint(line) for word in words) for line in lines)


def _lines(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@cache
def _stems(text: str) -> frozenset[str]:
    return frozenset(analyse(text))


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return fmean(listed) if listed else None


@cache
def _tokens(role: Any, content: str, name: str | None) -> int:
    return message_tokens(Message.of(role, content, name=name), Catalog.built_in().find(_MODEL), _tokenizer().count)


@cache
def _tokenizer() -> Tokenizer:
    return open_tokenizer(Catalog.built_in().find(_MODEL).tokenizer)


def _half(conversations: Sequence[Conversation], half: str) -> Sequence[Conversation]:
    return {"all": conversations, "tune": conversations[::2], "held-out": conversations[1::2]}[half]


def _cells(kept: Sequence[Kept]) -> str:
    """The means over the conversations, each of which counts by its questions equally."""
    means = [_mean(value for value in column if value is not None) for column in zip(*kept, strict=True)]
    return " | ".join("–" if mean is None else f"{100 * mean:.1f}" for mean in means)


Compacting = Callable[[Wire, int], tuple[list[str], int]]
"""From messages and a number of tokens: the texts that are left, and their tokens."""


def _ways(mask: bool, low_water: float) -> Mapping[str, Compacting]:
    strategies = (Truncate(mask=mask, keep_recent=1_000_000), Summarise(mask=mask), Importance(mask=mask), TimeDecay(mask=mask))
    ways: dict[str, Compacting] = {type(one).__name__: partial(_compacted, one, low_water) for one in strategies}
    return {"plain truncation": truncated} | ways


def _compacted(strategy: CompactionStrategy, low_water: float, messages: Wire, max_tokens: int) -> tuple[list[str], int]:
    result = compact(messages, model=_MODEL, max_tokens=max_tokens, strategy=strategy, low_water=low_water)
    assert result.fits, result.trace.reasons
    return [message["content"] for message in result.messages], result.tokens


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench compaction-evidence", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--shares", type=int, nargs="+", default=_SHARES, help="percent of the tokens")
    parser.add_argument("--half", choices=("all", "tune", "held-out"), default="all")
    parser.add_argument("--only", default="", help="a part of the name of the strategies to measure")
    parser.add_argument("--unmasked", action="store_true", help="compact without masking")
    parser.add_argument("--low-water", type=float, default=0.9, help="the share of the tokens that a compaction leaves")
    options = parser.parse_args(arguments)
    conversations = _half(load(options.data).conversations, options.half)
    wires = [wire_messages(conversation) for conversation in conversations]
    asked = [needed_of(conversation) for conversation in conversations]
    sizes = [truncated(wire, 10**12)[1] for wire in wires]
    print(describe())
    print("| tokens left | strategy | evidence | its words | answers | answer's words | tokens used |")
    print("|---|---|---|---|---|---|---|")
    for share in options.shares:
        for name, way in _ways(not options.unmasked, options.low_water).items():
            if options.only not in name:
                continue
            kept, used = list[Kept](), list[float]()
            for wire, questions, size in zip(wires, asked, sizes, strict=True):
                texts, tokens = way(wire, size * share // 100)
                kept.append(kept_of(questions, texts))
                used.append(tokens / size)
            print(f"| {share} % | {name} | {_cells(kept)} | {100 * fmean(used):.1f} % |", flush=True)


if __name__ == "__main__":
    main()
