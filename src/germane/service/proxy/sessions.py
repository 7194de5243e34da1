"""Sessions: which session a model call belongs to, and what has to be remembered so that the next call is found (PROXY-4).

The first of these names it: the caller's own name for the session, in a header or in the path; the id that a client sends of
its own accord; the answer that the provider is to go on from; the conversation that the messages go on from. A call that goes
on from nothing begins a session. All of it is looked for among the sessions of the caller's own agent and user alone, so that
an id of somebody else's leads nowhere.

What was learnt lies in memory and, as aliases of the session, in the store: other workers and later processes find it there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from hashlib import blake2b
from threading import Lock
from typing import Any
from uuid import UUID

from germane.api.agent import Agent
from germane.api.germane import Germane
from germane.clock import Clock
from germane.dialects.model_calls import ModelCall
from germane.dialects.registry import parse_all
from germane.errors import InvalidInput
from germane.kinds.conversations.aliases import AliasedSession, SessionAlias
from germane.kinds.documents.value import is_document_session
from germane.service.proxy.conversation_state import (
    EXCHANGE,
    ConversationState,
    Question,
    answer_alias,
    state_of,
)
from germane.text.secrets.detection import secret_in_name
from germane.types.caches import LruCache
from germane.types.plan import uuid7
from germane.types.scope import Scope

NAMED_BY = "x-germane-session"
_CLIENTS = (
    "x-claude-code-session-id",
    "thread_id",
    "thread-id",
    "session_id",
    "session-id",
    "conversation_id",
    "x-opencode-session",
)
"""Headers in which clients send their own id of a conversation, by precedence: a thread of Codex is a part of a session."""
_RETRIES = "x-stainless-retry-count"
"""The header in which the libraries of OpenAI and Anthropic count the tries of a call before."""
_IN_USER_ID = "_session_"
"""Stands before the session's id in the `metadata.user_id` of clients that write no JSON there."""
_MAX_ID = 256
"""Characters of a client's id; another name is made of a longer one."""
_MAX_KNOWN = 8_192
"""Aliases that are kept in memory, and questions that wait for their answers."""
_MAX_SAME = 32
"""Sessions that are kept in memory of one alias."""
_MAX_OPEN = 512
"""Conversations that may have asked the same at once."""
_PATIENCE = 0.02
"""Seconds that a search for a session may take."""

_MAX_INLINE_MESSAGES, _MAX_INLINE_CHARACTERS = 256, 262_144
_PARTS = 2_048
"""Characters that a part of a message counts as."""

