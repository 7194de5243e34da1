"""Blocking client parts: the blocking twin of `client_parts.py`."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

from germane.grpc.calling import (
    activity_rpcs,
    delegation_rpcs,
    document_rpcs,
    graph_rpcs,
    history_rpcs,
    looking_rpcs,
    task_rpcs,
)
from germane.grpc.calling.assemble_call import ClientScope
from germane.grpc.calling.rpcs import ClientRpc

__all__ = [
    "ClientDelegations",
    "ClientDocuments",
    "ClientEvents",
    "ClientGraph",
    "ClientHistory",
    "ClientPatterns",
    "ClientTasks",
]

P = ParamSpec("P")
T = TypeVar("T")


class _Part:
    """Calls within one scope over the client's connection."""

    def __init__(self, scope: ClientScope, run: Callable[[ClientRpc[Any]], Any]) -> None:
        self._scope, self._run = scope, run


def _raises(
    make_rpc: Callable[Concatenate[ClientScope, P], ClientRpc[T]],
) -> Callable[Concatenate[_Part, P], T]:
    """Makes a method that runs the RPC. It raises germane's errors, `StoreUnavailable` where the service doesn't answer."""

    def method(self: _Part, /, *args: P.args, **kwargs: P.kwargs) -> T:
        answer: T = self._run(make_rpc(self._scope, *args, **kwargs))
        return answer

    update_wrapper(method, make_rpc)
    return method


class ClientEvents(_Part):
    """As `germane.grpc.client_parts.ClientEvents`."""

    record = _raises(activity_rpcs.record)
    record_many = _raises(activity_rpcs.record_many)
    list = _raises(activity_rpcs.list_events)
    highlights = _raises(activity_rpcs.highlights)


class ClientDocuments(_Part):
    """As `germane.grpc.client_parts.ClientDocuments`."""

    ingest = _raises(document_rpcs.ingest)
    get = _raises(document_rpcs.get)
    list = _raises(document_rpcs.list_documents)
    forget = _raises(document_rpcs.forget)


class ClientTasks(_Part):
    """As `germane.grpc.client_parts.ClientTasks`."""

    push = _raises(task_rpcs.push)
    pop = _raises(task_rpcs.pop)
    fail = _raises(task_rpcs.fail)
    block = _raises(task_rpcs.block)
    resume = _raises(task_rpcs.resume)
    peek = _raises(task_rpcs.peek)
    path = _raises(task_rpcs.path)
    get = _raises(task_rpcs.get)
    list = _raises(task_rpcs.list_tasks)
    checkpoint = _raises(task_rpcs.checkpoint)
    branch = _raises(task_rpcs.branch)
    switch = _raises(task_rpcs.switch)
    inject = _raises(task_rpcs.inject)
    abandon = _raises(task_rpcs.abandon)
    branches = _raises(task_rpcs.branches)


class ClientHistory(_Part):
    """As `germane.grpc.client_parts.ClientHistory`."""

    __call__ = _raises(looking_rpcs.history)
    compact = _raises(history_rpcs.compact)
    show = _raises(history_rpcs.show)
    rebuild = _raises(history_rpcs.rebuild)
    outline = _raises(history_rpcs.outline)
    summaries = _raises(history_rpcs.summaries)


class ClientPatterns(_Part):
    """As `germane.grpc.client_parts.ClientPatterns`."""

    learn = _raises(graph_rpcs.learn)
    match = _raises(graph_rpcs.match)
    apply_result = _raises(graph_rpcs.apply_result)


class ClientGraph(_Part):
    """As `germane.grpc.client_parts.ClientGraph`."""

    add = _raises(graph_rpcs.add)
    get = _raises(graph_rpcs.get)
    find = _raises(graph_rpcs.find)
    list = _raises(graph_rpcs.list_entities)
    relate = _raises(graph_rpcs.relate)
    unrelate = _raises(graph_rpcs.unrelate)
    relations = _raises(graph_rpcs.relations)
    traverse = _raises(graph_rpcs.traverse)
    salient = _raises(graph_rpcs.salient)
    chain = _raises(graph_rpcs.chain)
    path = _raises(graph_rpcs.path)
    merge = _raises(graph_rpcs.merge)
    forget = _raises(graph_rpcs.forget)

    @property
    def patterns(self) -> ClientPatterns:
        """What worked before."""
        return ClientPatterns(self._scope, self._run)


class ClientDelegations(_Part):
    """As `germane.grpc.client_parts.ClientDelegations`."""

    finish = _raises(delegation_rpcs.finish)
    list = _raises(delegation_rpcs.list_delegations)
