"""What files, media in results and a provider's own tools cost: at least what recorded calls were billed (BUD-4, INJECT-11)."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from germane.catalog.media_tokens import figures, own_tool_tokens, split_payloads
from germane.catalog.profiles import Catalog
from germane.catalog.request_tokens import message_tokens
from germane.dialects.registry import parse
from germane.errors import InvalidInput
from germane.integrations import compact
from germane.types.message import Image
from support.made_pdf import made_pdf

pytestmark = [pytest.mark.requirement("BUD-4"), pytest.mark.requirement("INJECT-11")]

ASKED = "What is the main content of this document?"
CLAUDE, GEMINI = Catalog.built_in().find("claude-sonnet-4-5"), Catalog.built_in().find("gemini-2.0-flash")


def claude(*blocks: Any, tools: Any = ()) -> int:
    """What a request costs."""
    content = [{"type": "text", "text": ASKED}, *blocks]
    given = [{"role": "user", "content": content}]
    return compact(given, model="claude-sonnet-4-5", provider="anthropic", max_tokens=10**7, tools=tools).tokens


def gemini(*parts: Any) -> int:
    given = [{"role": "user", "parts": [{"text": ASKED}, *parts]}]
    return compact(given, model="gemini-2.0-flash", provider="gemini", max_tokens=10**7).tokens


def linked(media: str, uri: str) -> dict[str, Any]:
    return {"fileData": {"fileUri": uri, "mimeType": media}}


def source(data: bytes) -> dict[str, Any]:
    encoded = base64.b64encode(data).decode()
    return {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": encoded}}


def test_counts_are_at_least_the_billed_figures_and_near_them() -> None:
    """Input tokens of public recorded calls, of one step each, in which no tool of the server ran."""
    at_a_url = {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}}
    rows = [
        (claude(tools=[{"type": "memory_20250818", "name": "memory"}]), 1577),
        (claude(tools=[{"type": "web_search_20250305", "name": "web_search"}]), 2218),
        (claude(at_a_url), 2682),
        (claude(source(bytes(13_264))), 1615),
        (gemini(linked("application/pdf", "https://example.org/a.pdf")), 19_875),
        (gemini(linked("video/mp4", "https://example.org/a.mp4")), 16_824),
    ]
    assert all(counted >= billed for counted, billed in rows), rows
    assert sum(counted / billed for counted, billed in rows) / len(rows) <= 1.35


@pytest.mark.parametrize(
    ("tool", "tokens"),
    [
        ({"type": "computer_20250124", "name": "computer"}, 1300),
        ({"type": "tool_of_tomorrow_20300101", "name": "x"}, 700),
        ({"type": "custom", "name": "memory", "input_schema": {}}, 0),
        ({"name": "memory", "input_schema": {}}, 0),
        ({"name": "memory", "description": "x"}, 0),
        ({"type": "function", "function": {"name": "memory"}}, 0),
        ({"type": "function", "name": "memory", "parameters": {}}, 0),
        ({"functionDeclarations": [{"name": "memory"}]}, 0),
        ({}, 0),
    ],
)
def test_a_providers_own_tool_costs_what_it_adds_and_a_function_nothing(tool: dict[str, Any], tokens: int) -> None:
    """Whatever the function is called."""
    assert own_tool_tokens(tool, CLAUDE.own_tools) == tokens


def test_gemini_names_its_own_tools_by_a_key() -> None:
    """In two spellings; the longest name counts."""
    assert own_tool_tokens({"googleSearch": {}}, GEMINI.own_tools) == 64
    assert (
        own_tool_tokens({"computerUse": {}}, GEMINI.own_tools)
        == own_tool_tokens({"computer_use": {}}, GEMINI.own_tools)
        == 1500
    )
    assert own_tool_tokens({"type": "ab_c"}, "a:1 ab:2 *:3") == 2


@pytest.mark.parametrize("rule", ["page", "page:", "page:-1", "page:1.5", "page:99999999999", ":3"])
def test_figures_of_another_form_are_refused(rule: str) -> None:
    """By name, also in the settings."""
    with pytest.raises(InvalidInput, match="unknown figures"):
        figures(rule)
    with pytest.raises(InvalidInput, match="media holds no figures"):
        Catalog.built_in().with_models({"x": {"media": rule}})
    with pytest.raises(InvalidInput, match="media must name page, pdf, audio, video"):
        Catalog.built_in().with_models({"x": {"media": "page:1"}})


def test_a_pdf_costs_by_its_pages() -> None:
    """Each page adds the price of one; where none can be told, the bytes tell."""
    one, nine = (claude(source(made_pdf([f"Page {n}" for n in range(pages)]))) for pages in (1, 9))
    assert 8 * 1568 <= nine - one <= 8 * 1568 + 400
    hidden = b"%PDF-1.7\n" + bytes(100_000)
    assert claude(source(hidden)) >= 4 * 1568
    assert claude(source(b"%PDF-1.7 /Count 99999 " + bytes(5000))) <= 400_000 + 200


@pytest.mark.parametrize(
    "data", [b"%PDF-1.7 not", "JVBERi0xLjc" + "!" * 2000, "JVBERi0xLjc" + "=" * 2001, "JVBERi0" + "A" * 3_000_001]
)
def test_what_is_no_pdf_under_its_name_has_a_price_too(data: str | bytes) -> None:
    """Whatever stands there."""
    assert split_payloads({"data": data, "media_type": "application/pdf"}, CLAUDE.media)[1] <= 400_000


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        ({"type": "file", "file": {"file_id": "file_1"}}, 2400),
        ({"type": "input_file", "file_url": "https://example.org/a.pdf"}, 2400),
        ({"type": "video_url", "video_url": {"url": "https://example.org/a"}}, 17_000),
        ({"fileData": {"fileUri": "https://youtu.be/x"}}, 17_000),
        ({"type": "audio_url", "audio_url": {"url": "https://example.org/a"}}, 2000),
        ({"type": "container_upload", "file_id": "file_1"}, 0),
        ({"type": "web_search_tool_result", "content": [{"type": "web_search_result", "url": "https://example.org"}]}, 0),
    ],
)
def test_a_file_that_is_only_named_has_a_price(raw: dict[str, Any], tokens: int) -> None:
    """By its kind; what goes to a container isn't read by the model."""
    assert split_payloads(raw, Catalog.built_in().find("gpt-4o").media)[1] == tokens


def test_media_in_a_functions_response_count_as_beside_it() -> None:
    """Images and files, in a message that stays the tool's."""
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    pdf = linked("application/pdf", "https://example.org/a.pdf")
    answer = {"name": "look", "response": {"ok": True}}
    inside = parse({"role": "user", "parts": [{"functionResponse": answer | {"parts": [image, pdf]}}]}, "gemini")
    beside = parse({"role": "user", "parts": [{"functionResponse": answer}, image, pdf]}, "gemini")
    assert inside.role == "tool"
    assert isinstance(inside.parts[1], Image)
    cost = [message_tokens(message, GEMINI, len) for message in (inside, beside)]
    assert cost[0] == cost[1] > 20_000
