"""Ingest: one call of `agent.documents.ingest`, from a document's bytes to its stored passages.

Reading and dividing take place in threads, page by page, and writing slice by slice, so that neither the event loop nor the
store's writer is blocked for long.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from secrets import token_hex

from germane.api.wiring import Parts
from germane.errors import InvalidInput
from germane.kinds.documents.file_text import PdfPages, decode, read_html
from germane.kinds.documents.formats import MEDIA_TYPES, RULES_VERSION, MediaFormat, divide, format_of, guess_format
from germane.kinds.documents.plans import DocumentUpdate, NewPassage, begin_document, read_document, update_of, write_document
from germane.kinds.documents.reads import DocumentContents, DocumentMark
from germane.kinds.documents.value import Ingested, document_session, with_heading
from germane.search.unit import Analysis, analyse_parts
from germane.stores.contract import scrub_files
from germane.text.normal import valid_unicode
from germane.text.secrets.detection import SecretPolicy, SecretScreen, find_secrets
from germane.types.candidate import Sensitivity
from germane.types.checks import check_size
from germane.types.limits import DOCUMENT_BYTES, DOCUMENT_PAGES, DOCUMENT_SOURCE, DOCUMENT_TEXT
from germane.types.scope import Scope

_SLICE = 64
"""Passages that are written in one transaction: some 10 ms of the writer."""
_MAX_READING_SECONDS = 600.0
"""Seconds that reading the pages of one PDF may take."""
_READ_PERCENT, _DIVIDED_PERCENT = 60, 70
"""Hundredths of the work that are done when the document is read, and when it is divided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenDocument:
    """What a caller wants ingested. `name` is that of the file, by which its format is guessed."""

    data: bytes = field(repr=False)
    source: str
    title: str
    name: str = ""
    media_type: str | None = None
    sensitivity: Sensitivity = "private"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A document's text, page by page, after its secrets were treated; `secrets` counts them."""

    title: str
    pages: Sequence[str]
    secrets: Counter[str]


