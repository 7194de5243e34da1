"""Handle of documents: the documents of one scope, as `agent.documents`: ingest files and texts, list, read, forget."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, get_args

from germane.api.arguments import remarks
from germane.api.contents import check_page
from germane.api.verbs.ingest import GivenDocument, Ingesting
from germane.api.wiring import Parts
from germane.errors import Conflict, InvalidInput, MissingExtra, NotFound
from germane.kinds.documents.reads import DocumentIn, ListDocuments
from germane.kinds.documents.value import DocumentPage, Ingested, KeptDocument, document_session, is_document_session
from germane.kinds.events.reads import SeenEvents
from germane.kinds.events.value import DOCUMENT
from germane.kinds.memories.forgetting import forget, left_of
from germane.kinds.memories.value import Receipt
from germane.stores.contract import scrub_files
from germane.text.secrets.detection import SecretScreen
from germane.types.candidate import Sensitivity
from germane.types.checks import check_flags, check_one_of, check_optional_text, check_text, check_type
from germane.types.limits import DOCUMENT_BYTES, DOCUMENT_FILES, DOCUMENT_SOURCE, DOCUMENT_TEXT, ID, LABEL, NAME
from germane.types.operation import operation
from germane.types.scope import Scope

_SENSITIVITIES: tuple[Sensitivity, ...] = get_args(Sensitivity)
_PAGE, _MAX_NAMED = 1000, 3
"""Documents of a page that is read, and sources that an error names."""
_MAX_NAME = 1024
"""Characters of a path that is taken for one: what is longer, and no file, is a text in the wrong place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderIngested:
    """What the ingestion of a folder did, file by file; `skipped` are the files that can't be ingested, with the reasons."""

    documents: tuple[Ingested, ...]
    skipped: tuple[SkippedFile, ...]


