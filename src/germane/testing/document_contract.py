"""Document contract: the tests of `StoreContract` about documents: what marks a session as one, and what stays apart."""

from __future__ import annotations

from datetime import timedelta

from germane.documents.ingest import begin_document, read_document
from germane.documents.operations import DocumentMark, PlacePassages, PutMark
from germane.events.event import DOCUMENT, FIRST_TYPED, Event
from germane.events.operations import PutEvent
from germane.memories.operations import Forget
from germane.store import ScopedStore
from germane.testing.stored import NOON, an_event, writing
from germane.types.candidate import Provenance
from germane.types.query import Filters

__all__ = ["DocumentContract"]

_MARK = DocumentMark(title="Guide", media_type="text/plain", size=9, digest="d", updated_at=NOON)


def a_passage(text: str, position: int, session: str = "document:guide") -> Event:
    """A passage of a document that is called Guide."""
    place = Provenance(session=session, metadata={"title": "Guide", "media_type": "text/plain", "locator": "line 1"})
    event = an_event(text, session=session, position=position, created_at=NOON + timedelta(microseconds=position))
    return event._replace(type=DOCUMENT, role="", provenance=place)


class DocumentContract:
    """Tests of documents. Inherit `StoreContract`, which has them all."""

    async def test_a_session_of_passages_is_a_document_and_no_conversation(self, scoped: ScopedStore) -> None:
        """It has no number, and only a filter that names its session or type lists its passages."""
        await scoped.journal.commit(writing(PutEvent(a_passage("Guide\none", 1)), PutEvent(a_passage("Guide\ntwo", 2))))
        await scoped.journal.commit(writing(PutEvent(an_event("said", session="talk"))))
        sessions = (await scoped.events.sessions(9)).sessions
        assert [(session.id, session.number) for session in sessions] == [("talk", 1)]
        assert [event.text for event in await scoped.events.recent(9, filters=Filters())] == ["said"]
        assert [event.text for event in (await scoped.events.page(Filters(), limit=9)).messages] == ["said"]
        for filters in (Filters(session="document:guide"), Filters(event_types=(DOCUMENT,))):
            found = (await scoped.events.page(filters, limit=9)).messages
            assert [event.text for event in found] == ["Guide\ntwo", "Guide\none"]
        (kept,) = (await scoped.documents.page(9)).documents
        assert (kept.source, kept.title, kept.passages, kept.complete) == ("guide", "Guide", 2, True)

    async def test_the_mark_tells_what_is_stored_and_who_writes(self, scoped: ScopedStore) -> None:
        """An ingestion of another content takes the mark; one of the same content leaves it."""
        await scoped.journal.commit(writing(PutEvent(a_passage("Guide\none", 1)), PutMark("document:guide", _MARK)))
        await scoped.journal.commit(begin_document("document:guide", "d", "me"))
        found = await scoped.journal.commit(read_document("document:guide"))
        assert found is not None
        assert found.mark == _MARK
        assert found.base == NOON
        await scoped.journal.commit(begin_document("document:guide", "other", "me"))
        kept = await scoped.documents.get("document:guide")
        assert kept is not None
        assert not kept.complete
        assert (kept.title, kept.size) == ("Guide", 9)

    async def test_a_place_changes_without_the_text(self, scoped: ScopedStore) -> None:
        """Ids that aren't the scope's are skipped."""
        passage = a_passage("Guide\none", 1)
        await scoped.journal.commit(writing(PutEvent(passage)))
        moved = {**passage.provenance.metadata, "locator": "line 7"}
        await scoped.journal.commit(writing(PlacePassages("document:guide", ((passage.id, moved), ("nobody's", moved)))))
        (found,) = await scoped.events.get([passage.id])
        assert found.provenance.metadata == moved
        assert (found.text, found.position) == (passage.text, 1)

    async def test_documents_are_no_sessions_of_which_highlights_are_told(self, scoped: ScopedStore) -> None:
        """However many were ingested since."""
        await scoped.journal.commit(writing(PutEvent(an_event("why", type="decision", position=FIRST_TYPED))))
        for n in range(3):
            passage = a_passage(f"Guide\n{n}", 1_000_000 + n, session=f"document:{n}")
            await scoped.journal.commit(writing(PutEvent(passage), PutMark(f"document:{n}", _MARK)))
        found = await scoped.events.highlights(1, limit=9, filters=Filters())
        assert [event.text for event in found] == ["why"]

    async def test_a_document_goes_with_its_last_passage(self, scoped: ScopedStore) -> None:
        """With its mark; its name is free for a conversation then."""
        passage = a_passage("Guide\none", 1)
        await scoped.journal.commit(writing(PutEvent(passage), PutMark("document:guide", _MARK)))
        await scoped.journal.commit(writing(Forget(event_ids=(passage.id,), at=NOON)))
        assert await scoped.documents.get("document:guide") is None
        assert await scoped.journal.commit(read_document("document:guide")) is None
