"""Files of other products as they come: zips and folders, Claude, mem0, Letta, AGENTS.md; and what only looks like one."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from germane.cli.imports import BrokenRow, DirectiveRow, MemoryRow, MessageRow, Row, read, read_all
from germane.cli.imports.detect_format import Document, archive_documents, folder_documents
from germane.errors import InvalidInput
from support.product_exports import chat, zipped


def said(rows: list[Row]) -> list[tuple[str, str, str]]:
    return [(row.session, row.message.role, row.message.content) for row in rows if isinstance(row, MessageRow)]


def memories(rows: list[Row]) -> list[dict[str, Any]]:
    return [dict(row.fields) for row in rows if isinstance(row, MemoryRow)]


def loaded(document: Any, **options: Any) -> tuple[str, list[Row]]:
    data = document.encode() if isinstance(document, str) else json.dumps(document).encode()
    kind, rows = read(data, "file", **options)
    return kind, list(rows)


@pytest.mark.requirement("CLI-2")
def test_chatgpts_zip_is_read_as_it_comes() -> None:
    """One file of conversations, or several numbered ones; pages, images and settings beside them are passed over."""
    first, second = chat("c1", ("user", "hi"), ("tool", "1 + 1"), ("assistant", "yo")), chat("c2", ("user", "bye"))
    beside = {"chat.html": "<html>", "user.json": {"id": "u"}, "export_manifest.json": {}, "file-1.dat": "x"}
    for files in (
        {"conversations.json": [first, second]},
        {"conversations-000.json": [first], "conversations-001.json": [second]},
    ):
        kind, rows = read_all(archive_documents(zipped(files | beside)), "export")
        assert kind == "chatgpt"
        assert said(list(rows)) == [
            ("c1", "user", "hi"),
            ("c1", "tool", "1 + 1"),
            ("c1", "assistant", "yo"),
            ("c2", "user", "bye"),
        ]


def claude(id: str, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A conversation as Claude exports it."""
    common = {"attachments": [], "files": [], "updated_at": "2026-01-01T10:00:00.000000Z"}
    return {"uuid": id, "name": "x", "account": {"uuid": "a"}, "chat_messages": [common | one for one in messages], **more}


def turn(id: str, sender: str, text: str, minute: int = 0, **more: Any) -> dict[str, Any]:
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text, "citations": []}]
    return {
        "uuid": id,
        "sender": sender,
        "text": text,
        "content": content,
        "created_at": f"2026-01-01T10:{minute:02}:00Z",
    } | more


@pytest.mark.requirement("CLI-2")
def test_claudes_export_is_read_from_a_zip_and_from_a_folder(tmp_path: Path) -> None:
    """Text, tools and attachments are read; thinking isn't."""
    asked = turn("m1", "human", "What is in it?", attachments=[{"file_name": "a.txt", "extracted_content": "Marsh."}])
    tools = [
        {"type": "tool_use", "name": "look", "input": {}},
        {"type": "tool_result", "content": [{"type": "text", "text": "ok"}]},
    ]
    answered = turn("m2", "assistant", "A marsh.") | {"content": [*tools, {"type": "text", "text": "A marsh."}]}
    files = {"conversations.json": [claude("t1", asked, answered), {"uuid": "t2"}], "users.json": [{"uuid": "a"}]}
    (tmp_path / "export").mkdir()
    for name, content in files.items():
        (tmp_path / "export" / name).write_text(json.dumps(content))
    for documents in (archive_documents(zipped(files)), folder_documents(tmp_path / "export")):
        kind, found = read_all(documents, "export")
        rows = list(found)
        assert kind == "claude"
        assert said(rows) == [
            ("t1", "user", "What is in it?\na.txt\nMarsh."),
            ("t1", "assistant", "look({})\nok\nA marsh."),
        ]
        assert [row for row in rows if isinstance(row, BrokenRow)] == [BrokenRow("conversation 2", "has no chat_messages")]


def test_of_claudes_branches_the_current_one_is_read() -> None:
    """By its last message; where that isn't named, the branch of the newest message."""
    root = "00000000-0000-4000-8000-000000000000"
    messages = [
        turn("a", "human", "old question", 1, parent_message_uuid=root),
        turn("b", "assistant", "old answer", 2, parent_message_uuid="a"),
        turn("c", "human", "new question", 3, parent_message_uuid=root),
        turn("d", "assistant", "new answer", 4, parent_message_uuid="c"),
    ]
    assert [text for *_, text in said(loaded([claude("t", *messages)])[1])] == ["new question", "new answer"]
    current = claude("t", *messages, current_leaf_message_uuid="b")
    assert [text for *_, text in said(loaded([current])[1])] == ["old question", "old answer"]
    looped = [turn("a", "human", "x", parent_message_uuid="b"), turn("b", "human", "y", parent_message_uuid="a")]
    assert len(said(loaded([claude("t", *looped)])[1])) <= 2


