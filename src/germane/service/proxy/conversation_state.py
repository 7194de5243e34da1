"""Conversation state: what a conversation is known by when its next request comes, as hashes; and ids for its messages. Pure.

An exchange is a human turn and the message that follows it. A conversation is known by its exchanges in order: a request that
brings those of a session, and perhaps a new turn, continues the session; one that brings others is another conversation. The
last exchanges are enough where an application sends only the end of a long conversation. The hashes are keyed, so that they
don't tell what was said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from germane.kinds.conversations.aliases import AliasedSession, SessionAlias
from germane.text.normal import content_hash
from germane.types.message import Message, Opaque, is_human

MAX_EXCHANGES = 128
"""Exchanges that a session is known by, its last ones."""
MAX_BEHIND = 8
"""Exchanges that a request may bring which the session lacks: answers that weren't recorded."""
_PART = 8
"""Bytes of the hash of a turn, and of that of what follows it."""
EXCHANGE = 2 * _PART
"""Bytes of an exchange."""
_NO_ANSWER = bytes(_PART)
_TELLING = 64
"""Characters that make a text known: the human turns without their answers, or a single exchange."""


@dataclass(frozen=True, slots=True)
class ConversationState:
    """`turns` are the hashes of the last exchanges. `asked` is that of the human turn at the end, which nothing has answered;
    empty where there is none. `telling` says that the human turns tell the conversation from others without their answers,
    and `telling_end` that its last exchange does.
    """

    turns: bytes = b""
    asked: bytes = b""
    telling: bool = False
    telling_end: bool = False

    @property
    def length(self) -> int:
        """The number of exchanges."""
        return len(self.turns) // EXCHANGE

    def before(self, exchanges: int = 1) -> ConversationState:
        """Returns the state so many exchanges ago."""
        return ConversationState(self.turns[: max(0, len(self.turns) - exchanges * EXCHANGE)])

    def answered(self, answer: Message | None, key: bytes) -> ConversationState:
        """Returns the state after the answer to the human turn at the end; the same where there is none. `answer` is the first
        message of it that says something; None where it said nothing."""
        if not self.asked or answer is None:
            return self
        turns = self.turns + self.asked + _hash(key, _content(answer))
        return ConversationState(turns[-MAX_EXCHANGES * EXCHANGE :], b"", self.telling)

    # Aliases: `ends` is that of the last exchange; `again` of the state in which the last human turn was asked, for one that
    # is asked again; `humans` of the human turns alone, for an application that changes answers.

    def ends(self, key: bytes) -> str:
        return _alias(key, b"ends", self.turns[-EXCHANGE:])

    def again(self, key: bytes) -> str:
        return _alias(key, b"again", self.turns[-EXCHANGE:] + self.asked)

    def humans(self, key: bytes) -> str:
        return _alias(key, b"humans", b"".join(_humans(self.turns)))

    def aliases(self, key: bytes) -> tuple[SessionAlias, ...]:
        """Returns the aliases by which a session in this state is found again; none before the first exchange."""
        if not self.turns:
            return ()
        asked = self.as_asked()
        found = [SessionAlias(alias=self.ends(key), turns=self.turns)]
        if asked.turns:
            found.append(SessionAlias(alias=asked.again(key), turns=asked.turns))
        if self.telling or self.length > 1:
            found.append(SessionAlias(alias=self.humans(key), turns=self.turns))
        return tuple(found)

    def as_asked(self) -> ConversationState:
        """The state in which the last exchange's human turn was asked."""
        return ConversationState(self.turns[:-EXCHANGE], self.turns[-EXCHANGE:-_PART])

    def questions(self, key: bytes) -> tuple[Question, ...]:
        """Returns what to ask for the session of a request in this state, the best answer first; nothing where it has no
        exchange, as nobody can tell whose "hi" it is."""
        if not self.turns:
            return ()
        asked = [Question(self.ends(key), self, 0)]
        if self.asked:
            asked.append(Question(self.again(key), self, 0))
        if self.telling or self.length > 1:
            asked.append(Question(self.humans(key), self, 0, humans=True))
        behind = [self.before(count) for count in range(1, min(MAX_BEHIND, self.length - 1) + 1)]
        return (*asked, *(Question(one.ends(key), one, count) for count, one in enumerate(behind, 1)))


