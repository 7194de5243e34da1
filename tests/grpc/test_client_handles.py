"""The clients' handles are made from the table of operations, and the table holds what the library's handles do."""

from __future__ import annotations

from inspect import iscoroutinefunction, isfunction
from typing import Any, get_args

import pytest

from germane.api.operations import HANDLES, operations
from germane.types.operation import Withholding, declared
from support.client_handles import FILES, FOLDER, formatted, made

pytestmark = pytest.mark.requirement("RPC-2")

HERE_ONLY = {
    "tasks.expand": "takes a context of this process; `expand` of the client takes ids",
    "delegations.begin": "`delegate` is its verb",
    "blocks.subscribe": "it calls a function of this process",
    "documents.ingest_folder": "it reads files of this machine",
    "delegations.allowed": "an agent in this process asks it before it assembles",
}
"""Methods of handles that are no operations, each with the reason."""
BARE = frozenset({"TaskBranch", "TaskCheckpoint", "Share", "ConsentRequest", "Receipt", "Ingested"})
"""Results of operations that write which hold nothing but names, ids and times."""


@pytest.mark.parametrize("name", FILES)
def test_a_made_module_is_what_the_table_says(name: str) -> None:
    """A handle that was changed without `make docs` fails here."""
    assert (FOLDER / name).read_text("utf-8") == formatted(made(name))


def test_every_method_of_a_handle_is_an_operation() -> None:
    """Or it is listed with the reason."""
    found = {
        f"{room}.{name}".lstrip(".")
        for room, handle in HANDLES
        if room
        for name, method in vars(handle).items()
        if isfunction(method) and not name.startswith("_") and declared(method) is None
    }
    assert found == set(HERE_ONLY)
    assert all(iscoroutinefunction(one.method) for one in operations().values())


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
