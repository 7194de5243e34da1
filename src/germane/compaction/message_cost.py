"""Message cost: what each message of a conversation costs a model, and what masking its tool outputs would save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from germane.catalog.profiles import Profile
from germane.catalog.request_tokens import message_tokens, tools_tokens
from germane.compaction.placeholders import MASK_LINE, masked_handle
from germane.compaction.reading.results import facts_of
from germane.dialects.fields import mapping
from germane.dialects.opaque import prefix_bound, unbound
from germane.dialects.openai_responses import OpenAIResponses
from germane.dialects.registry import dialect, outgoing, parse, shaping, system_prompt
from germane.dialects.tool_state import result_state
from germane.ports.models import Tokenizer
from germane.types.message import Message, Opaque, Raw, Text, ToolResult, Wire, system_text

_MAX_COUNTED = 1_000_000
"""Characters of a text from which on it isn't counted, but taken at its tokenizer's ceiling."""
_MIN_SAVING = 16
"""Tokens that masking an output must save, or it isn't worth a line."""


class MessageCost(NamedTuple):
    """`cost` are the tokens of a message, `outputs` is the number of its tool outputs. `thinking` are the tokens that go when
    what stands before it changes."""

    cost: int
    outputs: int = 0
    thinking: int = 0


class Masking(NamedTuple):
    """`saving` are the tokens that masking a message's tool outputs takes away at least. `maskable` are the numbers of the
    results that are worth it, each with the facts for its line (`OutputFacts.text`)."""

    saving: int = 0
    maskable: tuple[tuple[int, str], ...] = ()


class Measure:
    """Counts for one model and one provider's dialect."""

    __slots__ = ("_line", "_speaks", "_tokenizer", "binds_thinking", "pairs_apart", "profile", "provider")

    _OWN = frozenset({"id", "name", "created_at"})
    """Keys that no provider takes from every message."""

    def __init__(self, profile: Profile, tokenizer: Tokenizer, provider: str) -> None:
        self.profile, self.provider = profile, provider
        self.binds_thinking = profile.binds_thinking(provider)
        self.pairs_apart = provider == OpenAIResponses.name
        """Whether a call is paired with its result over whatever stands between the two."""
        self._tokenizer = tokenizer
        self._speaks = dialect(provider).speaks
        self._line = self.count(MASK_LINE) + 4

    def count(self, text: str) -> int:
        """Returns the tokens of a text; of a huge one an upper bound."""
        return self._tokenizer.ceiling(text) if len(text) > _MAX_COUNTED else self._tokenizer.count(text)

    def message(self, message: Message, raw: Raw) -> MessageCost:
        """Returns what the message costs as it is sent: with what a dialect adds where it has to write it anew."""
        cost = message_tokens(message, self.profile, self.count)
        parts = message.parts
        if len(parts) < 2 and type(raw) is dict and self._OWN.isdisjoint(raw) and (not parts or type(parts[0]) is Text):
            return MessageCost(cost)
        if type(raw) is not dict or not self._OWN.isdisjoint(raw) or not self._speaks(raw):
            cost = self._written(message, raw, cost)
        outputs = 0
        for part in parts:
            outputs += isinstance(part, ToolResult)
        return MessageCost(cost, outputs, self._thinking(message, raw, cost) if self.binds_thinking else 0)

    def masking(self, message: Message, raw: Raw) -> Masking:
        """Returns what masking the message's outputs brings. Reads them."""
        saving, maskable = 0, list[tuple[int, str]]()
        for number, result in enumerate(message.tool_results):
            saved = self.count(result.text) - self._line
            if saved < _MIN_SAVING or not self.may_mask(result, raw):
                continue
            if facts := facts_of(result).text:
                saved -= self.count(facts) + 1
            if saved >= _MIN_SAVING:
                saving += saved
                maskable.append((number, facts))
        return Masking(saving, tuple(maskable))

    def _thinking(self, message: Message, raw: Raw, cost: int) -> int:
        """Tokens that are left out where `unbound` is sent in the place of the message."""
        if not any(isinstance(part, Opaque) and prefix_bound(part) for part in message.parts):
            return 0
        rest = unbound(raw)
        return cost if rest is None else max(0, cost - self.message(parse(rest, self.provider), rest).cost)

    def _written(self, message: Message, raw: Raw, cost: int) -> int:
        """What the message costs where a dialect has to write it anew, or without germane's own keys."""
        native = outgoing(message, raw, self.provider).native
        if native is None:
            return cost + shaping([message], self.profile, self.count) if message.tool_calls or message.tool_results else cost
        return cost if native is raw else max(cost, message_tokens(parse(native, self.provider), self.profile, self.count))

    def may_mask(self, result: ToolResult, raw: Raw) -> bool:
        """Returns whether a line may stand for the result: it is final, and no line yet."""
        return masked_handle(result.text) is None and result_state(result, raw) == "final"

    def fixed(self, system: object, tools: Sequence[Mapping[str, Any]]) -> int:
        """Returns the tokens of a request without its messages: its own overhead, the tools, a system prompt apart."""
        message = system_prompt(system, self.provider)
        said = 0 if message is None else self.text_tokens(system_text(message.get("content", message.get("parts"))))
        return self.profile.per_request + tools_tokens(tools, self.profile, self.count) + said

    def text_tokens(self, text: str) -> int:
        """Returns the tokens of a message that holds this text."""
        return self.profile.per_message + self.count(text)

    def wire(self, wire: Wire, known: Mapping[int, int], parse: Any) -> int:
        """Returns the tokens of the messages of a request as they are sent, its system prompt included; `known` are those of
        dicts that are the caller's own, by `id`."""
        total = 0 if wire.system is None else self.text_tokens(system_text(wire.system))
        for raw in wire.messages:
            cost = known.get(id(raw))
            total += message_tokens(parse(mapping(raw)), self.profile, self.count) if cost is None else cost
        return total


# What masking brings, message by message; outputs are read at the first question. It keeps the lists of the
# conversation and not the conversation itself: so there is no reference cycle, and the memory is freed at once.


_NO_MASKING = Masking()


class Maskings:
    """By the index of a message. `raws`, `messages` and `costs` may grow."""

    __slots__ = ("_costs", "_known", "_measure", "_messages", "_raws")

    def __init__(
        self, measure: Measure, raws: Sequence[Raw], messages: Sequence[Message], costs: Sequence[MessageCost]
    ) -> None:
        self._measure, self._raws, self._messages, self._costs = measure, raws, messages, costs
        self._known: dict[int, Masking] = {}

    def of(self, index: int) -> Masking:
        """What masking the message brings."""
        if not self._costs[index].outputs:
            return _NO_MASKING
        known = self._known.get(index)
        if known is None:
            known = self._known[index] = self._measure.masking(self._messages[index], self._raws[index])
        return known

    def saving(self, index: int) -> int:
        """The tokens that it takes away at least."""
        return self.of(index).saving
