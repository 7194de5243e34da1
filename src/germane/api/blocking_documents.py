"""Blocking documents: the blocking twin of `kinds/documents/handle.py`, at `agent.documents` of `germane.sync`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from germane.api.workers.threads import Loop
    from germane.kinds.documents import handle as agent_documents
    from germane.kinds.documents.handle import FolderIngested
    from germane.kinds.documents.value import DocumentPage, Ingested, KeptDocument
    from germane.kinds.memories.value import Receipt
    from germane.types.candidate import Sensitivity


class Documents:
    """As `germane.kinds.documents.handle.Documents`. `progress` is called in the thread of the event loop."""

    def __init__(self, awaited: agent_documents.Documents, loop: Loop) -> None:
        self._awaited, self._call = awaited, loop.call

    def __repr__(self) -> str:
        return repr(self._awaited)

    def ingest(
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
        return self._call(
            self._awaited.ingest,
            path,
            text=text,
            data=data,
            source=source,
            title=title,
            media_type=media_type,
            agent_wide=agent_wide,
            sensitivity=sensitivity,
            dry_run=dry_run,
            progress=progress,
        )

    def ingest_folder(
        self,
        folder: str | os.PathLike[str],
        *,
        source: str | None = None,
        agent_wide: bool = False,
        sensitivity: Sensitivity = "private",
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> FolderIngested:
        return self._call(
            self._awaited.ingest_folder,
            folder,
            source=source,
            agent_wide=agent_wide,
            sensitivity=sensitivity,
            dry_run=dry_run,
            progress=progress,
        )

    def list(self, *, limit: int = 50, cursor: str | None = None) -> DocumentPage:
        return self._call(self._awaited.list, limit=limit, cursor=cursor)

    def get(self, source: str) -> KeptDocument:
        return self._call(self._awaited.get, source)

    def forget(
        self, source: str, *, agent_wide: bool = False, dry_run: bool = False, by: str = "", reason: str = ""
    ) -> Receipt:
        return self._call(self._awaited.forget, source, agent_wide=agent_wide, dry_run=dry_run, by=by, reason=reason)
