"""Demands in a message: the sentences of a user's own words that demand, forbid or limit lastingly, also in passing (HIST-5).

"Fix the parser, but don't touch the tests" is one; "don't worry" and "I can't find it" aren't. The rules are in `languages/`.
What takes a constraint back ("you may touch the tests now") is one too: who reads both in their order knows what holds.
"""

from __future__ import annotations

from germane.text.demands.phrase_rules import FoundPhrase, demand_rules
from germane.text.own.own_words import MAX_READ, OwnSentence, own_sentences

__all__ = ["MAX_DEMAND", "demands_in", "demands_of"]

MAX_DEMAND = 300
"""Characters of a demand; a longer sentence is cut around its demand."""
_MIN_DEMAND, _MIN_UNSPACED = 6, 4
"""Characters of a demand; fewer in scripts whose characters are syllables or words."""
_MAX_FOUND = 40
"""Demands of one message."""
_MARK = "…"


def demands_in(text: str) -> tuple[str, ...]:
    """Returns the demands of one message of a user, in order, each once, at most 40. Linear; reads 20,000 characters."""
    rules = demand_rules()
    named = rules.named(text[:MAX_READ])
    return demands_of(own_sentences(text, for_task=True), named) if named else ()


def demands_of(sentences: list[OwnSentence], named: frozenset[str] | None = None) -> tuple[str, ...]:
    """As `demands_in`, of sentences that were read before; `named` are the words of rules that their text holds."""
    rules, found = demand_rules(), dict[str, None]()
    for text, said in sentences:
        phrase = next(rules.find(said, named), None)
        if phrase is not None and len(text) >= (_MIN_DEMAND if text.isascii() else _MIN_UNSPACED):
            found[_around(text, phrase)] = None
            if len(found) >= _MAX_FOUND:
                break
    return tuple(found)


def _around(text: str, phrase: FoundPhrase) -> str:
    """The sentence, of a long one the part around its demand."""
    if len(text) <= MAX_DEMAND:
        return text
    room = MAX_DEMAND - 2 * len(_MARK)
    start = max(0, min(phrase.start - room // 3, len(text) - room))
    if start:
        space = text.find(" ", start, phrase.start)
        start = space + 1 if space >= 0 else start
    end = min(len(text), start + room)
    if end < len(text):
        space = text.rfind(" ", phrase.end, end)
        end = space if space > phrase.end else end
    return f"{_MARK if start else ''}{text[start:end].strip()}{_MARK if end < len(text) else ''}"
