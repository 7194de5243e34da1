"""Imports: reads files of conversations and of other products' memories into rows, and stores the rows.

`detect_format` recognises the format, and a reader for each format reads it: bytes in, rows out (`rows.py`), without I/O. A
reader continues after a broken row, and gives a message without an id the same id whenever the file is read. `store_rows`
writes the rows to an agent. What `germane export` wrote isn't read as rows: `load.ExportFile` restores it as it was.
"""

from __future__ import annotations

from germane.cli.imports.detect_format import FORMATS, read, read_all
from germane.cli.imports.rows import DirectiveRow, MemoryRow, Row, SharedMessageRow
from germane.integrations.transcripts.rows import BrokenRow, MessageRow

__all__ = ["FORMATS", "BrokenRow", "DirectiveRow", "MemoryRow", "MessageRow", "Row", "SharedMessageRow", "read", "read_all"]
