"""History verification: archived messages that aren't as they were written, and outlines that lack messages, for `doctor`."""

from __future__ import annotations

import json

import apsw

from germane.compaction.kept_history import checksum_of
from germane.stores.sqlite.rows import rows

__all__ = ["HISTORY_ORPHANS", "verify_archive"]

_AT = "NOT EXISTS (SELECT 1 FROM events e WHERE e.session = o.session AND e.position = o.{})"
HISTORY_ORPHANS = {
    "lines of outlines without their messages": f"history_outlines o WHERE {_AT.format('first')} OR {_AT.format('last')}",
    "outlines that lack messages": (
        "sessions s WHERE s.document IS NULL AND (SELECT count(*) FROM events WHERE session = s.key AND position >= 0 AND"
        " position < s.outlined) <> (SELECT total(messages) FROM history_outlines WHERE session = s.key)"
    ),
}
"""What `verification.py` counts: each finding with the FROM and WHERE of its query."""


def verify_archive(connection: apsw.Connection) -> tuple[str, str, bool]:
    """Compares the archived messages with the checksums stored with them."""
    total = changed = 0
    for messages, checksum in rows(connection, "SELECT messages, checksum FROM history_archive"):
        total += 1
        changed += not _same(messages, checksum)
    if changed:
        return ("archive", f"{changed} of {total} entries differ from the checksum stored with them: restore a backup", False)
    return ("archive", f"{total} entries are as they were stored", True)


def _same(messages: str, checksum: str) -> bool:
    try:
        return checksum_of(json.loads(messages)) == checksum
    except ValueError:
        return False