_Owner = tuple[str, str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """What an answer tells of its session: the aliases that the session has from now on, and those that it has no more."""

    aliases: tuple[SessionAlias, ...] = ()
    ended: tuple[str, ...] = ()


class Sessions:
    """The sessions of one service. `find` runs on the engine's loop, `learn` in any thread; they share what is in memory."""

    def __init__(self, germane: Germane, clock: Clock) -> None:
        self._clock = clock
        self.key = "".join(germane.pseudonym(f"session aliases {number}") for number in range(4)).encode()
        """The key of all hashes, the same in each process over the store."""
        self._known: LruCache[tuple[_Owner, str], dict[str, AliasedSession]] = LruCache(_MAX_KNOWN)
        self._open: LruCache[tuple[_Owner, bytes], list[_Opened]] = LruCache(_MAX_KNOWN)
        self._lock = Lock()

    async def find(
        self,
        agent: Agent,
        call: ModelCall,
        *,
        named: str | None = None,
        headers: Mapping[str, str] | None = None,
        deadline: float = _PATIENCE,
    ) -> str:
        """Returns the session that the call belongs to. `named` is the caller's name for it, and `headers` are those of the
        request, in lower case. Never raises, and takes at most `deadline` seconds for what it asks the store: where that fails,
        the session is one that other calls of the same conversation get too."""
        ends = asyncio.get_running_loop().time() + deadline
        owner, state = _owner(agent.scope), ConversationState()
        name = call_name(call, headers or {}, named)
        found: str | None = None
        try:
            if not call.held:
                state = await asyncio.to_thread(self._state, call) if _is_large(call) else self._state(call)
            found = await self._found(agent, self._questions(call, state, name), state, name, ends)
        except Exception:
            found = self._derived(owner, state.turns[:EXCHANGE])
        session = name or found or self._tried(owner, state, headers or {}) or self._begun(owner, call)
        if state.asked:
            self._opened(owner, state, session)
        return session

    def ahead(self, scope: Scope, session: str, state: ConversationState) -> int | None:
        """Returns by how many exchanges a request in this state is ahead of the session; None where the session isn't known to
        hold any of its exchanges. Looks only at what is in memory."""
        found = self._in_memory(_owner(scope), state.questions(self.key), session)
        return None if found is None else found[0].ahead

    def learn(
        self,
        scope: Scope,
        session: str,
        before: ConversationState,
        after: ConversationState,
        *,
        answer: str | None = None,
    ) -> Learnt:
        """Notes in which state a session is after an answer, and the id that the provider gave to it, where the provider may be
        asked to go on from it. Returns what the store has to keep of it. Idempotent."""
        owner, now = _owner(scope), self._clock.now()
        aliases = list(after.aliases(self.key))
        with self._lock:
            known = self._known.get((owner, aliases[0].alias), {}).get(session) if aliases else None
            if known is not None and known.turns == after.turns:
                aliases = []
        if answer:
            aliases.append(SessionAlias(alias=answer_alias(answer, self.key)))
        new = {one.alias for one in aliases}
        ended = (
            tuple(one.alias for one in before.aliases(self.key) if one.alias not in new) if aliases and after != before else ()
        )
        with self._lock:
            for alias in ended:
                self._known.get((owner, alias), {}).pop(session, None)
            for one in aliases:
                self._keep(owner, AliasedSession(alias=one.alias, session=session, turns=one.turns, at=now))
            for opened in self._open.get((owner, _opening(before)), ()):
                if opened.session == session and not opened.learnt.done():
                    opened.learnt.set_result(None)
        return Learnt(aliases=tuple(aliases), ended=ended)

    def _state(self, call: ModelCall) -> ConversationState:
        return state_of(parse_all(call.messages, call.api), self.key)

    def _questions(self, call: ModelCall, state: ConversationState, name: str | None) -> tuple[Question, ...]:
        """What to ask for the call's session; nothing where nothing tells it."""
        if not call.held:
            return state.questions(self.key)
        previous = previous_answer(call)
        if name is not None or previous is None:
            return ()
        return (Question(answer_alias(previous, self.key), ConversationState(), 0),)

    async def _found(
        self, agent: Agent, questions: tuple[Question, ...], state: ConversationState, name: str | None, ends: float
    ) -> str | None:
        """The session that is known by what the call goes on from; None where none is. With a name, the state of the session
        with this name is in memory afterwards, if it is known. Raises what the store raises, and `TimeoutError`, where nothing
        is known without it."""
        owner = _owner(agent.scope)
        found, opened = await self._remembered(owner, questions, state, name, ends)
        if questions and (found is None or found[0].ahead or found[0].humans):
            try:
                async with asyncio.timeout_at(ends):
                    kept = await agent.conversations.aliased([question.alias for question in questions])
            except Exception:
                if found is None and opened is None:
                    raise
                kept = ()
            found = _best(questions, kept, name) or found
            if found is not None:
                with self._lock:
                    self._keep(owner, found[1])
        return opened if found is None else found[1].session

    async def _remembered(
        self, owner: _Owner, questions: Sequence[Question], state: ConversationState, name: str | None, ends: float
    ) -> tuple[tuple[Question, AliasedSession] | None, str | None]:
        """What this process knows: the best answer to the questions; else the session whose open question the request shows
        answered, if it is one alone. Half of the time until `ends` is for answers that are being read."""
        found = self._in_memory(owner, questions, name)
        opened = [] if found is not None else self._answered(owner, state)
        waiting = [asyncio.wrap_future(one.learnt) for one in opened] if len(opened) > 1 else []
        now = asyncio.get_running_loop().time
        until = now() + max(0.0, ends - now()) / 2
        while found is None and len(waiting) > 1 and now() < until:
            _, left = await asyncio.wait(waiting, timeout=until - now(), return_when=asyncio.FIRST_COMPLETED)
            waiting = [*left]
            found = self._in_memory(owner, questions, name)
        opened = [one for one in opened if not one.learnt.done()]
        return found, opened[0].session if len(opened) == 1 else None

    def _in_memory(
        self, owner: _Owner, questions: Sequence[Question], session: str | None
    ) -> tuple[Question, AliasedSession] | None:
        with self._lock:
            kept = [one for question in questions for one in (self._known.use((owner, question.alias)) or {}).values()]
        return _best(questions, sorted(kept, key=lambda one: one.at, reverse=True), session)

    def _keep(self, owner: _Owner, found: AliasedSession) -> None:
        sessions = self._known.get((owner, found.alias), {})
        sessions.pop(found.session, None)
        sessions[found.session] = found
        while len(sessions) > _MAX_SAME:
            del sessions[next(iter(sessions))]
        self._known.put((owner, found.alias), sessions)

    # A client may send its next request before the answer to the one before was read here: an agent that calls tools does so
    # at once. Then the session is that of the question which the request shows answered. Where several conversations asked the
    # same at once, only their answers tell which one it is: these are waited for, and nothing is guessed.

    def _opened(self, owner: _Owner, state: ConversationState, session: str) -> None:
        with self._lock:
            waiting = [one for one in self._open.get((owner, _opening(state)), []) if not one.learnt.done()]
            self._open.put((owner, _opening(state)), [*waiting[1 - _MAX_OPEN :], _Opened(session, state.turns)])

    def _tried(self, owner: _Owner, state: ConversationState, headers: Mapping[str, str]) -> str | None:
        """The session that a client's library asks for again, which says so: its call before wasn't answered."""
        if headers.get(_RETRIES, "0") == "0" or not state.asked:
            return None
        with self._lock:
            waiting = [one for one in self._open.get((owner, _opening(state)), []) if not one.learnt.done()]
        return waiting[-1].session if waiting else None

    def _answered(self, owner: _Owner, state: ConversationState) -> list[_Opened]:
        """The open questions that the last exchange of the request may answer. Either request may hold more of what was said
        before than the other."""
        if not state.turns:
            return []
        asked = state.as_asked()
        with self._lock:
            waiting = [one for one in self._open.get((owner, _opening(asked)), []) if not one.learnt.done()]
        return [one for one in waiting if one.turns.endswith(asked.turns) or asked.turns.endswith(one.turns)]

    def _begun(self, owner: _Owner, call: ModelCall) -> str:
        """A new session's id. Calls that go on from the same answer, which isn't known, get the same."""
        previous = previous_answer(call)
        if previous is not None and (derived := self._derived(owner, previous.encode("utf-8", "surrogatepass"))):
            return derived
        return uuid7(int(self._clock.now().timestamp() * 1000))

    def _derived(self, owner: _Owner, seed: bytes) -> str | None:
        """An id that is the same for the same seed; None without one."""
        return str(UUID(bytes=blake2b(repr(owner).encode() + seed, digest_size=16, key=self.key).digest())) if seed else None


@dataclass(slots=True)
class _Opened:
    session: str
    turns: bytes
    learnt: Future[None] = field(default_factory=Future)


def _best(
    questions: Iterable[Question], kept: Sequence[AliasedSession], session: str | None
) -> tuple[Question, AliasedSession] | None:
    """The first question that a session answers, and the session: of several the one with the very exchanges, then the
    latest."""
    for question in questions:
        fitting = [one for one in kept if one.alias == question.alias and session in (None, one.session) and question.fits(one)]
        if fitting:
            return question, next((one for one in fitting if one.turns == question.state.turns), fitting[0])
    return None


def _is_large(call: ModelCall) -> bool:
    """Whether reading the messages takes longer than an event loop has, about a millisecond."""
    if len(call.messages) > _MAX_INLINE_MESSAGES:
        return True
    contents = (one.get("content", one.get("output")) for one in call.messages)
    return sum(len(each) if isinstance(each, str) else _PARTS * len(each or ()) for each in contents) > _MAX_INLINE_CHARACTERS


def _owner(scope: Scope) -> _Owner:
    return scope.org, scope.agent, scope.user


def _opening(state: ConversationState) -> bytes:
    return state.turns[-EXCHANGE:] + state.asked


# What a call says of its session.


def call_name(call: ModelCall, headers: Mapping[str, str], named: str | None = None) -> str | None:
    """Returns the name of the session that the caller or the client gives; None where there is none. A name that can't be one
    of a session is replaced by a hash of it."""
    given = (named, headers.get(NAMED_BY), *map(headers.get, _CLIENTS), *_in_body(call))
    name = next((one for one in given if one and one.strip()), None)
    if name is None:
        return None
    try:
        Scope(session=name)
        unfit = is_document_session(name) or secret_in_name(name) is not None
    except InvalidInput:
        unfit = True
    return f"session-{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}" if unfit else name


def _in_body(call: ModelCall) -> Iterable[str | None]:
    """The ids that the body holds. `prompt_cache_key` is none: forks of a conversation share it."""
    body = call.body
    if call.api == "openai-responses":
        held = body.get("conversation")
        yield _text(held.get("id") if isinstance(held, Mapping) else held)
    elif call.api == "anthropic":
        user = _text(_mapping(body.get("metadata")).get("user_id")) or ""
        yield _session_in(user) if len(user) <= 8 * _MAX_ID else None
        yield _text(_mapping(body.get("thread")).get("id"))


def _session_in(user: str) -> str | None:
    if user.lstrip().startswith("{"):
        try:
            return _text(_mapping(json.loads(user)).get("session_id"))
        except (ValueError, RecursionError):
            return None
    return user.rpartition(_IN_USER_ID)[2] if _IN_USER_ID in user else None


def previous_answer(call: ModelCall) -> str | None:
    """Returns the id of the answer that the provider is to go on from; None where the call names none."""
    if call.api == "openai-responses":
        return _text(call.body.get("previous_response_id"))
    if call.api == "anthropic":
        return _text(_mapping(call.body.get("thread")).get("previous_message_id"))
    return None


def keeps_answer(call: ModelCall) -> bool:
    """Whether the provider may be asked to go on from the answer to this call."""
    if call.api == "openai-responses":
        return call.body.get("store") is not False
    return call.api == "anthropic" and bool(_mapping(call.body.get("thread")))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
