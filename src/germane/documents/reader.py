"""Document reader: the protocol for reading the stored documents of one scope."""

from __future__ import annotations

from typing import Protocol

from germane.documents.document import DocumentPage, KeptDocument

__all__ = ["DocumentReader"]


class DocumentReader(Protocol):
    """Every method sees only the scope that the reader was made for."""

    async def page(self, limit: int, cursor: str | None = None) -> DocumentPage:
        """Returns a page of at most `limit` documents, the one that was ingested last first. `cursor` is that of the page
        before. Raises `InvalidInput` for a limit below 1 or a cursor of another listing."""

    async def get(self, session: str) -> KeptDocument | None:
        """Returns the document in the session of this name, the user's before the agent-wide one; None where there is none."""
