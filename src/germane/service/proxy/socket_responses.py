"""Socket responses: which messages of a WebSocket's client each response of the Responses API answers.

A `response.create` is answered in its lane (`stream_id`), in the order in which it was sent there. Words that steer a response
(`response.steer`) belong to the response that follows it: one that the provider begins by itself, or that of the next create.
A response without output (`generate: false`, `prewarm`) warms up: what it was given belongs to the first response that
continues it, so that words that were only prepared aren't taken for words that were said.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")

CREATE, STEER = "response.create", "response.steer"
MAX_COPY = 16 * 1024**2
"""Characters that are held of one connection, of what was asked and answered."""
_MAX_OPEN = 1024
"""Creates and steers of one connection that may wait for the provider. With more, nothing further of it is recorded."""
_MAX_WARM = 64
_TOLD = re.compile(
    r'"(?:response\.(?:created|completed|incomplete|failed|cancelled|output_text\.delta|output_item\.done'
    r'|steer\.accepted|steer\.failed)|error)"'
)
"""What an event holds that is read; all others are deltas and steps of no matter here."""
_FAILED = "response.failed"
_ENDS = ("response.completed", "response.incomplete", "response.cancelled", _FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketResponse(Generic[T]):
    """One response and what it answers.

    `inputs` are the client's messages as it sent them, in order: warm-ups that the response continues, words that steered the
    one before, and its create, which a response that the provider began by itself hasn't. `call` is what `touch` gave for the
    create; for a response that the provider began by itself, that of the steered one. `reply` has the events that tell the
    output, as server-sent events. `generates` is false for a warm-up, `whole` where the connection ended before the response,
    or the reply was too long to be held.
    """

    id: str
    call: T | None
    inputs: tuple[str, ...]
    reply: bytes
    generates: bool = True
    whole: bool = True

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages in the inputs, as the Responses API has them. It parses them, which takes time for long ones."""
        found: list[dict[str, Any]] = []
        for text in self.inputs:
            given = read_event(text).get("input")
            if isinstance(given, str):
                found.append({"role": "user", "content": given})
            elif isinstance(given, list):
                found += (item for item in given if isinstance(item, dict))
        return found


def read_event(text: str) -> Mapping[str, Any]:
    """Returns the fields of an event, none for a text that isn't a JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def lane_of(event: Mapping[str, Any]) -> str | None:
    """Returns the lane that an event is in, None for the connection's own."""
    lane = event.get("stream_id")
    return lane if isinstance(lane, str) else None


@dataclass(frozen=True, slots=True)
class _Asked(Generic[T]):
    """A create that was sent. `text` is None where there was no room for it: then its response isn't recorded."""

    text: str | None
    call: T | None
    previous: str | None
    generates: bool


@dataclass(slots=True, eq=False)
class _Steer:
    """Words that were sent to steer a response; `id` is the provider's, from when it accepted them."""

    text: str
    id: str | None = None


@dataclass(slots=True)
class _Steered(Generic[T]):
    """What was sent to steer one response, whose call this is."""

    call: T | None
    steers: list[_Steer] = field(default_factory=list)

    @property
    def accepted(self) -> tuple[str, ...]:
        return tuple(steer.text for steer in self.steers if steer.id is not None)


@dataclass(slots=True)
class _Running(Generic[T]):
    """A response under way: its items that are whole, and the words of those that aren't yet, by their place in the output.
    `size` are the characters of both, `too_long` says that some weren't held."""

    id: str
    lane: str | None
    asked: _Asked[T]
    inputs: tuple[str, ...]
    items: dict[int, str] = field(default_factory=dict)
    words: dict[int, list[str]] = field(default_factory=dict)
    size: int = 0
    too_long: bool = False


