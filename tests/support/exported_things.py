"""Exported things: one of each kind of thing that an export holds, with every field set, and its line."""

from __future__ import annotations

import json
from collections.abc import Set
from datetime import timedelta
from typing import Any

from germane.compaction.notes import SpanSummary
from germane.kinds.blocks.permission import Share
from germane.kinds.blocks.schema import TextSchema
from germane.kinds.blocks.value import ArchivalEntry, Block, KeptVersion, Version, content_hash_of
from germane.kinds.conversations.value import KeptSummary
from germane.kinds.events.value import Event, ReplacementLink
from germane.kinds.graph.statement import EntityStatement
from germane.kinds.graph.value import Entity, Pattern, Relation
from germane.kinds.memories.conflicts import ContradictionRecord
from germane.kinds.memories.value import Episode, Fact, Note
from germane.kinds.profile.reads import MarkedLine
from germane.kinds.tasks.value import TaskArtifact, TaskBranch, TaskCheckpoint, TaskFrame
from germane.transfer.contents import (
    Owned,
    Owner,
    SessionRecord,
    StoredBlock,
    StoredDirective,
    StoredEntity,
    StoredPattern,
    StoredRelation,
    StoredStack,
    Thing,
)
from germane.transfer.lines import line_of, written
from germane.types.candidate import Provenance
from germane.types.inventory import Tombstone
from germane_testing.builders import NOON, a_memory, an_archived

