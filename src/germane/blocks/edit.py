"""Edit: the plan that changes the content of a block: all of some mutations, or none.

The plan runs in the store's transaction, so the mutations are applied to the newest state, whoever wrote it. Two preconditions
can be given. `if_hash` refuses the edit where the content isn't what the caller has read. `base` is the version that the caller
has read, and keeps what was changed since: a text that is set is merged, what doesn't depend on positions is applied as it is,
and what does is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from germane.blocks.block import Block
from germane.blocks.cache import DocumentCache
from germane.blocks.consent_request import ConsentRequest
from germane.blocks.editor import Editor, digest_of, found, permitted, refuse_stale
from germane.blocks.mutation import (
    AppendEntry,
    AppendText,
    AppendToField,
    Increment,
    InsertLines,
    Mutation,
    PushItem,
    ReplaceText,
    SetField,
    SetText,
    as_dict,
    parse_mutation,
)
from germane.blocks.operations import HistoryOf
from germane.blocks.revise import Edited, Opened, opened, refuse_long, revised
from germane.errors import InvalidInput, Stale
from germane.text.secrets.screen import SecretPolicy, SecretScreen, refuse_joined
from germane.types.extent import bounded
from germane.types.plan import Decision, Plan, read

__all__ = ["MAX_MUTATIONS", "edit_block", "screened_mutations", "words_of"]

MAX_MUTATIONS = 1_000
"""Mutations of one edit."""
_MAX_GIVEN = 400_000
"""Characters and values of all mutations of one edit together: four times what a block may hold."""
_MAX_READ = 20_000_000
"""Characters that the mutations of one edit look through, each the whole text that it is applied to."""
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
    _refuse_reading(block, mutations)
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
        open.document.apply(
            *mutations,
            at=editor.at,
            by=editor.name,
            system=editor.system and block.shared_from is None,
            accept=lambda text: refuse_long(block.label, text, block.limit),
        )
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
    given = sum(map(sum, (bounded("a mutation", as_dict(one)) for one in parsed)))
    if given > _MAX_GIVEN:
        raise InvalidInput(f"{given:,} characters and values, {_MAX_GIVEN:,} are allowed in one edit: make several edits")
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


def _refuse_reading(block: Block, mutations: Sequence[Mutation]) -> None:
    """Raises `InvalidInput` where many mutations would each look through a long text: nobody else can write meanwhile."""
    looking = sum(isinstance(one, ReplaceText | InsertLines) for one in mutations)
    if looking * len(block.text) > _MAX_READ:
        most = _MAX_READ // len(block.text)
        raise InvalidInput(
            f"{looking:,} replace_text and insert_lines on {len(block.text):,} characters, {most:,} are allowed: make several"
            " edits, or set the whole text"
        )


def _plain(mutation: object) -> object:
    return as_dict(mutation) if isinstance(mutation, Mutation) else mutation


def _rebased(block: Block, open: Opened, mutations: Sequence[Mutation], base: bytes, editor: Editor) -> None:
    """Applies mutations that were decided on an earlier version."""
    sections = set[str | None]()
    for mutation in mutations:
        if not isinstance(mutation, SetText | _ANYWHERE):
            raise Stale(
                f"block {block.label!r} was changed since, so that {mutation.op} could hit another place: read it again"
            )
        if isinstance(mutation, SetText):
            if mutation.section in sections:
                raise InvalidInput("with base, an edit can set a text once: leave out what the last set_text replaces")
            sections.add(mutation.section)
    system = editor.system and block.shared_from is None
    past = open.document.at(base) if sections else None
    for sets, run in groupby(mutations, lambda one: isinstance(one, SetText)):
        if not sets or past is None:
            open.document.apply(*run, at=editor.at, by=editor.name, system=system)
            continue
        for one in run:
            assert isinstance(one, SetText)
            open.document.rewrite(one.text, past, section=one.section, system=system)
