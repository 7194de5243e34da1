"""Document cache: an LRU cache of open documents that equal what is stored, bounded by bytes.

A plan takes a document out and edits it; whoever committed the plan puts it back. So a document whose commit failed is gone.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from germane.types.caches import SizedLru

if TYPE_CHECKING:
    from germane.kinds.blocks.document import BlockDocument


_MAX_CACHED_BYTES = 32 << 20
_OVERHEAD = 4_096
"""Bytes that an open document takes beside what is stored of it."""


class CachedDocument(NamedTuple):
    """A document as it is stored at a version of its block."""

    version: int
    document: BlockDocument


class DocumentCache:
    """Holds documents of at most `max_bytes` by the ids of their blocks. Thread-safe."""

    def __init__(self, max_bytes: int = _MAX_CACHED_BYTES) -> None:
        self._held = SizedLru[str, CachedDocument](max_bytes)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def take(self, id: str) -> CachedDocument | None:
        """Removes the document of a block and returns it; None where there is none."""
        with self._lock:
            return self._held.pop(id)

    def put(self, id: str, version: int, document: BlockDocument, stored: int) -> None:
        """Keeps a document of which `stored` bytes are in the store, unless a later version of it is held; evicts the documents
        that weren't used for the longest time."""
        with self._lock:
            held = self._held.get(id)
            if held is None or held.version <= version:
                self._held.put(id, CachedDocument(version, document), stored + _OVERHEAD)
                self._held.evict()
