"""Edit: the plan that changes the content of a block: all of some mutations, or none.

The plan runs in the store's transaction, so the mutations are applied to the newest state, whoever wrote it. Two preconditions
can be given. `if_hash` refuses the edit where the content isn't what the caller has read. `base` is the version that the caller
has read, and keeps what was changed since: a text that is set is merged, what doesn't depend on positions is applied as it is,
and what does is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from germane.blocks.block import Block
from germane.blocks.cache import DocumentCache
from germane.blocks.consent_request import ConsentRequest
from germane.blocks.editor import Editor, digest_of, found, permitted, refuse_stale
from germane.blocks.mutation import (
    AppendEntry,
    AppendText,
    AppendToField,
    Increment,
    Mutation,
    PushItem,
    ReplaceText,
    SetField,
    SetText,
    as_dict,
    parse_mutation,
)
from germane.blocks.operations import HistoryOf
from germane.blocks.revise import Edited, Opened, opened, revised
from germane.errors import InvalidInput, Stale
from germane.text.secrets.screen import SecretPolicy, SecretScreen, refuse_joined
from germane.types.plan import Decision, Plan, read

__all__ = ["MAX_MUTATIONS", "edit_block", "screened_mutations", "words_of"]

MAX_MUTATIONS = 1_000
"""Mutations of one edit."""
_ANYWHERE = AppendText | AppendEntry | AppendToField | Increment | PushItem | ReplaceText | SetField
"""Mutations that mean the same wherever other things have moved."""
_WORDS = 200
"""Characters of an operation in words."""


def edit_block(
    name: object,
    mutations: Sequence[Mutation],
    editor: Editor,
    *,
    cache: DocumentCache,
    base: int | None = None,
    if_hash: str | None = None,
    secrets: Mapping[str, int] | None = None,
    policy: SecretPolicy = "redact",
) -> Plan[Edited | ConsentRequest]:
    """Applies the mutations to the block that a label or an id stands for. The outcome is the edited block, or the request
    where somebody has to agree first. `secrets` are those that the mutations were screened for by `policy`. Raises `NotFound`,
    `NotPermitted`, `Stale` where a precondition doesn't hold, and `InvalidInput` where a mutation doesn't fit or the block
    gets too long; then nothing is written."""
    block = yield from found(name, editor.scope)
    operation = words_of(mutations)
    digest = digest_of(block.id, [as_dict(mutation) for mutation in mutations])
    refuse_stale(block, if_hash)
    needs = [mutation.needs for mutation in mutations]
    changes, request = yield from permitted(block, operation, needs, digest, editor)
    if request is not None:
        return Decision(changes, request)
    open = yield from opened(block, cache)
    state = None
    if base is not None:
        history = yield from read(HistoryOf(block.id))
        state = next((kept.frontiers for kept in history if kept.version.number == base), None)
        if state is None or any(kept.version.kind == "schema" and kept.version.number > base for kept in history):
            raise Stale(f"version {base} of block {block.label!r} isn't kept any more: read the block and decide again")
    if state is None or state == open.before:
        open.document.apply(*mutations, at=editor.at, by=editor.name, system=editor.system and block.shared_from is None)
    else:
        _rebased(block, open, mutations, state, editor)
    more, edited = revised(block, open, editor, kind="edit", operation=operation)
    refuse_joined(policy, f"block {block.label!r}", block.text, edited.block.text)
    return Decision((*changes, *more), replace(edited, block=replace(edited.block, secrets=dict(secrets or {}))))


def screened_mutations(
    mutations: Sequence[object], policy: SecretPolicy, label: str = ""
) -> tuple[tuple[Mutation, ...], dict[str, int]]:
    """Returns checked mutations, with the policy on secrets applied to each of their texts, and the secrets found by kind.
    Raises `InvalidInput`."""
    if not mutations:
        raise InvalidInput("nothing to do: give at least one mutation")
    if len(mutations) > MAX_MUTATIONS:
        raise InvalidInput(f"{len(mutations):,} mutations, {MAX_MUTATIONS:,} are allowed: make several edits")
    parsed = tuple(parse_mutation(one if isinstance(one, dict) else _plain(one)) for one in mutations)
    screen = SecretScreen(policy, "the block")
    screened = []
    for one in parsed:
        plain = as_dict(one)
        text = {key: screen.json(value, label) for key, value in plain.items() if key in ("text", "old", "new")}
        field = str(plain.get("field", label))
        if "value" in plain:
            text["value"] = screen.json(plain["value"], field)
        screened.append(parse_mutation(plain | text))
    return tuple(screened), dict(screen.found)


def words_of(mutations: Sequence[Mutation]) -> str:
    """Returns what is done in words, without content: the names of the operations, in order."""
    words = ", ".join(dict.fromkeys(mutation.op for mutation in mutations))
    return words if len(words) <= _WORDS else f"{words[: _WORDS - 1]}…"


def _plain(mutation: object) -> object:
    return as_dict(mutation) if isinstance(mutation, Mutation) else mutation


def _rebased(block: Block, open: Opened, mutations: Sequence[Mutation], base: bytes, editor: Editor) -> None:
    """Applies mutations that were decided on an earlier version."""
    system = editor.system and block.shared_from is None
    for mutation in mutations:
        if isinstance(mutation, SetText):
            open.document.rewrite(mutation.text, base, section=mutation.section, system=system)
        elif isinstance(mutation, _ANYWHERE):
            open.document.apply(mutation, at=editor.at, by=editor.name, system=system)
        else:
            raise Stale(
                f"block {block.label!r} was changed since, so that {mutation.op} could hit another place: read it again"
            )