@pytest.mark.requirement("CLI-2")
@pytest.mark.parametrize("wrap", [lambda found: {"results": found}, lambda found: found, lambda found: {"memories": found}])
def test_mem0s_memories_become_notes_of_their_users(wrap: Any) -> None:
    """Valid since the last change, with categories as tags; id and metadata stay in the provenance."""
    one = {
        "id": "3c90c3cc",
        "memory": "Likes tea",
        "hash": "f00",
        "user_id": "ada",
        "agent_id": None,
        "metadata": {"room": 7},
        "categories": ["food"],
        "created_at": "2023-11-07T05:31:56.1-07:00",
        "updated_at": None,
    }
    kind, rows = loaded(wrap([one, {"id": "x", "memory": "Shared"}, {"memory": 7}, {"memory": "x", "created_at": "soon"}]))
    assert kind == "mem0"
    assert [row.user for row in rows if isinstance(row, MemoryRow)] == ["ada", None]
    tea = memories(rows)[0]
    assert (tea["kind"], tea["body"], tea["tags"]) == ("note", "Likes tea", ["food"])
    assert tea["valid_from"] == "2023-11-07T05:31:56.100000-07:00"
    assert tea["provenance"] | {"metadata": 0} == {
        "source_kind": "import",
        "channel": "mem0",
        "refs": ["3c90c3cc"],
        "metadata": 0,
    }
    assert tea["provenance"]["metadata"]["room"] == 7
    assert len([row for row in rows if isinstance(row, BrokenRow)]) == 2


@pytest.mark.requirement("CLI-2")
def test_lettas_agent_file_gives_blocks_passages_and_messages() -> None:
    """The envelope around messages is unwrapped; heartbeats and what `send_message` answers say nothing."""
    sent = {"id": "c", "type": "function", "function": {"name": "send_message", "arguments": '{"message": "Hello Ada"}'}}
    envelope = json.dumps({"type": "user_message", "message": "hi", "time": "2026-01-01"})
    agent = {
        "id": "agent-0",
        "messages": [
            {"id": "message-0", "role": "system", "content": [{"type": "text", "text": "You are …"}]},
            {"id": "message-1", "role": "user", "content": envelope, "created_at": "2026-01-01T00:00:00+00:00"},
            {"id": "message-2", "role": "assistant", "content": [{"type": "text", "text": "thinking"}], "tool_calls": [sent]},
            {"id": "message-3", "role": "tool", "content": '{"status": "OK", "message": "None"}', "tool_call_id": "c"},
            {"id": "message-4", "role": "user", "content": '{"type": "heartbeat", "reason": "x"}'},
            {"id": "message-5", "role": "approval", "content": []},
            "no message",
        ],
    }
    blocks = [
        {"id": "block-0", "label": "persona", "value": "I am kind."},
        {"label": "human", "value": "Name: Ada"},
        {"label": "x"},
    ]
    passages = [{"id": "p", "text": "Ada lives in Linz.", "tags": ["home"], "created_at": "2026-01-01T00:00:00Z"}]
    kind, rows = loaded({"agents": [agent], "blocks": blocks, "passages": passages, "groups": [], "tools": []})
    assert kind == "letta"
    kinds = [(one["kind"], one.get("text") or one["body"]) for one in memories(rows)]
    assert kinds == [("behavior", "I am kind."), ("note", "Name: Ada"), ("note", "Ada lives in Linz.")]
    turns = [("agent-0", "system", "You are …"), ("agent-0", "user", "hi"), ("agent-0", "assistant", "Hello Ada")]
    assert said(rows) == turns
    assert [row.where for row in rows if isinstance(row, BrokenRow)] == ["block 3", "agent 1, message 7"]
    before = {"agent_type": "memgpt_agent", "core_memory": blocks[:1], "messages": agent["messages"][1:2], "name": "Bot"}
    kind, rows = loaded(before)
    assert (kind, said(rows), len(memories(rows))) == ("letta", [("Bot", "user", "hi")], 1)


