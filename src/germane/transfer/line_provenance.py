"""Line provenance: writes the provenance in a line of an export as a JSON object, and reads it back with checks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from germane.memories.checks import check_provenance
from germane.transfer.line_fields import LineFields
from germane.types.candidate import Provenance
from germane.types.limits import ID, Limit
from germane.types.limits import text as string

__all__ = ["parsed_provenance", "provenance_fields"]


def provenance_fields(provenance: Provenance) -> dict[str, Any]:
    """Returns the fields of a provenance."""
    return {
        "source_kind": provenance.source_kind,
        "channel": provenance.channel,
        "session": provenance.session,
        "message_id": provenance.message_id,
        "tool_call_id": provenance.tool_call_id,
        "refs": list(provenance.refs),
        "metadata": dict(provenance.metadata),
    }


def parsed_provenance(value: Any, *, call: Limit = ID) -> Provenance:
    """Returns the provenance in an object. `call` is the limit of a tool call's id. Raises `InvalidInput`."""
    given = LineFields(value, "provenance")
    call_id = given.take("tool_call_id", None)
    provenance = check_provenance(
        Provenance(
            source_kind=given.take("source_kind", "user"),
            channel=given.take("channel", None),
            session=given.take("session", None),
            message_id=given.take("message_id", None),
            refs=given.take("refs", ()),
            metadata=given.take("metadata", {}),
        )
    )
    given.end()
    if call_id is None:
        return provenance
    return replace(provenance, tool_call_id=string("provenance: tool_call_id", call_id, call))
