"""Block editors: three editors of one block, each with its own copy, that edit, undo, exchange deltas and crash; and what must
hold.

Each edit adds or removes something with a name of its own, or moves a counter, so that a model of a few lines knows what
must be there. Deltas arrive late, twice and in any order. A crash loses what isn't stored: the copy is loaded again from its
snapshot and deltas. `bench/blocks.py` runs many editors, the tests few.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from germane.kinds.blocks.document import BlockDocument
from germane.kinds.blocks.mutation import (
    AppendEntry,
    AppendText,
    AppendToField,
    CheckItem,
    DeleteItem,
    Increment,
    InsertLines,
    MoveItem,
    Mutation,
    PushItem,
    ReplaceText,
    SetField,
)
from germane.kinds.blocks.schema import Schema, parse_schema

__all__ = ["SHARED", "Copy", "Edit", "Editors"]

SHARED: Schema = parse_schema(
    {
        "type": "composite",
        "sections": [
            {"name": "notes"},
            {"name": "todo", "schema": {"type": "list", "checkboxes": True}},
            {
                "name": "facts",
                "schema": {
                    "type": "map",
                    "fields": [
                        {"name": "count", "type": "counter"},
                        {"name": "tags", "type": "list"},
                        {"name": "state"},
                    ],
                },
            },
            {"name": "log", "schema": "log"},
        ],
    }
)


@dataclass(slots=True)
class Edit:
    """One edit that was acknowledged: its versions, and what it added (`1`) or removed (`-1`), or how far it moved the
    counter."""

    before: bytes
    after: bytes
    name: str = ""
    sign: int = 1
    by: int = 0


@dataclass(slots=True)
class Copy:
    """One editor's copy: the document, what is stored of it, and its edits, those that are undone apart."""

    document: BlockDocument
    snapshot: bytes
    deltas: list[bytes] = field(default_factory=list)
    done: list[Edit] = field(default_factory=list)
    undone: list[Edit] = field(default_factory=list)


