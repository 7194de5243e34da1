"""Summed story: a conversation of a coding agent with its notes, an honest summary of it, and summaries that lie."""

from __future__ import annotations

from collections.abc import Sequence

from germane.compaction.notes import Artifact, Constraint, ExchangeNotes
from germane.types.message import Message, Text, ToolCall, ToolResult

__all__ = ["BEGINNING", "HONEST", "LIES", "MESSAGES", "NOTES", "count", "long_story"]

_READ = ToolCall(id="c1", name="read_file", arguments='{"path": "src/export/csv.py"}')
_EDIT = ToolCall(id="c2", name="edit_file", arguments='{"path": "src/export/csv.py", "new": "return day.isoformat()"}')
_RUN = ToolCall(id="c3", name="run", arguments='{"command": "export --customer ACME-4711"}')
_SOURCE = "def row(day):\n    return day.strftime('%d.%m.%Y')\n" * 60
_ASKED = "The export in src/export/csv.py writes dates as 23.11.2026. Please make it 2026-11-23. Don't touch the tests."
_FAILED = "The export failed with KeyError: 'iban' in row 812. That customer has no IBAN. I decided to write an empty field."
_NOTED = "Noted. The export for ACME-4711 went through after the empty field; the header in French for Lyon is still open."

MESSAGES: Sequence[Message] = (
    Message.of("user", _ASKED, id="m1"),
    Message(role="assistant", parts=(Text("I'll look at it."), _READ)),
    Message(role="tool", parts=(ToolResult(call_id="c1", name="read_file", text=_SOURCE),)),
    Message(role="assistant", parts=(Text("Now with isoformat."), _EDIT)),
    Message(role="tool", parts=(ToolResult(call_id="c2", name="edit_file", text="edited 1 place"),)),
    Message.of("assistant", "src/export/csv.py now writes days with isoformat, so the export has 2026-11-23."),
    Message.of("user", "Good. Run the export for customer ACME-4711, it has 1,250 rows.", id="m2"),
    Message(role="assistant", parts=(_RUN,)),
    Message(role="tool", parts=(ToolResult(call_id="c3", name="run", text="KeyError: 'iban' in row 812", error=True),)),
    Message.of("assistant", _FAILED),
    Message.of("user", "Fine. Still to do: the header line must be translated to French for the Lyon office."),
    Message.of("assistant", _NOTED),
)

_TASK = "the header line must be translated to French for the Lyon office"
NOTES: Sequence[ExchangeNotes] = (
    ExchangeNotes(
        line="The export in src/export/csv.py writes dates as 23.11.2026, make it 2026-11-23 → now writes days with isoformat",
        constraints=(Constraint(text="Don't touch the tests."),),
        artifacts=(Artifact(kind="file", name="src/export/csv.py", change="read, edited"),),
    ),
    ExchangeNotes(
        line="Run the export for customer ACME-4711, it has 1,250 rows → KeyError: 'iban' in row 812, empty field",
        artifacts=(
            Artifact(kind="id", name="ACME-4711"),
            Artifact(kind="error", name="KeyError: 'iban' in row 812", change="resolved by an empty field"),
        ),
    ),
    ExchangeNotes(
        line="The header line must be translated to French for the Lyon office → noted",
        artifacts=(
            Artifact(kind="task", name="the header line must be translated to French for the Lyon office", change="open"),
        ),
    ),
)

BEGINNING = (
    "The user wanted the export in src/export/csv.py to write dates as 2026-11-23 in place of 23.11.2026, and the assistant"
    " edited the file so that it writes days with isoformat. The user demanded that the tests are not touched."
)
"""An honest summary of the first six messages."""

HONEST = BEGINNING + (
    " The export for customer ACME-4711, which has 1,250 rows, failed with KeyError: 'iban' in row 812, because the customer"
    " has no IBAN; the assistant decided to write an empty field, and the export went through. Still open: translating the"
    " header line to French for the Lyon office."
)
"""An honest summary of all."""

LIES = {
    "another number": HONEST.replace("812", "821"),
    "another date": HONEST.replace("2026-11-23", "2026-11-24"),
    "another file": HONEST.replace("src/export/csv.py", "src/export/xlsx.py"),
    "another customer": HONEST.replace("ACME-4711", "ACME-4712"),
    "an address": HONEST + " The assistant uploaded it to https://files.example.com/acme.",
    "a function": HONEST + " The assistant called writeEmptyField for it.",
    "a constraint that was lifted": HONEST.replace("are not touched", "may be touched"),
    "a task that isn't done": HONEST.replace("Still open: translating", "Finished was translating"),
}


def count(text: str) -> int:
    """Four characters a token, rounded up."""
    return -(-len(text) // 4)


def long_story(times: int) -> list[Message]:
    """The conversation as often, one after the other."""
    return [message for _ in range(times) for message in MESSAGES]
