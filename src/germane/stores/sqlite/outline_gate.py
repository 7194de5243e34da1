"""Outline gate: which lines of outlines a scope may see now, each with the hash of its text (PACK-8, INJECT-6)."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from germane.compaction.shown_line import line_hash, shown_line, stored_line
from germane.stores.sqlite.encoding import LISTED, sensitivity_of, shown, to_json
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.visible_partitions import IN_VISIBLE, VisiblePartition, visible_ids

__all__ = ["lines_now"]

_LINES = (
    "SELECT e.id, o.line, o.sensitivity FROM events e INDEXED BY events_id"
    " JOIN history_outlines o ON o.session = e.session AND o.first = e.position AND o.messages > 1"
    f" WHERE e.id IN {LISTED} AND +e.partition IN " + IN_VISIBLE
)


def lines_now(
    connection: apsw.Connection, visible: tuple[VisiblePartition, ...], names: Sequence[str], sensitivities: Sequence[str]
) -> dict[str, int]:
    """Returns those of `names` (`compaction/shown_line.py`) that are lines of the scope with an allowed sensitivity."""
    ids = sorted({id for name in names if (id := stored_line(name)) is not None})
    if not ids:
        return {}
    found = rows(connection, _LINES, (to_json(ids), *visible_ids(visible)))
    return {shown_line(id): line_hash(id, shown(line)) for id, line, level in found if sensitivity_of(level) in sensitivities}