class Ingesting:
    """One ingestion. `progress` is called with hundredths done and 100."""

    def __init__(
        self, parts: Parts, scope: Scope, given: GivenDocument, progress: Callable[[int, int], None] | None = None
    ) -> None:
        self._parts, self._scope, self._progress = parts, scope, progress
        self._store = parts.store.within(scope)
        self._breath = parts.background.breath
        document_session(given.source)  # refuses what can't be a source
        source = SecretScreen(parts.secrets, "the source").text(given.source)[: DOCUMENT_SOURCE.maximum]
        self._given, self._session = replace(given, source=source), document_session(source)

    async def run(self, *, dry_run: bool = False) -> Ingested:
        """Raises `InvalidInput` for what can't be read as a document, `MissingExtra`, and `Conflict`."""
        given, session = self._given, self._session
        check_size("the document", len(given.data), DOCUMENT_BYTES)
        kind = guess_format(given.name, given.data) if given.media_type is None else format_of(given.media_type)
        digest = await asyncio.to_thread(_digest, given, kind, self._parts.secrets)
        stored = await self._store.commit(read_document(session))
        if stored is not None and stored.mark is not None and stored.mark.digest == digest:
            return self._outcome(kind, given.title, kept=len(stored.passages), dry_run=dry_run)
        read = await self._read(kind)
        new = await asyncio.to_thread(self._divided, read, kind)
        self._tell(_DIVIDED_PERCENT)
        mark = DocumentMark(
            title=read.title,
            media_type=MEDIA_TYPES[kind],
            size=len(given.data),
            digest=digest,
            updated_at=self._parts.clock.now(),
        )
        scope = self._scope
        if dry_run:
            update = await asyncio.to_thread(self._update, stored, new, mark)
        else:
            async with self._parts.background.alone((scope.org, scope.agent, scope.user, session)):
                writer = token_hex(8)
                stored = await self._store.commit(begin_document(session, digest, writer))
                if stored is not None and stored.mark is not None and stored.mark.digest == digest:  # by another call meanwhile
                    return self._outcome(kind, read.title, kept=len(stored.passages), dry_run=False)
                update = await asyncio.to_thread(self._update, stored, new, mark)
                await self._write(update, mark, writer, None if stored is None else writer)
        self._tell(100)
        changed = len(update.new), update.kept, len(update.gone)
        return self._outcome(kind, read.title, *changed, secrets=read.secrets, dry_run=dry_run)

    def _outcome(
        self,
        kind: MediaFormat,
        title: str,
        added: int = 0,
        kept: int = 0,
        removed: int = 0,
        *,
        secrets: Counter[str] | None = None,
        dry_run: bool,
    ) -> Ingested:
        return Ingested(
            source=self._given.source,
            session=self._session,
            title=title,
            media_type=MEDIA_TYPES[kind],
            outcome="unchanged" if not added and not removed else "changed" if kept or removed else "added",
            added=added,
            kept=kept,
            removed=removed,
            size=len(self._given.data),
            secrets=dict(secrets or {}),
            dry_run=dry_run,
        )

    async def _read(self, kind: MediaFormat) -> _Read:
        title, data = self._given.title, self._given.data
        if kind == "pdf":
            pages: Sequence[str] = await self._pdf_pages()
        elif kind == "html":
            page = await asyncio.to_thread(lambda: read_html(decode(data)))
            pages = [page.text]
        else:
            pages = [await asyncio.to_thread(decode, data)]
        check_size("the document's text", sum(map(len, pages)), DOCUMENT_TEXT)
        if not any(page and not page.isspace() for page in pages):
            reason = "it is probably scanned: make its text searchable (OCR) first" if kind == "pdf" else "it is empty"
            raise InvalidInput(f"has no text: {reason}")
        self._tell(_READ_PERCENT)
        return await asyncio.to_thread(self._screened, title, pages)

    async def _pdf_pages(self) -> list[str]:
        document = await asyncio.to_thread(PdfPages, self._given.data)
        check_size("the PDF", len(document), DOCUMENT_PAGES)
        pages, size, began = list[str](), 0, self._parts.clock.steady()
        for index in range(len(document)):
            pages.append(page := await asyncio.to_thread(document.text, index))
            size += len(page)
            check_size("the document's text", size, DOCUMENT_TEXT, at_least=True)
            if self._parts.clock.steady() - began > _MAX_READING_SECONDS:
                raise InvalidInput(f"takes more than {_MAX_READING_SECONDS / 60:.0f} minutes to read: {DOCUMENT_PAGES.instead}")
            self._tell(_READ_PERCENT * (index + 1) // len(document))
        return pages

    def _screened(self, title: str, pages: Sequence[str]) -> _Read:
        screen = SecretScreen(self._parts.secrets, "the document", self._breath)
        title = " ".join(screen.text(valid_unicode(title)).split())
        return _Read(title=title, pages=[screen.text(valid_unicode(page)) for page in pages], secrets=screen.found)

    def _divided(self, read: _Read, kind: MediaFormat) -> list[NewPassage]:
        passages = divide(read.pages, kind, self._breath)
        secret = list[tuple[int, int]]()
        if read.secrets:  # redacted, or kept and marked
            start = 0
            for page in read.pages:
                secret += [(start + one.start, start + one.end) for one in find_secrets(page, self._breath)]
                start += len(page) + 1
        made, at = list[NewPassage](), 0
        for passage in passages:
            while at < len(secret) and secret[at][1] <= passage.start:
                at += 1
            text = with_heading(passage, read.title)
            holds = at < len(secret) and secret[at][0] < passage.stop
            hidden = holds or (bool(secret) and bool(find_secrets(text)))
            made.append(NewPassage(passage, text, "sensitive" if hidden else self._given.sensitivity))
        return made

    def _update(self, stored: DocumentContents | None, new: Sequence[NewPassage], mark: DocumentMark) -> DocumentUpdate:
        now = mark.updated_at or self._parts.clock.now()
        return update_of(stored, new, session=self._session, mark=mark, now=now)

    async def _write(self, update: DocumentUpdate, mark: DocumentMark, writer: str, expected: str | None) -> None:
        count = len(update.new)
        for start in range(0, max(1, count), _SLICE):
            part = slice(start, min(start + _SLICE, count))
            analyses = await self._parts.background.run(partial(self._analysed, update, part))
            last = part.stop == count
            async with self._parts.background.step():
                await self._store.commit(
                    write_document(
                        update,
                        part,
                        analyses,
                        scope=self._scope,
                        mark=mark if last else replace(mark, digest="", writer=writer),
                        expected=expected,
                    )
                )
            expected = writer
            self._tell(_DIVIDED_PERCENT + (99 - _DIVIDED_PERCENT) * part.stop // max(1, count))
        if update.gone:
            self._parts.engine.forget(self._scope)
            await scrub_files(self._store)

    def _analysed(self, update: DocumentUpdate, part: slice) -> list[tuple[Analysis, ...]]:
        return [analyse_parts(new.text, self._breath) for new, _ in update.new[part]]

    def _tell(self, done: int) -> None:
        if self._progress is not None:
            self._progress(done, 100)


def _digest(given: GivenDocument, kind: MediaFormat, secrets: SecretPolicy) -> str:
    """A hash of all that decides on the passages."""
    about = "\0".join((str(RULES_VERSION), kind, given.title, given.sensitivity, secrets))
    return sha256(about.encode("utf-8", "surrogatepass") + b"\0" + given.data).hexdigest()
