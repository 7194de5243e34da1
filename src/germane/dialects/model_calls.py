"""Model calls: which HTTP requests are calls of a model, what is read of one, and its body with what a context adds.

A call is known by the path of its request. Its body is that of the provider's HTTP API, as bytes or as the SDK that sends it
has it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from types import MappingProxyType
from typing import Any

from germane.dialects.registry import parse_all
from germane.text.json_splice import splice
from germane.text.normal import valid_unicode
from germane.types.context import Context
from germane.types.message import is_human

_APIS: Mapping[str, str] = MappingProxyType(
    {"/chat/completions": "openai", "/responses": "openai-responses", "/v1/messages": "anthropic"}
)
"""How the paths of calls end, with the dialect of each."""
BETAS = "anthropic-beta"
"""The header of a request that names Anthropic's betas."""
_OWN = frozenset({"id", "created_at", "name"})
"""Fields of messages that germane reads, and leaves out where a provider has none or another form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedBody:
    """A call's body with what a context adds. `betas` are the names of Anthropic's betas that it needs: the HTTP API takes
    them in a header, and refuses them in a body."""

    fields: dict[str, Any]
    before: Mapping[str, Any]
    betas: tuple[str, ...] = ()

    def written(self, original: bytes) -> bytes:
        """Returns the bytes of the call, of which `before` is the value, changed to this body. Raises `Unspliceable`."""
        return splice(original, self.fields, before=self.before)

    def beta_header(self, given: str) -> str:
        """Returns the value of the header `BETAS`: the caller's, and behind it the names that it lacks."""
        names = {name.strip() for name in given.split(",")}
        return ",".join((*([given] if given.strip() else []), *(name for name in self.betas if name not in names)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """A request to a model: the name of its dialect, its body, and the messages in it. `held` says that the provider holds the
    conversation, so that these are its new messages alone."""

    api: str
    body: Mapping[str, Any]
    messages: Sequence[Mapping[str, Any]]
    held: bool

    @property
    def asking(self) -> dict[str, Any]:
        """The arguments of `assemble` and of `fallback` that the body gives, apart from the messages."""
        system = self.body.get({"anthropic": "system", "openai-responses": "instructions"}.get(self.api, ""))
        return {"model": self.body["model"], "provider": self.api, "system": system or None}

    @property
    def tools(self) -> Sequence[Any] | None:
        """The tools for `assemble`; None where the body has none, and where the provider holds them."""
        given = self.body.get("tools")
        if self.api == "openai" and not given and isinstance(functions := self.body.get("functions"), list | tuple):
            given = [{"type": "function", "function": one} for one in functions]
        return given if isinstance(given, list | tuple) and given and not self.held else None

    def body_with(self, context: Context) -> ChangedBody | None:
        """Returns the body with what the context adds; None where it adds nothing. All of the caller's own is in it as it came;
        where a context has rewritten a message, because the provider would refuse it as it is, the result is None, and the
        provider says so itself.

        Where the provider holds the conversation, only the user's new words get a text, and the instructions, which each
        request of the Responses API brings anew."""
        if not (context.added or context.earlier or context.metadata.thinking_prefix_changed):
            return None
        if self.api == "openai":
            return self._of_fields(messages=self._chat(context))
        if self.api == "openai-responses":
            return self._of_fields(input=self._input(context), instructions=self._instructions(context))
        if self.held:
            turns = None if context.convert_turns is None or not self._asks else context.convert_turns("anthropic")
            return None if turns is None else self._of_fields(messages=self._turns(turns.messages, context))
        thinking = self.body.get("thinking")
        written = context.to_anthropic(thinking=thinking if isinstance(thinking, Mapping) else None)
        betas, messages = written.pop("betas", ()), self._turns(written.pop("messages"), context)
        return self._of_fields(**written, messages=messages, betas=tuple(betas))

    def _of_fields(self, betas: tuple[str, ...] = (), **fields: Any) -> ChangedBody | None:
        """Returns the body with these fields, those that are None left out; None without messages."""
        if fields.get("messages", fields.get("input")) is None:
            return None
        changed = {name: one for name, one in fields.items() if one is not None}
        return ChangedBody(fields={**self.body, **changed}, before=self.body, betas=betas)

    @property
    def _asks(self) -> bool:
        """Whether the messages hold words of the user, and no results of calls that the provider holds."""
        parsed = parse_all(self.messages, self.api)
        return any(map(is_human, parsed)) and not any(one.tool_results for one in parsed)

    def _chat(self, context: Context) -> list[Any] | None:
        """The messages of chat completions. A model doesn't take the roles system and developer side by side."""
        messages = _with_added(self.messages, context.to_openai(), _AddedTexts(context.added))
        roles = {one.get("role") for one in self.messages}
        if messages is None or "developer" not in roles or "system" in roles:
            return messages
        return [{**one, "role": "developer"} if one.get("role") == "system" else one for one in messages]

    def _input(self, context: Context) -> Any:
        """The input of the Responses API. A system message at its start, which a context writes into `instructions`, stays: the
        provider holds it for later requests, and no instructions."""
        if self.held and not self._asks:
            return self.body["input"]
        lead = list(takewhile(_is_system_text, self.messages))
        items = context.to_openai_responses()["input"]
        added = _with_added(self.messages[len(lead) :], items, _AddedTexts(context.added))
        if added is None:
            return None
        return [*lead, *added] if len(lead) + len(added) > len(self.messages) else self.body["input"]

    def _instructions(self, context: Context) -> str | None:
        own = self.asking["system"]
        own = own if isinstance(own, str) else ""
        return "\n\n".join(filter(None, (valid_unicode(context.stable), own))) or None

    def _turns(self, written: Sequence[Mapping[str, Any]], context: Context) -> list[Any] | None:
        """Anthropic's messages. A context merges those of one role, and writes texts as blocks."""
        added = _AddedTexts(context.added)
        blocks = deque((message["role"], block) for message in written for block in _blocks(message))
        messages = list[Any]()
        for own in self.messages:
            role, content, changed = own.get("role"), list[Any](), False
            for block in _blocks(own):
                while blocks and blocks[0] != (role, block):
                    said, other = blocks.popleft()
                    if said != role or not isinstance(other, Mapping) or not added.holds(other.get("text")):
                        return None
                    content.append(other)
                    changed = True
                if not blocks:
                    return None
                blocks.popleft()
                content.append(block)
            messages.append({**own, "content": content} if changed else own)
        return None if blocks else messages


class _AddedTexts:
    """The texts that a context adds, which are asked for in their order."""

    def __init__(self, added: str) -> None:
        self._added, self._end = valid_unicode(added), 0

    def holds(self, text: object) -> bool:
        """Returns whether this is one of them."""
        if not isinstance(text, str) or not text:
            return False
        at = self._added.find(text, self._end)
        at = self._added.find(text) if at < 0 else at
        self._end = self._end if at < 0 else at + len(text)
        return at >= 0


def _with_added(own: Sequence[Mapping[str, Any]], written: Sequence[Any], added: _AddedTexts) -> list[Any] | None:
    """Returns the caller's own messages, as they came, with the added ones among them; None where one isn't there as it was."""
    messages, at = list[Any](), 0
    for one in written:
        if at < len(own) and _is_from(own[at], one):
            messages.append(own[at])
            at += 1
        elif added.holds(one.get("content")):
            messages.append(one)
        else:
            return None
    return messages if at == len(own) else None


def _is_from(own: Mapping[str, Any], written: Mapping[str, Any]) -> bool:
    """Returns whether a written message is the caller's own, perhaps without a field that germane has for itself."""
    if own is written:
        return True
    left_out = own.keys() - written.keys()
    return all(own.get(key) == one for key, one in written.items() if key != "name") and not any(map(own.get, left_out - _OWN))


def _is_system_text(item: object) -> bool:
    return isinstance(item, Mapping) and item.get("role") == "system" and isinstance(item.get("content"), str)


def _blocks(message: Mapping[str, Any]) -> Sequence[Any]:
    """The blocks of one of Anthropic's messages; a text is a block."""
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or ()


def is_model_call(path: str) -> bool:
    """Returns whether a POST request to this path, or this URL, may be a call of a model: its body tells."""
    return _api(path) is not None


def _api(path: str) -> str | None:
    return next((api for ending, api in _APIS.items() if path.partition("?")[0].endswith(ending)), None)


def read_call(path: str, body: bytes | Mapping[str, Any]) -> ModelCall | None:
    """Returns the call that a POST request is, by its path or its URL, and its body as bytes or as parsed. None for every other
    request, and for a body that can't be read: not JSON in UTF-8, or without a model or messages. Never raises."""
    if (api := _api(path)) is None:
        return None
    try:
        fields = json.loads(body.decode()) if isinstance(body, bytes) else body
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, Mapping) or not isinstance(fields.get("model"), str):
        return None
    given = fields.get("input" if api == "openai-responses" else "messages")
    messages = [{"role": "user", "content": given}] if isinstance(given, str) and given else given
    if not messages or not isinstance(messages, list | tuple):
        return None
    return ModelCall(api=api, body=fields, messages=messages, held=_is_held(api, fields))


def _is_held(api: str, fields: Mapping[str, Any]) -> bool:
    if api == "openai-responses":
        return any(fields.get(name) for name in ("previous_response_id", "conversation"))
    thread = fields.get("thread")
    return api == "anthropic" and isinstance(thread, Mapping) and thread.get("type") == "continue"
