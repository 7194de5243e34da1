"""The clients' handles are made from the table of operations, and the table holds what the library's handles do."""

from __future__ import annotations

from inspect import iscoroutinefunction
from types import FunctionType
from typing import Any, get_args

import pytest

from germane.api.germane import Germane
from germane.api.operations import HANDLES, operations
from germane.grpc.messages import context_pb2, memory_pb2
from germane.kinds.conversations.handle import AgentConversations
from germane.kinds.keys.handle import Keyring
from germane.kinds.tasks.handle import Delegation
from germane.types.operation import Withholding
from support.client_handles import FILE, made

pytestmark = pytest.mark.requirement("RPC-2")

TYPED = {
    "assemble": "AssembleContext",
    "export": "Export",
}
"""Methods of `Agent` that are RPCs with messages of their own, by the RPC."""
ALSO_TYPED = {
    "feedback": "GiveFeedback",
    "forget": "Forget",
    "search": "Search",
    "record": "Record",
    "remember": "Remember",
}
"""Operations that have messages of their own too, for clients in other languages."""
OPERATOR = "it is the operator's, who has the file: keys are of one org"
PROXY = "the service's proxy calls it, to find a session again"
STORE = "the adapter of LangGraph's store calls it in its own process"
PROCESS = "it is about this process"
BEGINS = "it begins something that lives in this process"
ELSEWHERE = {
    "builder": f"{BEGINS}; `build` takes the whole request",
    "fallback": "`AssembleContext` answers so by itself where it has no time",
    "restore": "it stores an export as it was, without the checks of what a key may write; its lines are a stream",
    "update_context": "it takes a context of this process; `build_context` builds it anew",
    "warm": "a service warms what it searches by itself; `warm` of the client connects",
    "delegation.assemble": "the other agent calls `assemble`, with the session and the filters of its frame",
    "delegation.complete": "`delegations.finish` is its operation",
    "delegation.explain": "`delegate` returns it as `explanation`",
    "delegation.fail": "`delegations.finish` is its operation",
    "blocks.subscribe": "it calls a function of this process",
    "delegations.allowed": "an agent in this process asks it before it assembles",
    "delegations.begin": "`delegate` is its verb",
    "documents.ingest_folder": "it reads files of this machine",
    "tasks.expand": "takes a context of this process; `expand` of the client takes ids",
    "within": f"{BEGINS}; every call names its scope",
    "germane.agent": f"{BEGINS}; every call names its scope",
    "germane.close": PROCESS,
    "germane.open": PROCESS,
    "germane.agents": "`agents` is its operation, for a key of all agents",
    "germane.backup": OPERATOR,
    "germane.check": OPERATOR,
    "germane.export": f"`Export` writes one agent; {OPERATOR}",
    "germane.forget": OPERATOR,
    "germane.orgs": OPERATOR,
    "germane.owner": OPERATOR,
    "germane.pseudonym": OPERATOR,
    "germane.reembed": OPERATOR,
    "germane.restore": OPERATOR,
    "germane.upgrade": OPERATOR,
    "germane.verify": OPERATOR,
    "germane.count": "`estimate_tokens` is its operation",
    "germane.ping": "the service's health answers it",
    "keys.create": OPERATOR,
    "keys.list": OPERATOR,
    "keys.revoke": OPERATOR,
    "keys.verify": "the service asks it at each call",
    "conversations.aliased": PROXY,
    "conversations.add_aliases": PROXY,
    "memories.fact": STORE,
    "memories.put_fact": STORE,
}
"""Methods that are no operations, each with the reason."""
BARE = frozenset(
    {
        "TaskBranch",
        "TaskCheckpoint",
        "Share",
        "ConsentRequest",
        "Receipt",
        "Recorded",
        "Ingested",
        "Consolidated",
        "ExtractionRun",
    }
)
"""Results of operations that write which hold nothing but names, ids, numbers and times."""


def test_the_made_module_is_what_the_table_says() -> None:
    """A handle that was changed without `make twins` fails here."""
    assert FILE.read_text("utf-8") == made()


def test_every_public_method_is_an_operation() -> None:
    """Or a typed RPC, or it is listed with the reason; and what is listed exists."""
    rooms = (
        *HANDLES,
        ("germane", Germane),
        ("keys", Keyring),
        ("delegation", Delegation),
        ("conversations", AgentConversations),
    )
    methods = {
        f"{room}.{name}".lstrip(".")
        for room, handle in rooms
        for name, method in vars(handle).items()
        if isinstance(method, FunctionType | classmethod) and not name.startswith("_")
    }
    assert methods - operations().keys() == ELSEWHERE.keys()
    assert {name: one.declared.rpc for name, one in operations().items() if one.declared.rpc} == TYPED
    assert operations().keys() >= ALSO_TYPED.keys()
    assert all(iscoroutinefunction(one.method) or one.streams for one in operations().values())


def test_every_typed_call_is_in_the_contract() -> None:
    """Besides health there is none that isn't listed."""
    descriptors = (context_pb2.DESCRIPTOR, memory_pb2.DESCRIPTOR)
    services = [service for one in descriptors for service in one.services_by_name.values()]
    assert {method.name for service in services for method in service.methods} == {*TYPED.values(), *ALSO_TYPED.values()}


def classes(kind: Any) -> set[type]:
    inner = get_args(kind)
    return set().union(*map(classes, inner)) if inner else {kind} if isinstance(kind, type) else set()


def test_what_is_written_answers_nothing_that_was_stored() -> None:
    """A result of an operation that writes can be given without content, or it holds none, or the key must allow reading."""
    plain = {str, int, bool, type(None)}
    for one in operations().values():
        if one.right == "write" and not one.declared.also_reads:
            for kind in classes(one.result) - plain:
                assert issubclass(kind, Withholding) or kind.__name__ in BARE, f"{one.name}: {kind.__name__}"