class SocketResponses(Generic[T]):
    """The responses of one connection. `answered` is called when one has ended: at once, in the order of the events, and for
    those that are under way when the connection ends. It isn't called for a create that the provider refused or that got no
    response, nor for a response that failed: the client asks again."""

    def __init__(self, answered: Callable[[SocketResponse[T]], object], *, max_copy: int = MAX_COPY) -> None:
        self._answered, self._room = answered, max_copy
        self._off = False
        self._open = self._strays = 0
        self._asked: dict[str | None, deque[_Asked[T]]] = {}
        self._steered: dict[str, _Steered[T]] = {}
        self._running: dict[str, _Running[T]] = {}
        self._latest: dict[str | None, str] = {}
        self._warm: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    # What the client sends.

    def create(self, text: str, event: Mapping[str, Any], call: T | None) -> None:
        """A create goes to the provider. `text` is the client's own."""
        if self._is_full():
            return
        cached = _mapping(event.get("prompt_cache_options"))
        asked = _Asked(
            text=text if self._take(len(text)) else None,
            call=call,
            previous=_id(event.get("previous_response_id")),
            generates=event.get("generate") is not False and cached.get("prewarm") is not True,
        )
        self._open += 1
        self._asked.setdefault(lane_of(event), deque()).append(asked)

    def steer(self, text: str, event: Mapping[str, Any]) -> None:
        """Words that steer a response go to the provider."""
        previous = _id(event.get("previous_response_id"))
        running = self._running.get(previous or "")
        if previous is None or running is None or self._is_full():
            return
        if not self._take(len(text)):
            self._give_up()
            return
        self._open += 1
        self._steered.setdefault(previous, _Steered(running.asked.call)).steers.append(_Steer(text))

    def stray(self) -> None:
        """Something else goes to the provider, which may answer it with an error in no lane."""
        self._strays += 1

    def lane_of_response(self, id: object) -> str | None:
        """Returns the lane of a response that is under way. Raises `KeyError` for any other."""
        return self._running[str(id)].lane

    # What the provider sends.

    def told(self, text: str) -> None:
        """Reads one event of the provider's."""
        if self._off or not _TOLD.search(text):
            return
        event = read_event(text)
        lane = lane_of(event)
        match event.get("type"):
            case "response.created":
                self._created(lane, _mapping(event.get("response")))
            case "response.output_text.delta":
                self._said(lane, event)
            case "response.output_item.done":
                self._item(lane, event, text)
            case "error":
                self._failed(lane)
            case "response.steer.accepted" | "response.steer.failed" as kind:
                self._steer_told(_mapping(event.get("steer")), accepted=kind == "response.steer.accepted")
            case kind if kind in _ENDS:
                self._ended(lane, _mapping(event.get("response")), text, failed=kind == _FAILED)

    def end(self) -> None:
        """The connection has ended."""
        for one in list(self._running.values()):
            self._tell(one, whole=False)
        self._give_up()

    def _created(self, lane: str | None, response: Mapping[str, Any]) -> None:
        id, previous = _id(response.get("id")), _id(response.get("previous_response_id"))
        if id is None or id in self._running:
            return
        if (unfinished := self._running.get(self._latest.get(lane, ""))) is not None:
            self._tell(unfinished, whole=False)
        if lane is None:
            self._strays = 0
        steered = self._steered.get(previous or "")
        words = () if steered is None else steered.accepted
        asked = self._next(lane, previous, only_first=bool(words))
        if asked is None and steered is not None and words:  # the provider has begun it by itself
            asked = _Asked("", steered.call, previous, generates=True)
            inputs = words
        elif asked is not None:
            inputs = (*self._warm.get(asked.previous or "", ()), *words, asked.text or "")
        if steered is not None and previous is not None:
            self._forget_steers(previous, [steer for steer in steered.steers if steer.id is not None])
        if asked is None:
            return
        self._room += len(asked.text or "")
        if asked.text is not None and self._take(_length(inputs)):
            self._running[id] = _Running(id, lane, asked, inputs)
            self._latest[lane] = id

    def _next(self, lane: str | None, previous: str | None, *, only_first: bool) -> _Asked[T] | None:
        """Returns the create that a new response of the lane answers: the first that continues the same response. Those before
        it have got no answer, and are forgotten."""
        waiting = list(self._asked.get(lane, ()))[: 1 if only_first else None]
        count = next((count for count, one in enumerate(waiting, 1) if previous in (None, one.previous)), 0)
        asked = None
        for _ in range(count):
            if asked is not None:
                self._room += len(asked.text or "")
            asked = self._pop(lane)
        return asked

    def _pop(self, lane: str | None) -> _Asked[T]:
        waiting = self._asked[lane]
        asked = waiting.popleft()
        self._open -= 1
        if not waiting:
            del self._asked[lane]
        return asked

    def _said(self, lane: str | None, event: Mapping[str, Any]) -> None:
        running, place, words = self._running.get(self._latest.get(lane, "")), event.get("output_index"), event.get("delta")
        if running is not None and isinstance(place, int) and isinstance(words, str) and self._hold(running, len(words)):
            running.words.setdefault(place, []).append(words)

    def _item(self, lane: str | None, event: Mapping[str, Any], text: str) -> None:
        running, place = self._running.get(self._latest.get(lane, "")), event.get("output_index")
        if running is None or not isinstance(place, int):
            return
        freed = _length(running.words.pop(place, ())) + len(running.items.pop(place, ""))
        running.size -= freed
        self._room += freed
        if self._hold(running, len(text)):
            running.items[place] = text

    def _ended(self, lane: str | None, response: Mapping[str, Any], text: str, *, failed: bool) -> None:
        running = self._running.get(_id(response.get("id")) or self._latest.get(lane, ""))
        if running is None:
            return
        if failed:
            self._release(running)
            return
        if response.get("output"):  # it has the whole output
            self._room += running.size
            running.size, running.too_long = 0, False
            running.items, running.words = {}, {}
        self._tell(running, whole=True, last=text if self._hold(running, len(text)) else "")

    def _failed(self, lane: str | None) -> None:
        """An error ends the lane's response, answers something else, or refuses the lane's oldest create."""
        if (running := self._running.get(self._latest.get(lane, ""))) is not None:
            self._release(running)
        elif lane is None and self._strays:
            self._strays -= 1
        elif lane in self._asked:
            self._room += len(self._pop(lane).text or "")

    def _steer_told(self, told: Mapping[str, Any], *, accepted: bool) -> None:
        previous, id = _id(told.get("previous_response_id")) or "", _id(told.get("id"))
        steered = self._steered.get(previous)
        if steered is None:
            return
        if accepted:
            for steer in steered.steers:
                if steer.id is None:
                    steer.id = id or ""
                    return
        self._forget_steers(previous, [steer for steer in steered.steers if steer.id == id][:1])

    def _forget_steers(self, previous: str, ended: Sequence[_Steer]) -> None:
        steered = self._steered[previous]
        steered.steers = [steer for steer in steered.steers if steer not in ended]
        self._open -= len(ended)
        self._room += _length(steer.text for steer in ended)
        if not steered.steers:
            del self._steered[previous]

    # What is held.

    def _tell(self, running: _Running[T], *, whole: bool, last: str = "") -> None:
        self._release(running)
        generates, continued = running.asked.generates, running.asked.previous or ""
        if whole and not generates and self._take(_length(running.inputs)):
            self._warm[running.id] = running.inputs
        if (whole and generates) or len(self._warm) > _MAX_WARM:
            self._forget_warm(continued if continued in self._warm else next(iter(self._warm), ""))
        self._answered(
            SocketResponse(
                id=running.id,
                call=running.asked.call,
                inputs=running.inputs,
                reply=b"" if running.too_long else _as_stream(running, last),
                generates=generates,
                whole=whole and not running.too_long,
            )
        )

    def _release(self, running: _Running[T]) -> None:
        """The response is no longer under way."""
        del self._running[running.id]
        if self._latest.get(running.lane) == running.id:
            del self._latest[running.lane]
        self._room += running.size + _length(running.inputs)

    def _hold(self, running: _Running[T], size: int) -> bool:
        """Whether there was room for this much of a reply."""
        if running.too_long or not self._take(size):
            running.too_long = True
            return False
        running.size += size
        return True

    def _take(self, size: int) -> bool:
        while self._room < size and self._warm:
            self._forget_warm(next(iter(self._warm)))
        if self._room < size:
            return False
        self._room -= size
        return True

    def _forget_warm(self, id: str) -> None:
        self._room += _length(self._warm.pop(id, ()))

    def _is_full(self) -> bool:
        """Whether no further message is followed."""
        if self._open >= _MAX_OPEN:
            self._give_up()
        return self._off

    def _give_up(self) -> None:
        self._off = True
        for held in (self._asked, self._steered, self._running, self._latest, self._warm):
            held.clear()


def _as_stream(running: _Running[Any], last: str) -> bytes:
    """The items and words of a response, and its last event, as server-sent events."""
    texts: list[tuple[int, str]] = list(running.items.items())
    for place, parts in running.words.items():
        said = {"type": "response.output_text.delta", "output_index": place, "delta": "".join(parts)}
        texts.append((place, json.dumps(said)))
    return _lines([text for _, text in sorted(texts)] + [last] * bool(last))


def _lines(texts: Iterable[str]) -> bytes:
    """Line breaks of JSON stand only between its values, where a space is the same."""
    written = (f"data: {text.replace(chr(13), ' ').replace(chr(10), ' ')}\n\n" for text in texts)
    return "".join(written).encode()


def _length(texts: Iterable[str]) -> int:
    return sum(map(len, texts))


def _id(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