@dataclass(frozen=True, slots=True)
class Question:
    """An alias to ask for, the state that a session must be in that has it, and by how many exchanges the request is ahead of
    it."""

    alias: str
    state: ConversationState
    ahead: int
    humans: bool = False

    def fits(self, found: AliasedSession) -> bool:
        """Whether the session's exchanges are those of the state, or end with them: where a session has more than the request,
        or the request more than what is kept, two exchanges at least must be equal, or a long one."""
        given, kept = self.state.turns, found.turns
        if self.humans:
            given, kept = b"".join(_humans(given)), b"".join(_humans(kept))
        if given == kept:
            return True
        size = _PART if self.humans else EXCHANGE
        capped = len(kept) == MAX_EXCHANGES * size
        shorter = min(len(given), len(kept))
        same = kept.endswith(given) if len(given) < len(kept) else capped and given.endswith(kept)
        return same and (shorter >= 2 * size or (shorter == size and self.state.telling_end and not self.humans))


def state_of(messages: Sequence[Message], key: bytes) -> ConversationState:
    """Returns the state of a request with these messages. System messages and messages that say nothing don't count."""
    spoken = [message for message in messages if _counts(message)]
    human = [index for index, message in enumerate(spoken) if is_human(message)]
    if not human:
        return ConversationState()
    is_open = human[-1] == len(spoken) - 1
    exchanges = human[:-1] if is_open else human
    turns = b"".join(_exchange(spoken[index], spoken[index + 1], key) for index in exchanges[-MAX_EXCHANGES:])
    telling = sum(len(_content(spoken[index]).strip()) for index in human[:2]) >= _TELLING
    asked = _hash(key, _content(spoken[human[-1]])) if is_open else b""
    ending = spoken[exchanges[-1] : exchanges[-1] + 2] if exchanges else []
    telling_end = sum(len(_content(message).strip()) for message in ending) >= _TELLING
    return ConversationState(turns, asked, telling, telling_end)


def _exchange(turn: Message, following: Message, key: bytes) -> bytes:
    answer = _NO_ANSWER if is_human(following) else _hash(key, _content(following))
    return _hash(key, _content(turn)) + answer


def _humans(turns: bytes) -> Iterator[bytes]:
    return (turns[start : start + _PART] for start in range(0, len(turns), EXCHANGE))


def answer_in(messages: Sequence[Message]) -> Message | None:
    """Returns the first message of an answer that says something."""
    return next((message for message in messages if _counts(message)), None)


def _counts(message: Message) -> bool:
    return message.role != "system" and (is_human(message) or bool(message.content.strip()))


def _content(message: Message) -> str:
    return message.content or " ".join(part.__class__.__name__ for part in message.parts)


def _hash(key: bytes, text: str) -> bytes:
    return blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=_PART, key=key).digest()


def _alias(key: bytes, kind: bytes, what: bytes) -> str:
    return blake2b(what, digest_size=16, key=key, person=kind).hexdigest()


def answer_alias(id: str, key: bytes) -> str:
    """Returns the alias of the session in which a provider gave an answer with this id."""
    return _alias(key, b"answer", id.encode("utf-8", "surrogatepass"))


# Ids of messages: a message that is sent again in the same place has the same id, and so it is stored once.


def message_ids(messages: Sequence[Message], key: bytes, *, after: str = "") -> list[str]:
    """Returns an id for each message: a hash of its place, of its role and content, and of the content of the message before.
    Where the provider holds what was said before, `after` names it. Contents that `record` tells apart have different ids."""
    found, place, before = list[str](), 0, b""
    salt = blake2b(after.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    for message in messages:
        digest = blake2b(before, digest_size=16, key=key, salt=salt, person=b"message")
        kinds = [part.kind for part in message.parts if isinstance(part, Opaque)]
        digest.update(f"{place} {content_hash(message.role, message.content, *kinds)}".encode())
        found.append(digest.hexdigest())
        if _counts(message):
            place += 1
            before = _hash(key, message.content)
    return found


def first_new(messages: Sequence[Message], ahead: int) -> int:
    """Returns the index of the first message that a session lacks which a request continues that is `ahead` of it by so many
    exchanges: the one behind its last answer, or else its first human turn that isn't answered there."""
    human = [index for index, message in enumerate(messages) if is_human(message)]
    spoken = [index for index, message in enumerate(messages) if _counts(message)]
    answers = [index for index in spoken[:-1] if messages[index].role == "assistant"]
    if ahead:
        is_open = bool(spoken) and bool(human) and human[-1] == spoken[-1]
        return human[-min(len(human), ahead + is_open)]
    return answers[-1] + 1 if answers else 0
