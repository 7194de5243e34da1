"""Screened content: what is stored of a memory that holds a secret."""

from __future__ import annotations

from typing import Any

import pytest

from germane.errors import InvalidInput
from germane.kinds.memories.directive import set_directive
from germane.kinds.memories.plans import new_memory, update
from germane.kinds.memories.reads import MemoriesById, PutMemory
from germane.kinds.memories.value import Memory
from germane.text.secrets.detection import POLICIES, SecretPolicy
from germane.types.candidate import Provenance
from germane.types.plan import Decision, replay
from germane.types.scope import Scope
from germane_testing.builders import NOON

pytestmark = pytest.mark.requirement("MEM-7")

AWS = "AKIA" + "Q3EGVCFDTZ7XN2LM"
"""Nobody's."""
SCOPE = Scope(user="ana")


def made(text: str | None = None, secrets: SecretPolicy = "redact", **given: Any) -> Memory:
    kind = given.pop("kind", "note")
    provenance = given.pop("provenance", None)
    return new_memory(text, kind=kind, scope=SCOPE, now=NOON, given=given, provenance=provenance, secrets=secrets)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"text": f"use {AWS}"}, "use [redacted: AWS access key]"),
        ({"text": f"use {AWS}", "title": "my pin is 4711"}, "my pin is [redacted: PIN]: use [redacted: AWS access key]"),
        ({"kind": "fact", "key": "wifi password", "value": "hunter2"}, "wifi password: [redacted: password]"),
        ({"kind": "fact", "key": "db", "value": {"password": "hunter2", "n": [AWS, 1]}},
         'db: {"n": ["[redacted: AWS access key]", 1], "password": "[redacted: password]"}'),
        ({"text": "Tulip-2024", "title": "Password for the wifi"}, "Password for the wifi: [redacted: password]"),
        ({"text": "hunter2", "title": "Passwort"}, "Passwort: [redacted: password]"),
        ({"kind": "episode", "text": f"lost {AWS}"}, "lost [redacted: AWS access key]"),
        ({"kind": "preference", "text": "the pin is 4711"}, "the pin is [redacted: PIN]"),
    ],
)  # fmt: skip
def test_every_field_is_screened(given: dict[str, Any], kept: str) -> None:
    """By itself, and together with the field that it stands under."""
    memory = made(**given)
    assert memory.text == kept
    assert memory.secrets
    assert made(**{**given, "secrets": "off"}).secrets == {}


def test_provenance_is_screened_but_for_what_identifies() -> None:
    """References, channel and metadata."""
    source = Provenance(refs=(f"https://x.test/?t={AWS}",), channel=AWS, metadata={"token": [AWS]}, message_id=AWS)
    kept = made("nothing here", provenance=source).provenance
    assert kept.refs == ("https://x.test/?t=[redacted: AWS access key]",)
    assert (kept.channel, kept.message_id) == ("[redacted: AWS access key]", AWS)
    assert kept.metadata == {"token": ["[redacted: AWS access key]"]}


def test_two_memories_that_are_stored_alike_are_duplicates() -> None:
    """The hash of a memory is that of the text as stored, so nothing of the secret is in it."""
    one, two = made(f"the key is {AWS}"), made(f"the key is {AWS[:-1]}9")
    assert one.content_hash == two.content_hash == made(one.text).content_hash


def test_a_tagged_memory_keeps_its_text() -> None:
    """It is sensitive and has the tag, whatever the caller gave."""
    memory = made(f"use {AWS}", "tag", tags=["aws"], sensitivity="public")
    assert (memory.text, memory.sensitivity, memory.tags) == (f"use {AWS}", "sensitive", ("aws", "secret"))
    assert dict(memory.secrets) == {"AWS access key": 1}


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"text": f"use {AWS}"}, "body"),
        ({"text": "x", "title": AWS}, "title"),
        ({"kind": "fact", "key": "db", "value": {"password": "hunter2"}}, "value"),
        ({"text": "x", "provenance": Provenance(refs=(AWS,))}, "provenance"),
    ],
)
def test_a_refusal_names_the_field(given: dict[str, Any], place: str) -> None:
    """And the kind, never the secret."""
    with pytest.raises(InvalidInput, match=rf"^{place} holds a secret \(") as refused:
        made(**given, secrets="refuse")
    assert AWS not in str(refused.value)
    assert "hunter2" not in str(refused.value)


def changed(memory: Memory, secrets: SecretPolicy, text: str | None = None, **changes: Any) -> Decision[Memory]:
    plan = update(memory.id, changes, text=text, at=NOON, scope=SCOPE, secrets=secrets)
    return replay(plan, {MemoriesById: {memory.id: memory}})


def test_an_update_screens_what_it_is_given() -> None:
    """What is stored already stays: a policy holds from then on."""
    memory = made("nothing here")
    assert changed(memory, "redact", f"use {AWS}").outcome.text == "use [redacted: AWS access key]"
    tagged = changed(memory, "tag", f"use {AWS}").outcome
    assert (tagged.sensitivity, tagged.tags, dict(tagged.secrets)) == ("sensitive", ("secret",), {"AWS access key": 1})
    with pytest.raises(InvalidInput, match="body holds a secret"):
        changed(memory, "refuse", f"use {AWS}")
    held = made(f"use {AWS}", "off")
    assert changed(held, "refuse", pinned=True).outcome.text == f"use {AWS}"
    assert any(isinstance(change, PutMemory) for change in changed(held, "redact", pinned=True).changes)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_directive_obeys_the_policy(policy: SecretPolicy, caplog: pytest.LogCaptureFixture) -> None:
    """As every text that is stored; the log warns of its secret, by kind, as it goes into every context."""
    if policy == "refuse":
        with pytest.raises(InvalidInput, match=r"^the directive holds a secret \(AWS access key\)"):
            replay(set_directive(f"use {AWS}", policy), {})
        return
    kept = "[redacted: AWS access key]" if policy == "redact" else AWS
    assert replay(set_directive(f"use {AWS}", policy), {}).outcome == f"use {kept}"
    warned = [record.getMessage() for record in caplog.records if record.name == "germane.secrets"]
    assert len(warned) == (policy != "off")
    assert all("AWS access key" in line and AWS not in line for line in warned)
