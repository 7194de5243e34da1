"""Talk: one conversation of a person's requests: what it was shown up to now, and what that makes of each request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from germane.evaluate.answered import MissedEvidence
from germane.evaluate.dataset import Question
from germane.evaluate.everyday.found import flat, is_held, stands_in
from germane.evaluate.missed import cut
from germane.evaluate.prefix import message_text
from germane.types.candidate import Chosen
from germane.types.context import Context, Metadata

__all__ = ["OPEN", "RequestAnswer", "Talk", "always_stands", "profile_tokens"]

OPEN = 0
"""Stands for the budget of a request without one: the strategy decides how much is added."""

_PROFILE = "profile"
"""The source of what always stands."""
_REPLY = "Okay."
_TEXT, _LINE, _ITEMS = 400, 200, 6
"""Characters that are kept of a message, and of each of the items that were shown, of which the best are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAnswer:
    """What one request of a talk was shown, within `budget` tokens or without one (`OPEN`). Tokens are those of all that the
    prompt holds more than the caller's own messages."""

    conversation: str
    id: str
    question: str
    category: str
    budget: int
    found: bool | None
    """Whether all the evidence stands in the prompt; None for a request that needs nothing stored."""
    alone: bool
    """Whether outdated text stands there without all the evidence."""
    standing: int
    """Tokens in this prompt, from whichever turn."""
    new: int
    """Tokens that this turn added."""
    profile: int
    """Of the standing tokens those of what always stands."""
    searched: int
    """Of the new tokens those beyond what always stands."""
    items: int
    """Items that this turn added."""
    searched_items: int
    """Of these items those beyond what always stands."""
    answer: str | None = None
    needed: tuple[MissedEvidence, ...] = ()
    """The evidence that isn't held, each with the lines that stood in its place. Empty within a budget."""
    shown: tuple[str, ...] = ()
    """Where the request is a miss: the best of what this turn added. Empty within a budget."""

    @property
    def missed(self) -> bool:
        """Whether evidence isn't shown, outdated text stands alone, or items are added where nothing stored is needed."""
        return self.alone or (self.searched_items > 0 if self.found is None else not self.found)


@dataclass(slots=True, kw_only=True)
class Talk:
    """Put a request with `ask`, assemble `messages`, and hand the context to `answer`; then the next request.

    What was shown for an earlier request counts for the later ones of the talk, as long as it stands."""

    conversation: str
    session: str
    """Of all its requests."""
    said: Mapping[str, str]
    """The texts of the person's messages by id."""
    count: Callable[[str], int]
    """Counts the tokens of a text."""
    budget: int = OPEN
    messages: list[dict[str, str]] = field(default_factory=list)
    """The caller's own: the requests up to now, each but the last with a reply."""
    shown: dict[str, str] = field(default_factory=dict)
    """What was shown of each message or memory, by id."""
    standing: int = 0
    profile: int = 0

    def ask(self, question: Question) -> None:
        """Appends the request to `messages`."""
        if self.messages:
            self.messages.append({"role": "assistant", "content": _REPLY})
        self.messages.append(question.message)

    def answer(self, question: Question, context: Context) -> RequestAnswer:
        """What `context`, the assembly of `messages`, shows for the last request."""
        for item in context.items:
            for id in _origins(item):
                self.shown[id] = f"{self.shown.get(id, '')} {item.text}"
        prompt = "\n".join(map(message_text, context.to_openai()))
        standing = self.count(prompt) - self.count("\n".join(map(message_text, self.messages)))
        profile = profile_tokens(context.metadata)
        new, more = standing - self.standing, profile - self.profile
        self.standing, self.profile = standing, profile
        needed = self._needed(question, flat(prompt))
        found = not needed if question.evidence else None
        answered = RequestAnswer(
            conversation=self.conversation,
            id=question.id,
            question=question.text,
            category=question.category,
            budget=self.budget,
            found=found,
            alone=bool(needed) and not question.superseded.isdisjoint(self.shown),
            standing=standing,
            new=new,
            profile=profile,
            searched=new - more,
            items=len(context.items),
            searched_items=sum(not always_stands(item) for item in context.items),
            answer=question.answer,
        )
        if self.budget != OPEN or not answered.missed:
            return answered
        return _with_texts(answered, needed, context.items)

    def _needed(self, question: Question, prompt: str) -> tuple[MissedEvidence, ...]:
        """The evidence that isn't held in the flat text of the prompt."""
        found = []
        for id in sorted(question.evidence):
            text = self.said[id]
            there = text if stands_in(text, prompt) else self.shown.get(id)
            if there is None or not is_held(text, question.answer or "", there):
                instead = () if there is None else (cut(there, _LINE),)
                found.append(MissedEvidence(id=id, text=cut(text, _TEXT), instead=instead))
        return tuple(found)


def _with_texts(answered: RequestAnswer, needed: tuple[MissedEvidence, ...], items: Sequence[Chosen]) -> RequestAnswer:
    best = sorted(items, key=lambda item: item.scored.rank)[:_ITEMS]
    return replace(answered, needed=needed, shown=tuple(cut(item.text, _LINE) for item in best))


def _origins(item: Chosen) -> set[str]:
    """The ids of the messages that an item is, or is made of."""
    provenance = item.provenance
    made_of: Sequence[str] = getattr(provenance, "message_ids", ())
    return {id for id in (provenance.message_id, *made_of) if id is not None}


def always_stands(item: Chosen) -> bool:
    """Whether the item is a line of the profile."""
    return item.source == _PROFILE


def profile_tokens(metadata: Metadata) -> int:
    """Tokens of what always stands in this prompt."""
    tokens: int = getattr(metadata, "profile_tokens", 0)
    return tokens
