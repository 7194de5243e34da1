"""Update: the plan that corrects a memory in place (MEM-3); what is no longer true is superseded with `remember`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from germane.errors import InvalidInput, NotFound
from germane.memories.checks import ends_after
from germane.memories.compose import MAIN_FIELDS, a_kind, compose
from germane.memories.memory import Memory
from germane.memories.operations import MemoriesById, PutMemory
from germane.memories.remember import attributes, hash_of
from germane.memories.screened_content import screened_attributes, screened_content
from germane.text.secrets.screen import SecretPolicy, SecretScreen
from germane.types.plan import Decision, Plan, read
from germane.types.scope import Scope

__all__ = ["update"]


def update(
    id: str,
    changes: Mapping[str, Any],
    *,
    text: str | None = None,
    at: datetime,
    scope: Scope,
    secrets: SecretPolicy = "redact",
) -> Plan[Memory]:
    """Applies `changes` (fields of the memory's kind, and `ATTRIBUTES`) and, where given, a new main `text`; the outcome is the
    memory, which isn't stale any more. Nothing is written where nothing differs. The policy on `secrets` is applied to the
    fields that are given.

    The memory must belong to the scope's own user: the scope of a user can't change an agent-wide memory, nor the other way
    round. Raises `NotFound`, and `InvalidInput` for an empty change, an unknown field, an invalid value, and a new key of a
    fact, whose timeline depends on it.
    """
    if not changes and text is None:
        raise InvalidInput("nothing to update: give a text or a field")
    found = yield from read(MemoriesById((id,)))
    memory = found.get(id)
    if memory is None or memory.user != scope.user:
        raise NotFound(f"no memory {id!r} here")
    given, about = attributes(memory.kind, changes, scope.zone)
    if "key" in given:
        raise InvalidInput("the key of a fact can't be changed: remember it under the new key and forget this one")
    screen = SecretScreen(secrets, "the memory")
    held = {field.name: getattr(memory.content, field.name) for field in fields(memory.content)}
    if text is not None:
        main = MAIN_FIELDS[memory.kind]
        if main in given:
            raise InvalidInput(f"{main} is given twice: it is what the text of {a_kind(memory.kind)} is")
        del held[main]
    content = compose(text, kind=memory.kind, given=held | given, zone=scope.zone)
    content = screened_content(content, set(given) | ({MAIN_FIELDS[memory.kind]} if text is not None else set()), screen)
    about = screened_attributes(about, screen, about.get("tags", memory.tags))
    changed = replace(memory, content=content, content_hash=hash_of(memory.kind, content), stale_since=None, **about)
    begins = "valid_from" in about
    ends = {name: end for name in ("expires_at", "valid_to") if (end := getattr(changed, name)) and (begins or name in about)}
    ends_after(changed.valid_from, given=True, **ends)
    secrets_found = dict(screen.found)
    if changed == memory:
        return Decision((), replace(memory, secrets=secrets_found))
    changed = replace(changed, updated_at=at, secrets=secrets_found)
    return Decision((PutMemory(changed),), changed)