_TESTS = "Run `make test`.\n\n```sh\n# no heading\n```"
AGENTS = f"# Acme\n\nIntro.\n\n## Tests ##\n\n{_TESTS}\n\n### Slow\n\n## Style\n\nBe brief.\n"


@pytest.mark.requirement("CLI-2")
@pytest.mark.parametrize("name", ["AGENTS.md", "project/CLAUDE.md"])
def test_instructions_become_procedures_by_section_or_the_directive(name: str) -> None:
    """A heading in a code block is none; a section without a text of its own gives nothing."""
    kind, rows = loaded(AGENTS, name=name)
    assert kind == "instructions"
    assert {one["kind"] for one in memories(rows)} == {"procedure"}
    assert {one["provenance"]["source_kind"] for one in memories(rows)} == {"import"}
    found = [(one["title"], one["body"]) for one in memories(rows)]
    assert found[0] == ("Acme", "Intro.")
    assert found[1] == ("Acme / Tests", _TESTS)
    assert found[2:] == [("Acme / Style", "Be brief.")]
    assert loaded(AGENTS, name=name, directive=True)[1] == [DirectiveRow(AGENTS.strip())]


def test_a_memory_folder_becomes_notes(tmp_path: Path) -> None:
    """Every Markdown file in it, however deep; links aren't followed."""
    folder = tmp_path / "memories"
    (folder / "people").mkdir(parents=True)
    (folder / "people" / "ada.md").write_text("Lives in Linz.\n")
    (folder / "habits.md").write_text("# Tea\n\nGreen, in the morning.\n")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "secret.md").write_text("outside")
    kind, rows = read_all(folder_documents(folder), "memories")
    found = memories(list(rows))
    assert kind == "notes"
    assert [(one["title"], one["body"]) for one in found] == [("Tea", "Green, in the morning."), ("ada", "Lives in Linz.")]
    assert found[1]["provenance"]["refs"] == ["people/ada.md"]


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"", "isn't a zip archive"), (b"PK\x03\x04 but no", "isn't a zip archive"), (b"hello", "isn't a zip archive")],
)
def test_a_zip_that_isnt_one_is_refused(data: bytes, said: str) -> None:
    """With what to do."""
    with pytest.raises(InvalidInput, match=said):
        archive_documents(io.BytesIO(data))


def test_an_archive_is_bounded_and_never_extracted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By entries, by size, by ratio; a name that leads elsewhere is only a label."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="more than 200 times larger"):
        archive_documents(zipped({"conversations.json": " " * 5_000_000}))
    with pytest.raises(InvalidInput, match="more than 1,000 bytes"):
        archive_documents(zipped({f"{n}.json": "[" + "1," * 200 + "1]" for n in range(5)}), max_bytes=1000)
    with pytest.raises(InvalidInput, match="has 5 entries"):
        archive_documents(zipped({f"{n}.json": "[]" for n in range(5)}), max_entries=4)
    with pytest.raises(InvalidInput, match="nothing in it that could be read"):
        archive_documents(zipped({"picture.png": "x"}))
    documents = archive_documents(zipped({"../../evil.md": "Be evil.", "/etc/x.md": "y"}))
    assert documents == [Document("../../evil.md", b"Be evil."), Document("/etc/x.md", b"y")]
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_archive_is_refused() -> None:
    """A wrong checksum, an archive that was cut, and one that lies about a size."""
    whole = zipped({"conversations.json": json.dumps([chat("c", ("user", "hello " * 50))])}).getvalue()
    flipped = bytearray(whole)
    flipped[60] ^= 0xFF
    for data in (bytes(flipped), whole[:-30], whole[: len(whole) // 2]):
        with pytest.raises(InvalidInput):
            archive_documents(io.BytesIO(data))


def test_one_bad_document_doesnt_spoil_the_others() -> None:
    """It is reported; where none can be read, the first one's reason is told."""
    good = Document("a.json", json.dumps([{"role": "user", "content": "hi"}]).encode())
    bad, other = Document("b.json", b"{oops"), Document("c.md", b"# Note\n\nx")
    kind, rows = read_all([good, bad, other], "file")
    found = list(rows)
    assert kind == "messages"
    assert len(said(found)) == 1
    assert [row.where for row in found if isinstance(row, BrokenRow)] == ["b.json", "c.md"]
    with pytest.raises(InvalidInput, match=r"b\.json: not JSON"):
        read_all([bad], "file")
