"""Block document: the content of one block as a CRDT document (Loro).

Several editors can change a document at once. Loro is imported only when a document is made: it belongs to the extra
`blocks`. Loro's own errors derive from `BaseException`; `_reading` turns them into errors of germane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, Any

from germane.errors import InvalidInput, MissingExtra, NotFound, Phrase, StoreCorrupt
from germane.kinds.blocks.content import migrated, plain_value, stored_value
from germane.kinds.blocks.editing import Editing
from germane.kinds.blocks.leaf import Held, empty, leaves, merged, read_leaf, same, simple_schema, write_leaf
from germane.kinds.blocks.mutation import Mutation, checked_mutation
from germane.kinds.blocks.render import render
from germane.kinds.blocks.schema import Schema, TextSchema
from germane.types.checks import check_text as checked_text
from germane.types.limits import BLOCK_TEXT

if TYPE_CHECKING:
    from loro import Frontiers, LoroDoc, VersionVector


_OPERATIONS_PER_STEP = 8_000
"""Operations of one step back: 1 to 2 ms."""


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Turns an error of Loro's, which is a `BaseException` of no other class, into `StoreCorrupt`. Its text isn't passed on.
    Also a decorator: a damaged document may be read without an error, and end any later step."""
    try:
        yield
    except BaseException as error:
        if type(error) is BaseException or type(error).__name__ == "PanicException":
            raise StoreCorrupt(f"{what} is damaged or doesn't belong to this block") from None
        raise