class AgentDocuments:
    """The documents that one scope sees: its user's, and those of all users. A document is found and replaced by its `source`.
    Its passages are searched with the messages, and shown under the document's title."""

    def __init__(self, parts: Parts, scope: Scope) -> None:
        self._parts, self._scope = parts, scope
        self._store = parts.store.within(scope)

    @operation("write", fixed={"path": None, "progress": None})
    async def ingest(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        text: str | None = None,
        data: bytes | None = None,
        source: str | None = None,
        title: str | None = None,
        media_type: str | None = None,
        agent_wide: bool = False,
        sensitivity: Sensitivity = "private",
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Ingested:
        """Stores the passages of a document: of the file at `path`, or of a `text`, or the `data` of a file, with a `source`.
        Idempotent by content: the same document again adds nothing; of a changed one, passages that stay keep their ids, and
        those that are gone are forgotten. `source` names the document (default: the file's whole path), `title` is shown
        (default: the file's name). `media_type` is text/markdown, text/html, text/x-code, text/x-log, text/csv, text/plain or
        application/pdf (default: by name and content). `agent_wide` stores it for every user of the agent. `dry_run` stores
        nothing and returns what would be done. `progress` is called with hundredths done and 100. Secrets are treated as in
        messages. Raises `InvalidInput` for what can't be read, `MissingExtra` for a PDF without pypdf, and `Conflict`."""
        check_flags(agent_wide=agent_wide, dry_run=dry_run)
        if sum(one is not None for one in (path, text, data)) != 1:
            raise InvalidInput("must be given, or else a text or data with its source", path="path")
        check_optional_text("title", title, LABEL)
        check_optional_text("media_type", media_type, NAME)
        if path is None:
            if source is None:
                raise InvalidInput("must name the text or the data: it is found and replaced by it", path="source")
            if text is not None:
                data = check_text("text", text, DOCUMENT_TEXT, valid=False).encode("utf-8", "replace")
            given = GivenDocument(
                data=check_type("data", data, bytes, "bytes"),
                source=source,
                title=title or source,
                name=source,
                sensitivity=_level(sensitivity),
            )
            given = replace(given, media_type=media_type)
            return await self._ingest(given, agent_wide, dry_run, progress)
        file = _path("path", path)
        try:
            return await self._file(
                file,
                source=source,
                title=title or file.name,
                media_type=media_type,
                agent_wide=agent_wide,
                sensitivity=_level(sensitivity),
                dry_run=dry_run,
                progress=progress,
            )
        except Conflict:
            raise
        except InvalidInput as error:
            if len(name := str(file)) > _MAX_NAME or "\n" in name:
                raise InvalidInput(
                    "must name a file, not {}", name, path="path", advice="give a text as text=, with its source="
                ) from None
            raise error.under(f"{file}") from None

    async def ingest_folder(
        self,
        folder: str | os.PathLike[str],
        *,
        source: str | None = None,
        agent_wide: bool = False,
        sensitivity: Sensitivity = "private",
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> FolderIngested:
        """Ingests the files of a folder and of those inside it, as `ingest` does each. Hidden files, links and folders of
        installed packages are left out. A document's title is its path below the folder; its source is its whole path, or that
        path behind `source/`. `progress` is called with bytes. A file that can't be ingested is skipped, with the reason.
        Raises `InvalidInput` where the folder can't be read or holds too many files."""
        check_flags(agent_wide=agent_wide, dry_run=dry_run)
        level, root = _level(sensitivity), _path("folder", folder)
        if not await asyncio.to_thread(os.path.isdir, root):
            raise InvalidInput("{} is no folder", str(root), advice="use ingest for a file")
        found, skipped = await asyncio.to_thread(files_in, root)

        async def stored(file: FoundFile, progress: Callable[[int, int], None] | None) -> Ingested:
            return await self._file(
                file.path,
                source=None if source is None else f"{source}/{file.name}",
                title=file.name,
                media_type=None,
                agent_wide=agent_wide,
                sensitivity=level,
                dry_run=dry_run,
                progress=progress,
            )

        return await ingest_each(found, skipped, stored, progress)

    @operation("read")
    async def list(self, *, limit: int = 50, cursor: str | None = None) -> DocumentPage:
        """Returns a page of `limit` (1 to 1,000) documents, the one that was ingested last first. Raises `InvalidInput`."""
        check_page(limit, cursor)
        return await self._store.ask(ListDocuments(limit, cursor))

    @operation("read")
    async def get(self, source: str) -> KeptDocument:
        """Returns a document by its source, by its session, by the id of one of its passages, or by its title, where only one
        document has it. `agent.messages(session)` lists the passages. Raises `NotFound`, and `InvalidInput` for a title that
        several documents have."""
        given = check_text("source", source, ID)
        sessions = [given] if is_document_session(given) else []
        if len(given) <= DOCUMENT_SOURCE.maximum and given.strip():
            named = (given, SecretScreen("redact", "the source").text(given))  # as stored under whichever policy
            sessions = [*dict.fromkeys(map(document_session, named)), *sessions]
        sessions += [event.session for event in await self._store.ask(SeenEvents([given])) if event.type == DOCUMENT]
        for session in sessions:
            if (document := await self._store.ask(DocumentIn(session))) is not None:
                return document
        titled = await self._titled(given)
        if len(titled) > 1:
            sources = ", ".join(repr(one.source) for one in titled[:_MAX_NAMED])
            raise InvalidInput(
                f"{len(titled)} documents have the title {{}}", given, advice=f"name one by its source, such as {sources}"
            )
        if titled:
            return titled[0]
        raise NotFound("no document {} here (agent.documents.list shows what there is)", source)

    @operation("write")
    async def forget(
        self, source: str, *, agent_wide: bool = False, dry_run: bool = False, by: str = "", reason: str = ""
    ) -> Receipt:
        """Removes a document with all its passages, as `agent.forget` removes messages. `agent_wide` removes that of all users.
        Raises `NotFound`, and `InvalidInput` for a user's scope that names a document of all users without `agent_wide`."""
        check_flags(agent_wide=agent_wide, dry_run=dry_run)
        remark = remarks(self._parts.secrets, by, reason)
        scope = self._owner(agent_wide)
        document = await AgentDocuments(self._parts, scope).get(source)
        if document.user != scope.user:
            raise InvalidInput("{} belongs to all users of the agent", document.source, advice="forget it with agent_wide=True")
        plan = forget(session=document.session, dry_run=dry_run, scope=scope, at=self._parts.clock.now(), **remark)
        store = self._parts.store.within(scope)
        receipt = await store.commit(plan)
        if dry_run:
            return receipt
        self._parts.engine.forget(scope)
        receipt = await store.commit(left_of(receipt))
        waiting_for = await scrub_files(store)
        return replace(receipt, scrubbed=not waiting_for, waiting_for=waiting_for)

    async def _titled(self, title: str) -> Sequence[KeptDocument]:
        """Returns the documents with this title. Reads the list of documents once."""
        page = await self.list(limit=_PAGE)
        found = [document for document in page.documents if document.title == title]
        while page.cursor is not None:
            page = await self.list(limit=_PAGE, cursor=page.cursor)
            found += (document for document in page.documents if document.title == title)
        return found

    async def _file(
        self,
        file: Path,
        *,
        source: str | None,
        title: str,
        media_type: str | None,
        agent_wide: bool,
        sensitivity: Sensitivity,
        dry_run: bool,
        progress: Callable[[int, int], None] | None,
    ) -> Ingested:
        data = await asyncio.to_thread(read_file, file)
        given = GivenDocument(
            data=data,
            source=await asyncio.to_thread(source_of, file, source),
            title=source_for(title),
            name=file.name,
            media_type=media_type,
            sensitivity=sensitivity,
        )
        return await self._ingest(given, agent_wide, dry_run, progress)

    async def _ingest(
        self, given: GivenDocument, agent_wide: bool, dry_run: bool, progress: Callable[[int, int], None] | None
    ) -> Ingested:
        parts = self._parts
        done = await Ingesting(parts, self._owner(agent_wide), given, progress).run(dry_run=dry_run)
        if done.added and not dry_run and not parts.embedder.quick:
            await parts.catch_up.settle()
        return done

    def _owner(self, agent_wide: bool) -> Scope:
        scope = self._scope
        return Scope(org=scope.org, agent=scope.agent, zone=scope.zone) if agent_wide else scope.within(None)


def _level(sensitivity: object) -> Sensitivity:
    return check_one_of("sensitivity", sensitivity, _SENSITIVITIES)


def _path(name: str, given: object) -> Path:
    if not isinstance(given, str | bytes | os.PathLike) or not os.fspath(given):
        raise InvalidInput("must be a path, not {}", given, path=name)
    return Path(os.fsdecode(given))


def _within_folder(progress: Callable[[int, int], None], done: int, size: int, total: int, part: int, whole: int) -> None:
    progress(done + size * part // whole, total)


# The files of a folder that can be ingested. They are read within limits, and no link is followed out of the folder.


_IGNORED_FOLDERS = frozenset({"node_modules", "bower_components", "__pycache__", "venv", "site-packages"})
_CHANGED_FILE = "changes while it is read: ingest it once it is written"


class FoundFile(NamedTuple):
    """A file of a folder, its path below the folder with `/`, and its size in bytes."""

    path: Path
    name: str
    size: int


class SkippedFile(NamedTuple):
    """A file that wasn't ingested, and the reason."""

    path: str
    reason: str


def files_in(folder: Path) -> tuple[list[FoundFile], list[SkippedFile]]:
    """Returns the regular files of a folder and of those inside it, by name, and what can't be read. Links aren't followed;
    what begins with a dot, and folders of installed packages, are left out. Raises `InvalidInput` for too many files."""
    found, skipped = list[FoundFile](), list[SkippedFile]()

    def refused(error: OSError) -> None:
        skipped.append(SkippedFile(os.fsdecode(error.filename or folder), error.strerror or "can't be read"))

    for where, folders, names in os.walk(folder, onerror=refused):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _IGNORED_FOLDERS)
        for name in sorted(names):
            path = Path(where) / name
            if name.startswith("."):
                continue
            try:
                status = path.lstat()
            except OSError as error:
                refused(error)
                continue
            if stat.S_ISREG(status.st_mode):
                found.append(FoundFile(path, path.relative_to(folder).as_posix(), status.st_size))
            if len(found) > DOCUMENT_FILES.maximum:
                raise InvalidInput(
                    f"{folder} has more than {DOCUMENT_FILES.maximum:,} files, {DOCUMENT_FILES.maximum:,} are allowed:"
                    f" {DOCUMENT_FILES.instead}"
                )
    return found, skipped


def read_file(path: Path) -> bytes:
    """Returns the content of a regular file as it was at one moment. Raises `InvalidInput`, with the reason."""
    for _ in range(2):
        try:
            before, data, after = _read(path)
        except FileNotFoundError:
            raise InvalidInput("there is no such file (check the path)") from None
        except PermissionError:
            raise InvalidInput("can't be read: permission denied") from None
        except (OSError, ValueError) as error:
            raise InvalidInput(f"can't be read: {getattr(error, 'strerror', None) or error}") from None
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and len(data) == after.st_size:
            return data
    raise InvalidInput(_CHANGED_FILE)


def _read(path: Path) -> tuple[os.stat_result, bytes, os.stat_result]:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        before = os.fstat(descriptor)
        _check(before)
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            return before, stream.read(DOCUMENT_BYTES.maximum + 1), os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _check(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise InvalidInput("is a folder", advice="use ingest_folder")
    if not stat.S_ISREG(status.st_mode):
        raise InvalidInput("is no regular file")
    if status.st_size > DOCUMENT_BYTES.maximum:
        raise InvalidInput(f"has {status.st_size:,} bytes, {DOCUMENT_BYTES.maximum:,} are allowed: {DOCUMENT_BYTES.instead}")


async def ingest_each(
    found: Sequence[FoundFile],
    skipped: Sequence[SkippedFile],
    ingest: Callable[[FoundFile, Callable[[int, int], None] | None], Awaitable[Ingested]],
    progress: Callable[[int, int], None] | None,
) -> FolderIngested:
    """Ingests the files of a folder one after another. A file that `ingest` refuses is skipped, with the reason, as `skipped`
    are already. `progress` is called with bytes, and `ingest` gets a function for the progress within its file."""
    total, done = max(1, sum(file.size for file in found)), 0
    documents, refused = list[Ingested](), list(skipped)
    for file in found:
        within = None if progress is None else partial(_within_folder, progress, done, file.size, total)
        try:
            documents.append(await ingest(file, within))
        except (InvalidInput, MissingExtra) as error:
            refused.append(SkippedFile(str(file.path), str(error)))
        done += file.size
        if progress is not None:
            progress(done, total)
    return FolderIngested(documents=tuple(documents), skipped=tuple(refused))


def source_of(file: Path, source: str | None) -> str:
    """Returns the source of a file's document: the one that was given, else the file's whole path."""
    whole = source_for(os.path.realpath(file) if source is None else source)
    return whole.replace("\\", "/") if os.sep == "\\" else whole


def source_for(path: str) -> str:
    """Returns the source of a file: its path; of a very long path, a hash and the end of it. What can't be
    printed becomes U+FFFD."""
    named = "".join(char if char.isprintable() else "\ufffd" for char in os.fsencode(path).decode("utf-8", "replace"))
    if len(named) <= DOCUMENT_SOURCE.maximum:
        return named
    digest = sha256(named.encode()).hexdigest()[:16]
    return f"{digest}…{named[-(DOCUMENT_SOURCE.maximum - 17) :]}"
