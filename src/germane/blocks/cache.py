"""Document cache: an LRU cache of open documents that equal what is stored, bounded by bytes.

A plan takes a document out and edits it; whoever committed the plan puts it back. So a document whose commit failed is gone.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from germane.blocks.document import BlockDocument

__all__ = ["CachedDocument", "DocumentCache"]

_MAX_BYTES = 32 << 20
_OVERHEAD = 4_096
"""Bytes that an open document takes beside what is stored of it."""


class CachedDocument(NamedTuple):
    """A document as it is stored at a version of its block; `size` is its estimated size in bytes."""

    version: int
    document: BlockDocument
    size: int


class DocumentCache:
    """Holds documents of at most `max_bytes` by the ids of their blocks. Thread-safe."""

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes, self._bytes = max_bytes, 0
        self._held: OrderedDict[str, CachedDocument] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def take(self, id: str) -> CachedDocument | None:
        """Removes the document of a block and returns it; None where there is none."""
        with self._lock:
            held = self._held.pop(id, None)
            self._bytes -= held.size if held is not None else 0
            return held

    def put(self, id: str, version: int, document: BlockDocument, stored: int) -> None:
        """Keeps a document of which `stored` bytes are in the store, unless a later version of it is held; evicts the documents
        that weren't used for the longest time."""
        entry = CachedDocument(version, document, stored + _OVERHEAD)
        with self._lock:
            held = self._held.get(id)
            if held is not None and held.version > version:
                return
            if held is not None:
                self._bytes -= held.size
            self._held[id] = entry
            self._held.move_to_end(id)
            self._bytes += entry.size
            while self._bytes > self._max_bytes:
                _, evicted = self._held.popitem(last=False)
                self._bytes -= evicted.size
