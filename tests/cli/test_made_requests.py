"""Requests that are made from a store: in its language, of what it holds, the same each time."""

from __future__ import annotations

import pytest

from germane import Agent
from germane.cli.made_requests import requests_of


@pytest.mark.parametrize(
    ("language", "talk", "asked"),
    [
        (
            "English",
            [("user", "I live in Graz."), ("user", "From now on always answer in French."), ("user", "I moved to Linz.")],
            ["Which city am I living in?", "Write a short note about the weekend."],
        ),
        ("German", [("user", "Ich wohne in Graz."), ("user", "Das ist nicht so schlimm, Frau Lehner.")], ["In welcher Stadt"]),
        ("Spanish", [("user", "Vivo en Sevilla."), ("user", "No es para tanto, pero me gusta.")], ["¿En qué ciudad vivo?"]),
        ("Russian", [("user", "Я живу в Казани."), ("user", "Это было вчера.")], ["Спасибо"]),
        ("Chinese", [("user", "我今天去了图书馆。"), ("user", "明天我要考试。")], ["谢谢"]),
        ("Japanese", [("user", "今日は図書館に行きました。")], ["ありがとう"]),
    ],
)
async def test_requests_are_made_in_the_language_of_the_talk(
    agent: Agent, language: str, talk: list[tuple[str, str]], asked: list[str]
) -> None:
    """From facts, rules, names and days; the last one gives thanks; the same each time."""
    await agent.record([{"role": role, "content": text} for role, text in talk], session="s")
    made = await requests_of(agent)
    for text in asked:
        assert any(request.text.startswith(text) for request in made), language
    assert made[-1].kind == "thanks"
    assert 1 < len(made) <= 5 or language in ("Russian", "Chinese", "Japanese")
    assert made == await requests_of(agent)


async def test_a_changed_value_is_asked_for_and_its_evidence_is_what_holds_now(agent: Agent) -> None:
    for value in ("Graz", "Linz"):
        await agent.remember(value, kind="fact", key="user.home")
    await agent.remember("12 March", kind="fact", key="deadline")
    last = await agent.remember("19 March", kind="fact", key="deadline")
    (changed, *_) = [one for one in await requests_of(agent) if one.kind == "a value that changed"]
    assert (changed.text, changed.answer, changed.evidence) == ("What about the deadline?", "19 March", (last.id,))
