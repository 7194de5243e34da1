"""Finding a model's profile by name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.catalog.media_tokens import image_tokens
from germane.catalog.profiles import Catalog, Profile
from germane.errors import InvalidInput
from germane.models.tokenizers import TOKENIZERS, open_tokenizer
from germane.types.message import Image
from support.examples import examples

CATALOG = Catalog.built_in()

SPELLINGS = {
    "gpt-4o-2024-08-06": "gpt-4o",
    "gpt-4o-mini-2024-07-18": "gpt-4o-mini",
    "GPT-4o": "gpt-4o",
    "openai/gpt-4o": "gpt-4o",
    "azure/gpt-4o": "gpt-4o",
    "openai:gpt-4o": "gpt-4o",
    "ft:gpt-4o-mini-2024-07-18:org::abc123": "gpt-4o-mini",
    "gpt-35-turbo": "gpt-3.5-turbo",
    "gpt-3.5-turbo-0125": "gpt-3.5-turbo",
    "gpt-4-0613": "gpt-4",
    "gpt-4-1106-preview": "gpt-4-turbo",
    "gpt-4.1-mini-2025-04-14": "gpt-4.1-mini",
    "o1": "o1",
    "o3-mini-2025-01-31": "o3-mini",
    "o4-mini": "o4-mini",
    "gpt-5-mini-2025-08-07": "gpt-5-mini",
    "gpt-5.2-2025-12-11": "gpt-5.2",
    "gpt-5.6-terra": "gpt-5.6",
    "openai.gpt-oss-120b-1:0": "gpt-oss",
    "claude-sonnet-4-5-20250929": "claude-sonnet-4-5",
    "claude-opus-4-20250514": "claude-opus-4",
    "claude-opus-4-1-20250805": "claude-opus-4-1",
    "claude-3-5-sonnet@20240620": "claude-3-5-sonnet",
    "claude-3-7-sonnet-latest": "claude-3-7-sonnet",
    "anthropic/claude-3.5-sonnet:beta": "claude-3-5-sonnet",
    "anthropic.claude-3-5-sonnet-20241022-v2:0": "claude-3-5-sonnet",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0": "claude-sonnet-4-5",
    "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0": "claude-haiku-4-5",
    "claude-opus-4-8": "claude-opus-4-8",
    "models/gemini-2.5-pro": "gemini-2.5-pro",
    "gemini-2.0-flash-001": "gemini-2.0-flash",
    "gemini-1.5-pro-latest": "gemini-1.5-pro",
    "gemini-3-pro-preview": "gemini-3-pro",
    "meta-llama/Llama-3.1-8B-Instruct": "llama-3.1",
    "meta-llama/Meta-Llama-3-70B-Instruct": "llama-3",
    "meta.llama3-1-8b-instruct-v1:0": "llama-3.1",
    "llama-3.3-70b-versatile": "llama-3.3",
    "llama3.2:3b": "llama-3.2",
    "accounts/fireworks/models/llama-v3p1-8b-instruct": "llama-3.1",
    "meta-llama/llama-4-scout:free": "llama-4-scout",
    "Qwen/Qwen2.5-7B-Instruct": "qwen2.5",
    "qwen3:8b": "qwen3",
    "deepseek/deepseek-r1:free": "deepseek-r1",
    "us.deepseek.r1-v1:0": "deepseek-r1",
    "deepseek-chat": "deepseek-chat",
    "mistral-large-latest": "mistral-large",
    "mistral.mistral-large-2402-v1:0": "mistral-large-2402",
    "mistralai/Mistral-7B-Instruct-v0.3": "mistral-7b",
    "mistralai/Ministral-8B-Instruct-2410": "ministral-8b",
    "codestral-2501": "codestral",
    "x-ai/grok-4": "grok-4",
    "x-ai/grok-4-fast:free": "grok-4-fast",
    "xai/grok-4-1-fast-reasoning": "grok-4.1-fast",
    "xai/grok-4.20-0309-reasoning": "grok-4.20",
    "grok-4-0709": "grok-4",
    "grok-code-fast-1-0825": "grok-code-fast-1",
    "moonshotai/kimi-k2": "kimi-k2",
    "moonshotai/Kimi-K2-Instruct-0905": "kimi-k2-0905",
    "kimi-k2-0905-preview": "kimi-k2-0905",
    "us.moonshotai.kimi-k3": "kimi-k3",
    "accounts/fireworks/models/kimi-k2p5": "kimi-k2.5",
    "moonshot-v1-128k-vision-preview": "moonshot-v1-128k",
    "z-ai/glm-4.6": "glm-4.6",
    "zai-org/GLM-4.5-Air": "glm-4.5",
    "zai.glm-5.3": "glm-5.3",
    "z-ai/glm-4.6v": "glm-4.6v",
    "cohere/command-a": "command-a",
    "command-a-03-2025": "command-a",
    "cohere.command-r-plus-v1:0": "command-r-plus",
    "azure_ai/Cohere-command-a-plus-05-2026": "command-a-plus",
    "command-r7b-12-2024": "command-r7b",
}


@pytest.mark.requirement("BUD-1")
@pytest.mark.parametrize(("model", "family"), SPELLINGS.items())
def test_a_name_resolves_to_its_family(model: str, family: str) -> None:
    """Dates, vendors, regions and tags around a name don't hide it."""
    profile = CATALOG.find(model)
    assert (profile.name, profile.known) == (family, True)


