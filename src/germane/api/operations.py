"""Operations: the table of what services offer, made of the methods that `operation` marks.

An operation's name is the handle's and the method's (`tasks.push`); what it takes and returns stands in the method's
annotations. A service reads the arguments with `Operation.arguments` and calls `Operation.run`; the clients' handles are made
from the same table.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, Signature, signature
from operator import attrgetter
from types import MappingProxyType
from typing import Any, get_origin, get_type_hints

from germane.api.agent import Agent
from germane.api.germane import Germane
from germane.api.remote_verbs import RemoteConversations, RemoteVerbs
from germane.errors import InvalidInput
from germane.kinds.blocks.handle import AgentBlocks
from germane.kinds.documents.handle import AgentDocuments
from germane.kinds.events.handle import AgentEvents
from germane.kinds.graph.handle import AgentGraph, Patterns
from germane.kinds.memories.handle import AgentMemories
from germane.kinds.memories.upkeep import Audit, Consolidated
from germane.kinds.profile.value import Mark, ProfileView
from germane.kinds.tasks.handle import AgentTasks, Delegations
from germane.types.budget import CompressedText, TokenCount
from germane.types.codec import decode
from germane.types.operation import Declared, Right, declared
from germane.types.reports import ExtractionRun

HANDLES: tuple[tuple[str, type], ...] = (
    ("", Agent),
    ("", RemoteVerbs),
    ("blocks", AgentBlocks),
    ("delegations", Delegations),
    ("documents", AgentDocuments),
    ("events", AgentEvents),
    ("graph", AgentGraph),
    ("graph.patterns", Patterns),
    ("conversations", RemoteConversations),
    ("memories", AgentMemories),
    ("tasks", AgentTasks),
)
"""The classes whose methods are operations, by the attribute of `Agent` that holds each; the agent's own without one."""
_LATER = {
    "Audit": Audit,
    "CompressedText": CompressedText,
    "Consolidated": Consolidated,
    "Exported": dict[str, Any],
    "ExtractionRun": ExtractionRun,
    "Mark": Mark,
    "ProfileView": ProfileView,
    "TokenCount": TokenCount,
}
"""Types that annotations name and their modules import only for type checkers."""
_LISTED, _NAMED = Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation. `parameters` are the method's without `self` and those that are fixed, `hints` their types and the
    result's (`return`)."""

    name: str
    attribute: str
    handle: type
    method: Callable[..., Any]
    declared: Declared
    parameters: Mapping[str, Parameter]
    hints: Mapping[str, Any]

    @property
    def right(self) -> Right:
        return self.declared.right

    @property
    def result(self) -> Any:
        """The type of the result."""
        return self.hints["return"]

    @property
    def streams(self) -> bool:
        """Whether the method yields its result, one JSON value at a time: then `stream` calls it, and not `run`."""
        return get_origin(self.result) is AsyncIterator

    def stream(self, agent: Agent) -> AsyncIterator[Any]:
        """Calls a method that streams. It takes no arguments."""
        yielded: AsyncIterator[Any] = self.method(agent)
        return yielded

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the JSON values in `given` as the method's arguments. `*args` are a list under their name, `**kwargs` an
        object. Raises `InvalidInput`, naming the argument."""
        if unknown := sorted(given.keys() - self.parameters.keys()):
            raise InvalidInput(f"{self.name} has no argument {{}}", unknown[0])
        found: dict[str, Any] = {}
        for name, parameter in self.parameters.items():
            if name in given:
                found[name] = decode(listed_hint(parameter, self.hints[name]), given[name], name)
            elif parameter.default is Parameter.empty and parameter.kind not in (_LISTED, _NAMED):
                raise InvalidInput("is missing", path=name)
        for name, parameter in self.parameters.items():
            if parameter.kind is not _NAMED:
                continue
            if twice := sorted(found.get(name, {}).keys() & signature(self.method).parameters.keys()):
                raise InvalidInput(f"holds {twice[0]}, which is an argument of its own", path=name)
        return found

    async def run(self, agent: Agent, arguments: Mapping[str, Any], *, germane: Germane, keep: bool = True) -> Any:
        """Calls the method of the agent's handle with what `arguments` returned. `keep` is false for a caller who may not
        write: a request that is built then keeps nothing. Raises what the method raises."""
        listed: list[Any] = []
        named: dict[str, Any] = dict(self.declared.fixed)
        positional = any(parameter.kind is _LISTED for parameter in self.parameters.values())
        for name, parameter in self.parameters.items():
            if parameter.kind is _NAMED:
                named |= arguments.get(name, {})
            elif parameter.kind is _LISTED:
                listed += arguments.get(name, ())
            elif positional and parameter.kind is Parameter.POSITIONAL_OR_KEYWORD:
                listed.append(arguments.get(name, parameter.default))
            elif name in arguments:
                named[name] = arguments[name]
        target: Any = agent
        if self.handle is RemoteVerbs:
            target = RemoteVerbs(agent, germane, keep=keep)
        elif self.attribute:
            target = RemoteConversations(agent) if self.handle is RemoteConversations else attrgetter(self.attribute)(agent)
        result = await self.method(target, *listed, **named)
        if (data := self.declared.gives) is None:
            return result
        return tuple(map(data.of, result)) if type(result) is tuple else data.of(result)


def listed_hint(parameter: Parameter, hint: Any) -> Any:
    """Returns the type of an argument as a caller gives it: a list for `*args`, an object for `**kwargs`."""
    return list[hint] if parameter.kind is _LISTED else dict[str, hint] if parameter.kind is _NAMED else hint


@cache
def operations() -> Mapping[str, Operation]:
    """Returns the operations by name, in the order of their handles."""
    return MappingProxyType({one.name: one for attribute, handle in HANDLES for one in _of(attribute, handle)})


def _of(attribute: str, handle: type) -> list[Operation]:
    found = []
    for name, method in vars(handle).items():
        if (said := declared(method)) is None:
            continue
        own: Signature = signature(method)
        hints = {**get_type_hints(method, localns=_LATER), **said.takes}
        if said.gives is not None:
            data: Any = said.gives
            hints["return"] = tuple[data, ...] if get_origin(hints["return"]) is tuple else data
        parameters = {key: value for key, value in [*own.parameters.items()][1:] if key not in said.fixed}
        found.append(
            Operation(
                name=f"{attribute}.{name}" if attribute else name,
                attribute=attribute,
                handle=handle,
                method=method,
                declared=said,
                parameters=MappingProxyType(parameters),
                hints=MappingProxyType(hints),
            )
        )
    return found
