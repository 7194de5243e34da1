"""Everyday requests: what an ordinary person types gets what it needs with nothing configured, and nothing where nothing is."""

from __future__ import annotations

import pytest

from germane import Agent, Context

TALK = [
    ("user", "Morning. The boiler man is called Ferris, he charged 140 quid for the valve. Lovely chap."),
    ("assistant", "That sounds fair for a valve."),
    ("user", "We moved to Grimsby in March, so the drive to the clinic takes fifty minutes now."),
    ("assistant", "Noted."),
    ("user", "lol ok. My sister Ines breeds whippets, she wants a website for them. Where would you start?"),
    ("assistant", "Start with good photos and one page that says which litters are due."),
    ("user", "Thanks!"),
    ("assistant", "You're welcome."),
]


@pytest.fixture
async def person(agent: Agent) -> Agent:
    await agent.record([{"role": role, "content": text} for role, text in TALK], session="first")
    return agent


async def ask(agent: Agent, text: str, **options: object) -> Context:
    messages = [{"role": "user", "content": text}]
    return await agent.assemble(messages, model="gpt-4o", session=f"asked {text}", deadline=None, **options)  # type: ignore[arg-type]


def searched(context: Context) -> list[str]:
    """What is shown besides the profile."""
    return [item.text for item in context.items if item.source != "profile"]


@pytest.mark.requirement("PERSON-2")
@pytest.mark.parametrize(
    ("request_text", "answer"),
    [
        ("who did i have out for the boiler and what did he charge", "Ferris"),
        ("where do i live these days", "Grimsby"),
        ("what was it my sister wanted doing", "website"),
    ],
)
async def test_a_request_in_the_first_person_finds_what_the_person_said(person: Agent, request_text: str, answer: str) -> None:
    """In other words than theirs; the answer may stand in the profile."""
    assert answer in (await ask(person, request_text)).added


@pytest.mark.requirement("PERSON-2", "NEED-1")
@pytest.mark.parametrize("text", ["hi", "thanks!", "ok great", "good night", "Danke dir!", "謝謝"])
async def test_a_turn_that_needs_nothing_gets_nothing_besides_the_profile(person: Agent, text: str) -> None:
    assert searched(await ask(person, text)) == []


@pytest.mark.requirement("PERSON-3")
async def test_a_young_store_isnt_poured_out_and_empty_words_take_no_line(person: Agent) -> None:
    """Whatever opens the gate."""
    context = await ask(person, "which breed is it that my sister keeps")
    assert "whippets" in context.added
    for empty in ("lol", "Thanks!", "Noted.", "welcome"):
        assert empty not in context.added