@pytest.mark.requirement("BUD-1")
@pytest.mark.parametrize(
    "model", ["", "/", "frobnicate-9", "o12", "gpt-5.9", "gpt4all", "::", "日本語", "\ud800", "x" * 10_000]
)
def test_an_unknown_model_gets_a_small_window_and_the_widest_safety(model: str) -> None:
    """8,192 tokens, 10 %, an estimating tokenizer; nothing raises."""
    profile = CATALOG.find(model)
    assert (profile.known, profile.window, profile.safety, profile.tokenizer) == (False, 8192, 0.10, "unknown")


@pytest.mark.requirement("BUD-1")
@pytest.mark.parametrize(
    ("model", "family"),
    [
        *(("claude-opus-4-9", "claude"), ("claude-opus-6", "claude"), ("gemini-5-pro", "gemini")),
        *(("grok-5", "grok"), ("glm-6", "glm"), ("kimi-k4", "kimi")),
    ],
)
def test_a_version_nobody_listed_is_not_taken_for_its_predecessor(model: str, family: str) -> None:
    """Its provider is known, the rest is the family's cautious entry."""
    profile = CATALOG.find(model)
    assert (profile.name, profile.safety) == (family, 0.10)
    assert not open_tokenizer(profile.tokenizer).exact


@pytest.mark.requirement("BUD-1")
@pytest.mark.parametrize("profile", list(CATALOG), ids=lambda profile: profile.name)
def test_every_profile_can_be_used(profile: Profile) -> None:
    """Its tokenizer opens, its image rule prices, its safety fits the way its tokens are counted."""
    assert profile.tokenizer in TOKENIZERS
    assert image_tokens(profile.images, Image()) > 0
    assert profile.max_output <= profile.window
    exact = open_tokenizer(profile.tokenizer).exact
    assert profile.safety == 0.02 if exact else profile.safety >= 0.05


@pytest.mark.requirement("BUD-1")
@pytest.mark.parametrize(
    "family", ["gpt", "claude", "gemini", "llama", "qwen", "deepseek", "mistral", "grok", "kimi", "glm", "command"]
)
def test_the_catalog_covers_the_families(family: str) -> None:
    """OpenAI, Anthropic, Google, Meta, Qwen, DeepSeek, Mistral, xAI, Moonshot, Zhipu and Cohere."""
    providers = {profile.provider for profile in CATALOG if profile.name.startswith(family)}
    assert providers == {{"claude": "anthropic", "gemini": "gemini"}.get(family, "openai")}


@examples(200)
@given(st.text(max_size=60))
def test_finding_never_raises(model: str) -> None:
    """Whatever a model is called, there is a profile."""
    assert CATALOG.find(model).window > 0


@pytest.mark.requirement("BUD-1")
def test_users_add_models() -> None:
    """What they leave out is the unknown model's; the built-in catalog stays as it was."""
    mine = CATALOG.with_models({"acme-7b": {"window": 50_000, "tokenizer": "llama3", "safety": 0}})
    profile = mine.find("acme/ACME-7B-instruct")
    assert (profile.name, profile.window, profile.tokenizer, profile.known) == ("acme-7b", 50_000, "llama3", True)
    assert not CATALOG.find("acme-7b").known


@pytest.mark.requirement("BUD-1")
def test_users_override_models_in_part() -> None:
    """An override of a dated name leaves its family alone."""
    mine = CATALOG.with_models({"gpt-4o-2024-08-06": {"window": 64_000}, "house-model": {"like": "claude-sonnet-4-5"}})
    assert mine.find("gpt-4o-2024-08-06").window == 64_000
    assert mine.find("gpt-4o-2024-08-06").max_output == CATALOG.find("gpt-4o").max_output
    assert mine.find("gpt-4o").window == 128_000
    assert mine.find("house-model").provider == "anthropic"
    assert CATALOG.with_models({"mine": {"provider": "openai-responses"}}).find("mine").provider == "openai-responses"