class Editors:
    """Editors of one block. Each step takes the number of an editor."""

    def __init__(self, count: int = 3) -> None:
        self._first = BlockDocument.new(SHARED, peer=1_000)
        snapshot = self._first.snapshot()
        self.copies = [Copy(BlockDocument.load(SHARED, snapshot, peer=number + 1), snapshot) for number in range(count)]
        self.outbox: list[list[bytes]] = [[] for _ in range(count)]
        self._names = 0

    def edit(self, editor: int, random: Random, *, crash: bool = False) -> None:
        """Makes one random edit. With `crash` the editor dies before it is stored, so that it was never made."""
        copy = self.copies[editor]
        mutation, name, sign, by = self._chosen(copy, random, f"e{editor}n{self._names}")
        self._names += 1
        draft = copy.document.fork()
        before = draft.frontiers()
        draft.apply(mutation)
        if crash:
            self.crash(editor)
            return
        self._store(editor, draft, before)
        if not isinstance(mutation, MoveItem):  # which of two neighbours moves back isn't defined
            copy.done.append(Edit(before, draft.frontiers(), name, sign, by))
            copy.undone.clear()

    def undo(self, editor: int) -> bool:
        """Takes back the editor's own last edit. Returns False where it has none."""
        copy = self.copies[editor]
        return self._again(editor, copy.done, copy.undone)

    def redo(self, editor: int) -> bool:
        """Makes the edit again that the editor undid last. Returns False where there is none."""
        copy = self.copies[editor]
        return self._again(editor, copy.undone, copy.done)

    def deliver(self, editor: int, random: Random) -> None:
        """Gives the editor one delta of another, perhaps too early, perhaps again."""
        other = random.choice([number for number in range(len(self.copies)) if number != editor])
        if self.outbox[other]:
            self._receive(editor, random.choice(self.outbox[other]))

    def crash(self, editor: int) -> None:
        """Loads the copy again from what is stored, as after a crash."""
        copy = self.copies[editor]
        again = BlockDocument.load(SHARED, copy.snapshot, peer=copy.document.peer)
        for delta in copy.deltas:
            again.merge(delta)
        copy.document = again

    def consolidate(self, editor: int) -> None:
        """Stores the copy as a snapshot, with the history that other editors' late deltas may build on."""
        copy = self.copies[editor]
        copy.snapshot = copy.document.snapshot(keep=self._first.frontiers())
        copy.deltas = [delta for delta in copy.deltas if not BlockDocument.load(SHARED, copy.snapshot).merge(delta)]

    def settle(self, random: Random) -> None:
        """Delivers every delta to every editor, shuffled, some of them twice."""
        for editor in range(len(self.copies)):
            deltas = [delta for number, sent in enumerate(self.outbox) if number != editor for delta in sent]
            deltas += random.sample(deltas, len(deltas) // 4)
            random.shuffle(deltas)
            for delta in deltas:
                self._receive(editor, delta)

    def faults(self) -> list[str]:
        """What isn't as it must be after `settle`; empty if everything is."""
        found = []
        values = [copy.document.value() for copy in self.copies]
        if any(value != values[0] for value in values):
            found.append("the copies differ")
        counted = sum(edit.by for copy in self.copies for edit in copy.done)
        if values[0]["facts"]["count"] != counted:
            found.append(f"the counter is {values[0]['facts']['count']}, not {counted}")
        there = sorted(_names_in(values[0]))
        wanted = sorted(self._standing())
        if there != wanted:
            found.append(f"lost: {sorted(set(wanted) - set(there))}, there: {there}")
        return found

    def _standing(self) -> set[str]:
        names = {edit.name for copy in self.copies for edit in copy.done if edit.name and edit.sign > 0}
        return names - {edit.name for copy in self.copies for edit in copy.done if edit.sign < 0}

    def _chosen(self, copy: Copy, random: Random, name: str) -> tuple[Mutation, str, int, int]:
        value = copy.document.value()
        own = f"e{copy.document.peer - 1}n"
        mine = [word for word in value["notes"].split() if word.startswith(own)]
        rows = [index for index, one in enumerate(value["todo"]) if one["value"].startswith(own)]
        match random.randrange(11):
            case 0:
                return AppendText(text=f"{name} ", section="notes"), name, 1, 0
            case 1:
                line = random.randint(0, value["notes"].count("\n"))
                return InsertLines(line=line, text=f"{name} ", section="notes"), name, 1, 0
            case 2 if mine:
                gone = random.choice(mine)
                return ReplaceText(old=f"{gone} ", section="notes"), gone, -1, 0
            case 3:
                return PushItem(value=name, section="todo"), name, 1, 0
            case 4 if rows:
                index = random.choice(rows)
                return DeleteItem(index=index, section="todo"), value["todo"][index]["value"], -1, 0
            case 5 if rows:
                to = random.randrange(len(value["todo"]))
                return MoveItem(index=random.choice(rows), to=to, section="todo"), "", 1, 0
            case 6 if rows:
                return CheckItem(index=random.choice(rows), done=random.random() < 0.7, section="todo"), "", 1, 0
            case 7:
                return AppendToField(field="tags", value=name, section="facts"), name, 1, 0
            case 8:
                return AppendEntry(text=name, section="log"), name, 1, 0
            case 9:
                return SetField(field="state", value=random.choice(("open", "closed", None)), section="facts"), "", 1, 0
            case _:
                by = random.randint(-1_000_000, 1_000_000)
                return Increment(field="count", by=by, section="facts"), "", 1, by

    def _again(self, editor: int, source: list[Edit], target: list[Edit]) -> bool:
        if not source:
            return False
        edit = source.pop()
        draft = self.copies[editor].document.fork()
        before = draft.frontiers()
        draft.inverse(edit.before, edit.after)
        self._store(editor, draft, before)
        target.append(Edit(before, draft.frontiers(), edit.name, edit.sign, edit.by))
        return True

    def _store(self, editor: int, draft: BlockDocument, before: bytes) -> None:
        copy = self.copies[editor]
        delta = draft.delta(before)
        copy.deltas.append(delta)
        self.outbox[editor].append(delta)
        copy.document = draft

    def _receive(self, editor: int, delta: bytes) -> None:
        copy = self.copies[editor]
        copy.deltas.append(delta)
        copy.document.merge(delta)


def _names_in(value: Any) -> list[str]:
    words = value["notes"].split()
    return [
        *words,
        *(one["value"] for one in value["todo"]),
        *value["facts"]["tags"],
        *(one["text"] for one in value["log"]),
    ]
