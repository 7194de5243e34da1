"""Constraints: the sentences of a user's own words that demand, forbid or limit lastingly, also in passing (HIST-5).

"Fix the parser, but don't touch the tests" is one; "don't worry" and "I can't find it" aren't. The rules are in `languages/`.
What takes a constraint back ("you may touch the tests now") is one too: who reads both in their order knows what holds.
"""

from __future__ import annotations

from germane.compaction.notes import Constraint
from germane.text.demands.phrase_rules import FoundPhrase, demand_rules
from germane.text.own.own_words import MAX_READ, OwnSentence, own_sentences

__all__ = ["MAX_CONSTRAINT", "constraints_in", "constraints_of"]

MAX_CONSTRAINT = 300
"""Characters of a constraint; a longer sentence is cut around its demand."""
_MIN_CONSTRAINT = 6
_MAX_FOUND = 40
"""Constraints of one message."""
_MARK = "…"


def constraints_in(text: str) -> tuple[Constraint, ...]:
    """Returns the constraints of one message of a user, in order, each once, at most 40. Linear; reads 20,000 characters."""
    rules = demand_rules()
    named = rules.named(text[:MAX_READ])
    return constraints_of(own_sentences(text, for_task=True), named) if named else ()


def constraints_of(sentences: list[OwnSentence], named: frozenset[str] | None = None) -> tuple[Constraint, ...]:
    """As `constraints_in`, of sentences that were read before; `named` are the words of rules that their text holds."""
    rules, found = demand_rules(), dict[str, None]()
    for text, said in sentences:
        phrase = next(rules.find(said, named), None)
        if phrase is not None and len(text) >= _MIN_CONSTRAINT:
            found[_around(text, phrase)] = None
            if len(found) >= _MAX_FOUND:
                break
    return tuple(Constraint(text=text) for text in found)


def _around(text: str, phrase: FoundPhrase) -> str:
    """The sentence, of a long one the part around its demand."""
    if len(text) <= MAX_CONSTRAINT:
        return text
    room = MAX_CONSTRAINT - 2 * len(_MARK)
    start = max(0, min(phrase.start - room // 3, len(text) - room))
    if start:
        space = text.find(" ", start, phrase.start)
        start = space + 1 if space >= 0 else start
    end = min(len(text), start + room)
    if end < len(text):
        space = text.rfind(" ", phrase.end, end)
        end = space if space > phrase.end else end
    return f"{_MARK if start else ''}{text[start:end].strip()}{_MARK if end < len(text) else ''}"