@pytest.mark.requirement("BUD-1")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"window": 0}, "window must be 1 or more"),
        ({"window": "big"}, "window must be of type int"),
        ({"window": True}, "window must be of type int"),
        ({"max_output": -1}, "max_output must be 0 or more"),
        ({"safety": 1.5}, "safety must be a fraction"),
        ({"safety": float("nan")}, "safety must be a fraction"),
        ({"provider": "acme"}, "provider must be one of"),
        ({"images": "tiles:x"}, "images"),
        ({"windows": 5}, "unknown field 'windows'"),
        ({"known": True}, "unknown field 'known'"),
        ({"like": 3}, "like must be"),
        ("gpt-4o", "give a table"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(given: Any, message: str) -> None:
    """The message names the model and the field."""
    with pytest.raises(InvalidInput, match=message) as refused:
        CATALOG.with_models({"acme": given})
    assert "'acme'" in str(refused.value)


@pytest.mark.requirement("BUD-1")
def test_a_name_over_256_characters_is_of_no_known_model() -> None:
    """Such a name isn't even parsed: the longest name of a model has a tenth of its length."""
    assert CATALOG.find("gpt-4o" + "-x" * 125).known
    assert not CATALOG.find("gpt-4o" + "-x" * 126).known


@pytest.mark.requirement("BUD-1")
@pytest.mark.parametrize("piece", ["a.", "a-", "gpt-", "a:", "1-", "us.anthropic."])
def test_what_is_looked_up_for_a_name_grows_with_its_length(piece: str) -> None:
    """Vendors in front of vendors: each is a place where the name may begin, and a few names are tried from each."""

    class Counted(dict[str, Profile]):
        looks = 0

        def __contains__(self, name: object) -> bool:
            Counted.looks += 1
            return super().__contains__(name)

    def looked(name: str) -> int:
        Counted.looks = 0
        catalog.find(name)
        return Counted.looks

    catalog = Catalog.built_in().with_models({})
    object.__setattr__(catalog._profiles, "_listed", Counted(catalog._profiles._listed))
    for size in (64, 256):
        name = piece * (size // len(piece))
        assert looked(name) <= 12 * sum(map(name.count, ".:-"))


@pytest.mark.requirement("INJECT-7")
def test_system_messages_in_the_middle_are_taken_from_opus_4_8_on_and_not_in_clouds() -> None:
    """A model of the user's own says for itself."""
    catalog = Catalog.built_in()
    takes = {name: catalog.find(name).mid_system for name in (
        "claude-opus-4-8", "claude-opus-4-8-20260528", "anthropic/claude-opus-5", "claude-fable-5",
        "claude-opus-4-7", "claude-sonnet-5", "claude-opus-9", "gpt-5", "gemini-2.5-pro",
        "us.anthropic.claude-opus-4-8-v1:0", "bedrock/claude-opus-4-8", "claude-opus-4-8@20260528", "vertex_ai/claude-opus-5",
    )}  # fmt: skip
    assert [name for name, taken in takes.items() if taken] == list(takes)[:4]
    mine = catalog.with_models({"eu.anthropic.claude-opus-5": {"mid_system": True}, "claude-opus-5": {"mid_system": False}})
    assert mine.find("eu.anthropic.claude-opus-5").mid_system
    assert not mine.find("claude-opus-5").mid_system


@pytest.mark.requirement("INJECT-10")
def test_models_that_bind_their_thinking() -> None:
    """As known in November 2026. A model that isn't listed is taken to bind it, and only in Anthropic's shape."""
    catalog = Catalog.built_in()
    names = [
        *(
            "claude-fable-5",
            "claude-fable-5-1",
            "claude-fable-5-2",
            "claude-mythos-5",
            "claude-mythos-5-1",
            "claude-mythos-5-2",
        ),
        *("claude-opus-5", "claude-opus-5-5", "claude-sonnet-5-5", "claude-sonnet-4-5", "claude-of-tomorrow", "no-model"),
    ]
    assert [name for name in names if catalog.find(name).binds_thinking("anthropic")] == [
        *("claude-fable-5-1", "claude-fable-5-2", "claude-mythos-5-2", "claude-opus-5-5", "claude-of-tomorrow", "no-model")
    ]
    assert not catalog.find("claude-fable-5-1").binds_thinking("openai")
