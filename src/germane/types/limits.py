"""Limits: how much one request may hold of anything.

The constants are data: `docs/operate/limits.md` lists each of them with its reason, and a test compares the two. A request
within all limits can't block the process for long, overflow a number or a recursion, or exceed what SQLite takes. `checks.py`
refuses more, before any work is done.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """At most `maximum` of `unit`. `of` says what is limited and `why` gives the reason for the number, both in the words of
    the documentation; `instead` tells the caller what to do."""

    maximum: int
    unit: str
    of: str
    why: str
    instead: str = ""


ID = Limit(
    maximum=256,
    unit="characters",
    of="`org`, `agent`, `user`, `session`; a memory's id; a message's own `id` in `record`; each of `ids` and `exclude`",
    why="ids of every common kind are shorter, and an id is compared and indexed everywhere",
)
NAME = Limit(
    maximum=256,
    unit="characters",
    of="`model`, `provider`, `strategy`, `zone`, `kind`, `channel`, `source_kind`, `embedder_model`, the `reason` of"
    " `fallback`; each of `kinds`, `event_types`, `entity_types`, `sensitivities`",
    why="they are looked up or written into a trace, and no name there is comes near it",
)
LABEL = Limit(maximum=256, unit="characters", of="a fact's `key`, the `note` of an API key", why="a label is not a text")
TAG = Limit(maximum=64, unit="characters", of="each of `tags`", why="a tag is a word or two")
EVENT_TYPE = Limit(maximum=64, unit="characters", of="the `type` of an event", why="a type is a word or two")
EVENTS = Limit(
    maximum=10_000,
    unit="events",
    of="`events` of one `events.record_many`",
    why="each is read by the extractors; more goes into several calls",
    instead="record them in several calls",
)
REMARK = Limit(
    maximum=1_000,
    unit="characters",
    of="`by` and `reason` of `forget`",
    why="they stay in the tombstone, which holds no content",
)
CURSOR = Limit(maximum=256, unit="characters", of="`cursor`", why="those that a listing gives have 43")
QUERY = Limit(
    maximum=4_000_000,
    unit="characters",
    of="`query`",
    why="a question of any length works; a longer one is no question, and no message either",
)
DIRECTIVE = Limit(
    maximum=100_000, unit="characters", of="the directive's text", why="it goes into every prompt: this is some 25,000 tokens"
)
MEMORY_TEXT = Limit(
    maximum=100_000,
    unit="characters",
    of="each text of a memory (`text`, `body`, `summary`, `title`; a fact's `value` as JSON)",
    why="what is longer belongs into several memories, or into messages",
    instead="split it into several memories",
)
BLOCK_TEXT = Limit(
    maximum=100_000,
    unit="characters",
    of="each text of a block, of its description and of an edit; the `limit` of a block",
    why="a block goes into prompts: this is some 25,000 tokens",
    instead="split it into several blocks",
)
TASK_GOAL = Limit(
    maximum=4_000,
    unit="characters",
    of="the `goal` of a task, and what it is blocked by",
    why="it is shown in every context of the task: this is some 1,000 tokens",
    instead="keep the details in a message, a block or an archival entry",
)
TASK_RESULT = Limit(
    maximum=100_000,
    unit="characters",
    of="the `result` of a task",
    why="later tasks see its beginning; this is some 25,000 tokens",
    instead="keep it as an archival entry, and point to that",
)
TASK_TITLE = Limit(maximum=200, unit="characters", of="the title of a task's artifact", why="it is a pointer, not a text")
ARCHIVED = Limit(
    maximum=16_000_000,
    unit="characters",
    of="all the strings of the messages that one handle of a compaction stands for",
    why="they are written and read as one; what is more leaves the prompt without a handle",
)
SUMMARY_TEXT = Limit(
    maximum=100_000,
    unit="characters",
    of="a stored summary of a session",
    why="it stands in a prompt: this is some 25,000 tokens",
)
LIST_ITEMS = Limit(
    maximum=1_000,
    unit="entries",
    of="a block's list or log, a field of it that is a list",
    why="it is read and written as one",
)
SECTIONS = Limit(maximum=100, unit="entries", of="a block's fields, its sections", why="nobody reads more")
MESSAGE_TEXT = Limit(
    maximum=4_000_000,
    unit="characters",
    of="the text of one message of `record`",
    why="it is indexed as one unit; this is a book of 700,000 words",
)
CHARACTERS = Limit(
    maximum=64_000_000,
    unit="characters",
    of="all the strings of the messages of one `assemble`, `fallback` or `record`, base64 included; those of `system`; the text"
    " of `count`, `estimate_tokens` and `compress`",
    why="providers refuse requests long before: a conversation that can be sent can be given to `assemble`",
    instead="leave out the oldest, or give them in several calls",
)
DOCUMENT_SOURCE = Limit(
    maximum=240, unit="characters", of="the `source` of a document", why="with its prefix it is the name of a session"
)
DOCUMENT_TEXT = Limit(
    maximum=16_000_000,
    unit="characters",
    of="the text of one document",
    why="it becomes some 15,000 passages, each with a row and a vector",
    instead="split it into several documents",
)
DOCUMENT_BYTES = Limit(
    maximum=64_000_000,
    unit="bytes",
    of="the file of one document",
    why="it is read as a whole",
    instead="split it, or ingest the part that matters",
)
DOCUMENT_PAGES = Limit(
    maximum=5_000,
    unit="pages",
    of="one PDF",
    why="reading a page takes some 20 ms",
    instead="split it into several documents",
)
DOCUMENT_FILES = Limit(
    maximum=10_000,
    unit="files",
    of="a folder that is ingested",
    why="a larger one is seldom meant",
    instead="name the folders inside it that matter",
)
INLINE_MESSAGES = 1_000
"""Messages up to which a conversation is read, counted and written on the event loop; of more, others would wait for it."""
MESSAGES = Limit(
    maximum=100_000,
    unit="messages",
    of="`messages` of one `assemble` or `fallback`",
    why="only abuse meets it: a window of a million tokens holds some 20,000 short messages",
    instead="leave out the oldest, which no window holds",
)
EXPLAINED = Limit(
    maximum=1_000_000,
    unit="characters",
    of="all the strings of the `messages` of a client's `why`",
    why="its messages are compared with one stored message as a whole",
    instead="give the latest messages alone",
)
RECORDED = Limit(
    maximum=200_000,
    unit="messages",
    of="`messages` of one `record`",
    why="a whole conversation in one call; more goes into several",
    instead="record them in several calls",
)
TOOLS = Limit(maximum=10_000, unit="tools", of="`tools`", why="providers take 128 to some hundreds")
TOOL_CHARACTERS = Limit(
    maximum=4_000_000,
    unit="characters",
    of="all the strings of `tools`",
    why="they are counted whole, and fit no window before that",
)
DEPTH = Limit(
    maximum=64,
    unit="levels",
    of="nesting of anything given as a dict or as JSON: a message, a tool, a field of a memory, `provenance.metadata`",
    why="providers' messages have ten at most; it also ends what contains itself",
)
VALUES = Limit(
    maximum=100_000,
    unit="values",
    of="values within one message or one tool",
    why="a message has some ten, an image or a document one; a schema some hundreds",
)
VALUES_IN_ALL = Limit(
    maximum=2_000_000,
    unit="values",
    of="values within all messages, or all tools, of one request; messages of a role and a text don't count",
    why="each has to be looked at once",
)
FIELD_VALUES = Limit(
    maximum=10_000,
    unit="values",
    of="values within one field of a memory, or within `provenance.metadata`",
    why="more isn't a fact but a file",
)
DIGITS = Limit(
    maximum=1_024, unit="bits", of="each whole number, however deep", why="as far as a double reaches: JSON has no others"
)
NAMES = Limit(
    maximum=1_000,
    unit="entries",
    of="each of the lists `tags`, `kinds`, `event_types`, `entity_types`, `sensitivities`, a strategy's `fact_keys` and `tags`",
    why="nobody narrows by more",
)
IDS = Limit(
    maximum=10_000,
    unit="entries",
    of="`ids` of `forget`, `feedback` and `texts`, `exclude`",
    why="each is looked up by itself",
    instead="give them in several calls",
)
BLOCKS_NAMED = Limit(maximum=100, unit="entries", of="`blocks` of `assemble`", why="more blocks than that fit into no prompt")
REFERENCES = Limit(maximum=1_000, unit="entries", of="`provenance.refs`", why="they are kept with the memory, and read with it")
AGENTS = Limit(maximum=256, unit="entries", of="`agents` of an API key", why="a key for more is a key for the org")
PAGE = Limit(maximum=1_000, unit="entries", of="`limit` of a listing", why="a page is read and sent as one")
COUNT = Limit(
    maximum=1_000_000_000,
    unit="",
    of="`max_tokens`, `limit` of `search`, counts in a strategy",
    why="no window and no store comes near it, and SQLite's numbers end at 9 · 10¹⁸",
)