class BlockDocument:
    """The content of a block. Not thread-safe. A version is named by its frontiers, some ten bytes.

    `peer` names the editor: two documents with one peer must not both be edited, unless the second one holds all that the first
    wrote. A writer that always edits the newest stored state uses one peer for each block, which keeps the document small: each
    peer stays in it for ever. Default: a new random one.
    """

    __slots__ = ("_document", "schema")

    def __init__(self, document: LoroDoc, schema: Schema) -> None:
        self._document, self.schema = document, schema

    @classmethod
    def new(cls, schema: Schema, value: object = None, *, peer: int | None = None) -> BlockDocument:
        """Returns a document with this plain value; without one it is empty, with the defaults of its fields. Raises
        `InvalidInput` for a value that doesn't fit, and `MissingExtra` without the extra `blocks`."""
        made = cls(_empty(peer), schema)
        editing = made._editing(made._document, system=True)
        try:
            wanted = stored_value(schema, value, editing.new_id, {})
            for leaf in leaves(schema):
                editing.write(leaf, wanted[leaf.key])
        except InvalidInput as error:
            raise (error if error.path else error.within("value")) from None
        editing.finish()
        made._document.commit()
        return made

    @classmethod
    def load(
        cls, schema: Schema, snapshot: bytes | None, deltas: Sequence[bytes] = (), *, peer: int | None = None
    ) -> BlockDocument:
        """Returns the document of a snapshot and of the deltas since, in any order. Raises `StoreCorrupt` where one of them
        can't be read or is missing."""
        made = cls(_empty(peer), schema)
        with _reading("a block's snapshot or delta"):
            if snapshot is not None:
                made._document.import_(snapshot)
            # one by one: what follows its predecessor is added to the text, while a batch computes the text anew, in one call
            waiting = [delta for delta in deltas if made._document.import_(delta).pending is not None]
            if waiting and made._document.import_batch(waiting).pending is not None:
                raise StoreCorrupt("a block's delta is missing: a later one builds on it")
        return made

    @property
    def peer(self) -> int:
        return self._document.peer_id

    @_reading("a block's document")
    def frontiers(self) -> bytes:
        """Returns the name of the present version."""
        return self._document.oplog_frontiers.encode()

    @_reading("a block's document")
    def value(self) -> Any:
        """Returns the content as plain JSON; `plain_value` says how."""
        return plain_value(self.schema, self._held(self._document))

    def text(self) -> str:
        """Returns the content as a prompt shows it; `render` says how."""
        return render(self.schema, self.value())

    @_reading("a block's document")
    def fork(self) -> BlockDocument:
        """Returns a copy with the same peer, for trying an edit. Either the copy or the original may be edited, not both."""
        copy = self._document.fork()
        copy.peer_id = self.peer
        return BlockDocument(copy, self.schema)

    @_reading("a block's document")
    def at(self, frontiers: bytes) -> BlockDocument:
        """Returns the document as it was at a version; it can only be read. Raises `NotFound` for a version that isn't kept."""
        past = self._document.fork()
        self._go(past, frontiers)
        return BlockDocument(past, self.schema)

    def knows(self, frontiers: bytes) -> bool:
        """Whether this version is kept, so that it can be shown, undone and rewritten from."""
        try:
            self._go(self._document.fork(), frontiers)
        except NotFound:
            return False
        return True

    @_reading("a block's document")
    def apply(
        self,
        *mutations: Mutation,
        at: datetime | None = None,
        by: str = "",
        system: bool = False,
        accept: Callable[[str], None] | None = None,
        first: int = 0,
    ) -> None:
        """Applies mutations in order, all or none: on an error the document is as it was. `at` and `by` are written into log
        entries; a `system` operation may write what is read-only. `accept` is given the rendered text before the document is
        changed, and raises where it can't be. Raises `InvalidInput`, which says what doesn't fit; `first` is the index that the
        first mutation has in its path."""
        self._check_present()
        for index, one in enumerate(mutations, first):
            checked_mutation(one, f"mutations[{index}]")
        draft = self._document if len(mutations) < 2 else self.fork()._document
        editing = self._editing(draft, at=at, by=by, system=system)
        for index, one in enumerate(mutations, first):
            try:
                editing.apply(one)
            except InvalidInput as error:
                raise error.within(f"mutations[{index}]") from None
        if accept is not None:
            accept(render(self.schema, plain_value(self.schema, editing.held())))
        editing.finish()
        self._commit(draft)

    @_reading("a block's document")
    def rewrite(self, text: str, base: bytes | BlockDocument, *, section: str | None = None, system: bool = False) -> None:
        """Replaces a text by one that was made from version `base`, or from the document that `at` returned for it. What was
        changed since stays: `merged_text` says what that means. Raises `NotFound` for a version that isn't kept, and
        `InvalidInput`."""
        self._check_present()
        schema, name = simple_schema(self.schema, section)
        if not isinstance(schema, TextSchema):
            of = Phrase(f"section {name!r}" if name else "the block")
            raise InvalidInput(f"names {{}}, a {schema.kind}, where rewrite takes a text", of, path="section")
        (leaf,) = (one for one in leaves(self.schema) if one.section == name)
        checked_text("text", text, BLOCK_TEXT)
        past = base if isinstance(base, BlockDocument) else self.at(base)
        before = read_leaf(past._document, leaf)
        editing = self._editing(self._document, system=system)
        editing.write(leaf, merged(leaf, before, text, read_leaf(self._document, leaf), _empty))
        editing.finish()
        self._commit(self._document)

    @_reading("a block's document")
    def inverse(self, before: bytes, after: bytes, *, system: bool = False) -> bool:
        """Takes back what one edit changed between two versions, and keeps what was changed since; where a later edit
        changed the same value, the later one stays. The inverse of an inverse does the edit again. Returns whether anything
        changed. Raises `NotFound` for a version that isn't kept, and `InvalidInput` for what may not be changed; then
        nothing is."""
        self._check_present()
        past = self._document.fork()
        self._go(past, after)
        base = self._held(past)
        self._go(past, before)
        ours, theirs = self._held(past), self._held(self._document)
        editing = self._editing(self._document, system=system)
        targets = [
            (leaf, merged(leaf, base[leaf.key], ours[leaf.key], theirs[leaf.key], _empty, yielding=True))
            for leaf in leaves(self.schema)
        ]
        changed = [(leaf, target) for leaf, target in targets if not same(target, theirs[leaf.key])]
        for leaf, target in changed:
            editing.check(leaf, target)
        for leaf, target in changed:
            editing.write(leaf, target)
        editing.finish()
        self._commit(self._document)
        return bool(changed)

    @_reading("a block's document")
    def migrate(self, schema: Schema) -> None:
        """Gives the document another schema, and its content the new shape; `migrated` says what fits. Raises
        `InvalidInput`, which names all that doesn't fit; then nothing is changed. `inverse` can't take a migration back:
        migrate back."""
        self._check_present()
        value = migrated(self.value(), self.schema, schema)
        draft = self.fork()
        draft.schema = schema
        editing = draft._editing(draft._document, system=True)
        wanted = stored_value(schema, value, editing.new_id, draft._held(draft._document))
        kept = {(leaf.kind, leaf.key) for leaf in leaves(schema)}
        for leaf in leaves(self.schema):
            if (leaf.kind, leaf.key) not in kept:
                write_leaf(draft._document, leaf, empty(leaf), _empty)
        for leaf in leaves(schema):
            editing.write(leaf, wanted[leaf.key])
        editing.finish()
        self.schema = schema
        self._commit(draft._document)

    def delta(self, since: bytes) -> bytes:
        """Returns what was changed since a version, for `merge` and `load`. Raises `NotFound` for a version that isn't kept."""
        from loro import ExportMode

        with _reading("a block's document"):
            return self._document.export(ExportMode.Updates(self._kept(_decoded(since))))

    def merge(self, delta: bytes) -> bool:
        """Adds what another editor changed; idempotent, in any order. Returns False while it waits for an earlier delta. Raises
        `StoreCorrupt` for what can't be read, or was made from a version that isn't kept; then nothing is changed."""
        with _reading("a block's delta"):
            self._check_present()
            waits = self._document.import_(delta).pending is not None
        return not waits

    def snapshot(self, keep: bytes | None = None) -> bytes:
        """Returns the document with its changes since version `keep`, or without changes. Raises `NotFound` for a version
        that isn't kept."""
        from loro import ExportMode

        with _reading("a block's document"):
            since = self._document.oplog_frontiers if keep is None else _decoded(keep)
            self._kept(since)
            return self._document.export(ExportMode.ShallowSnapshot(since))

    def _held(self, document: LoroDoc) -> Held:
        return {leaf.key: read_leaf(document, leaf) for leaf in leaves(self.schema)}

    def _editing(self, document: LoroDoc, *, at: datetime | None = None, by: str = "", system: bool = False) -> Editing:
        last = document.oplog_vv.get_last(document.peer_id)
        first, numbers = f"{document.peer_id:x}.{-1 if last is None else last}", count()
        return Editing(
            document=document,
            schema=self.schema,
            scratch=_empty,
            new_id=lambda: f"{first}.{next(numbers)}",
            at=at,
            by=by,
            system=system,
        )

    def _kept(self, version: Frontiers) -> VersionVector:
        """Returns what a version comprises. Raises `NotFound` for one that isn't kept: a snapshot may hold some of what was
        done before the oldest kept one."""
        document = self._document
        known = document.frontiers_to_vv(version)
        if known is None or (document.is_shallow() and document.shallow_since_vv.includes_vv(known)):
            raise _not_kept()
        return known

    def _go(self, past: LoroDoc, frontiers: bytes) -> None:
        """Shows a version in a copy. The way there is gone in steps: they take less time than one call, and a call of Loro's
        holds the interpreter's lock."""
        version = _decoded(frontiers)
        wanted = self._kept(version)
        try:
            with _reading("a block's document"):
                for step in _steps(past.state_vv, wanted):
                    past.checkout(step)
                past.checkout(version)
        except StoreCorrupt:
            raise _not_kept() from None

    def _check_present(self) -> None:
        if self._document.is_detached():
            raise InvalidInput("this is a past version of a block, which can only be read", advice="edit the present one")

    def _commit(self, draft: LoroDoc) -> None:
        draft.commit()
        self._document = draft


def _empty(peer: int | None = None) -> LoroDoc:
    try:
        from loro import LoroDoc
    except ImportError as error:
        raise MissingExtra("blocks", "loro") from error
    made: LoroDoc = LoroDoc()  # type: ignore[no-untyped-call]
    if peer is not None:
        made.peer_id = peer
    return made


def _steps(present: VersionVector, wanted: VersionVector) -> Iterator[Frontiers]:
    """Yields versions on the way from one to another, back or forth, where one editor has made all that lies between."""
    from loro import ID, Frontiers

    back, forth = wanted.get_missing_span(present), present.get_missing_span(wanted)
    for span in [*back, *forth] if len(back) + len(forth) == 1 else []:
        on_the_way = range(span.counter.start, span.counter.end - 1, _OPERATIONS_PER_STEP)
        for counter in on_the_way if forth else reversed(on_the_way):
            yield Frontiers.from_id(ID(span.peer, counter))


def _decoded(frontiers: bytes) -> Frontiers:
    from loro import Frontiers

    try:
        with _reading("the name of a version"):
            return Frontiers.decode(frontiers)
    except StoreCorrupt:
        raise _not_kept() from None


def _not_kept() -> NotFound:
    return NotFound("this version of the block isn't kept any more: read the present one")