ADA = Owner("acme", "support", "ada")
LATER = NOON + timedelta(hours=1)
FROM = Provenance(
    source_kind="import",
    channel="mail",
    session="s",
    message_id="m",
    tool_call_id="c",
    refs=("r",),
    metadata={"n": [1.5, None]},
)
MEMORY = a_memory(
    "Tea",
    id="m1",
    user="ada",
    updated_at=LATER,
    valid_from=LATER,
    valid_to=LATER,
    expires_at=LATER,
    superseded_by="m2",
    derived_from=("e1",),
    stale_since=LATER,
    tags=("a", "b"),
    sensitivity="sensitive",
    confidence=0.25,
    pinned=True,
    helpful=1,
    harmful=2,
    retrieval_count=3,
    content_hash=-4,
    provenance=FROM,
)
EVENT = Event(
    id="e1",
    type="tool_message",
    user="ada",
    session="s",
    position=7,
    text="hi",
    created_at=NOON,
    recorded_at=LATER,
    role="tool",
    name="Ada",
    message_id="m",
    sensitivity="public",
    outcome="ok",
    task="t",
    content_hash=-5,
    raw={"n": [1.5, None]},
    provenance=FROM,
    replaces=(ReplacementLink("e0", ends=True),),
)
FRAME = TaskFrame(
    id="t1",
    session="s",
    goal="Rest",
    parent="t0",
    branch="side",
    depth=1,
    status="failed",
    result="no",
    artifacts=(TaskArtifact(id="a", title="A"),),
    user="ada",
    sensitivity="sensitive",
    provenance=FROM,
    version=3,
    delegated="fork",
    child_session="s2",
    delegation_depth=1,
    allowed=("public",),
    created_at=NOON,
    updated_at=LATER,
    closed_at=LATER,
)
BRANCH = TaskBranch(
    session="s", name="side", parent="main", base="a", root="b", current="c", state="merged", forked_at=NOON, closed_at=NOON
)
STACK = StoredStack(
    session="s",
    branch="side",
    moves=4,
    branches=(BRANCH,),
    checkpoints=(TaskCheckpoint(session="s", name="x", branch="side", frame="c", created_at=NOON),),
)
SUMMARY = SpanSummary(text="half a \ud83d", covers=4, tokens=9, method="llm", ids=("m",), note="late")
BLOCK = Block(
    id="b",
    label="persona",
    description="who I am",
    type="core",
    schema=TextSchema(),
    permission="append",
    limit=99,
    pinned=True,
    user="ada",
    agent="support",
    version=3,
    text="calm",
    content_hash=content_hash_of("calm"),
    created_at=NOON,
    updated_at=LATER,
    deleted_at=LATER,
)
VERSION = Version(
    number=3,
    kind="undo",
    at=NOON,
    by="me",
    operation="undo",
    reason="asked",
    characters=4,
    content_hash=content_hash_of("calm"),
    target=2,
    undone=True,
)
KEPT = KeptVersion(version=VERSION, frontiers=b"f", size=1, span=3, undone_by=4)
SHARE = Share(block_id="b", label="persona", agent="other", permission="append", created_at=NOON)
SAID = EntityStatement(names=("Ada",), properties={"n": [1.5]}, sensitivity="public")
ENTITY = Entity(
    id="n",
    type="person",
    name="Ada",
    user="ada",
    aliases=("A.",),
    properties={"n": 1},
    salience=0.5,
    salient_at=NOON,
    mentions=0,
    sensitivity="public",
    created_at=NOON,
    updated_at=LATER,
)
RELATION = Relation(
    id="r",
    source="n",
    type="knows",
    target="o",
    user="ada",
    weight=0.5,
    confidence=0.25,
    properties={"n": 1},
    valid_from=NOON,
    valid_to=LATER,
    sensitivity="public",
    created_at=NOON,
    updated_at=LATER,
)
PATTERN = Pattern(
    id="p",
    action="ask",
    keywords=("tea",),
    intent="buy",
    entity_types=("person",),
    user="ada",
    successes=1,
    applications=2,
    sensitivity="public",
    created_at=NOON,
    updated_at=LATER,
)
WHOLE: list[tuple[Any, Set[str]]] = [
    (StoredDirective("Be kind", "d"), set()),
    (MEMORY, {"secrets", "near_duplicates"}),
    (Fact(key="tea", value={"n": [1]}, observed_at=NOON), set()),
    (Episode(summary="Tea", occurred_at=NOON), set()),
    (Note(body="Tea", title="Five"), set()),
    (
        ContradictionRecord(id="c", reason="number", older="a", newer="b", created_at=NOON, resolved_at=LATER, kept="a"),
        set(),
    ),
    (
        ArchivalEntry(id="a", text="x", metadata={"n": [1.5, None]}, user="ada", created_at=NOON),
        {"label", "version", "type", "secrets"},
    ),
    (SessionRecord(id="s", next=7, length=2, started_at=NOON, last_at=LATER), set()),
    (EVENT, {"session_started_at", "session_number", "passage", "outdated", "replaced_by", "newer"}),
    (FRAME, {"children", "secrets"}),
    (STACK, set()),
    (KeptSummary(id="k", session="s", summary=SUMMARY, fingerprint="f", created_at=NOON), set()),
    (SUMMARY, set()),
    (FROM, set()),
    (BRANCH, set()),
    (StoredBlock(block=BLOCK, snapshot=(3, b"s"), versions=((KEPT, b"d"),), shares=(SHARE,)), set()),
    (BLOCK, {"shared_from", "granted", "secrets"}),
    (VERSION, set()),
    (KEPT, set()),
    (SHARE, set()),
    (StoredEntity(entity=ENTITY, stated=SAID, mentions=(("e1", SAID),)), set()),
    (StoredRelation(relation=RELATION, stated=SAID, refs=(("e1", SAID),), ended_by="r2"), set()),
    (StoredPattern(pattern=PATTERN, refs=("e1",)), set()),
    (ENTITY, set()),
    (RELATION, {"refs"}),
    (PATTERN, set()),
    (SAID, set()),
    (MarkedLine("e1@3-9", "pin", NOON), set()),
    (Tombstone(id="t", what="summary", at=NOON, by="me", reason="asked"), set()),
]
"""Things, each with the fields that an export doesn't hold. All other fields are set."""
LINES = {
    type(thing).__name__: json.loads(written(line_of(Owned(ADA, thing)))) for thing, _ in WHOLE if isinstance(thing, Thing)
} | {"KeptEntry": line_of(Owned(ADA, an_archived("x")))}
"""The lines of the things that have one."""
BESIDE = {"type", *Owner._fields}
