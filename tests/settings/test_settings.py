"""Settings from a file and the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from germane.errors import InvalidInput
from germane.settings.settings import Settings

KEY = "00112233445566778899aabbccddeeff"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "germane.toml"


def test_without_a_file_or_variables_there_are_defaults() -> None:
    assert Settings.load() == Settings()
    assert Settings().embedder == "distilled"


def test_a_file_sets_what_it_names(path: Path) -> None:
    path.write_text(
        f'[germane]\nembedder = "minilm"\nnonce_key = "{KEY}"\n'
        '[models."my-model"]\nlike = "gpt-4o"\n[strategies.terse]\ncap = 1500\n'
        '[prices."my-model"]\ninput = 0.2\n'
    )
    found = Settings.load(path)
    assert (found.embedder, found.nonce_key) == ("minilm", bytes.fromhex(KEY))
    assert found.prices == {"my-model": {"input": 0.2}}
    assert (found.models, found.strategies) == ({"my-model": {"like": "gpt-4o"}}, {"terse": {"cap": 1500}})


def test_the_environment_has_the_last_word(path: Path) -> None:
    """Unless it says nothing."""
    path.write_text('[germane]\nembedder = "minilm"\n')
    assert Settings.load(path, {"GERMANE_EMBEDDER": "static", "GERMANE_NONCE_KEY": KEY}).embedder == "static"
    assert Settings.load(path, {"GERMANE_EMBEDDER": "", "GERMANE_NONCE_KEY": ""}) == Settings(embedder="minilm")
    assert Settings.load(None, {"HOME": "x"}) == Settings()


@pytest.mark.requirement("MEM-7")
@pytest.mark.parametrize(("given", "policy"), [('"tag"', "tag"), ('"Refuse"', "refuse"), ("false", "off"), ('"off"', "off")])
def test_the_policy_on_secrets_is_a_setting(path: Path, given: str, policy: str) -> None:
    """In the file; the variable goes before it; without either, secrets are redacted."""
    path.write_text(f"[germane]\nsecrets = {given}\n")
    assert Settings.load(path).secrets == policy
    assert Settings.load(path, {"GERMANE_SECRETS": "redact"}).secrets == Settings.load().secrets == "redact"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[germane", "not TOML"),
        ("[germain]\n", "unknown germain; known are archetypes, germane, memory, models, prices, serve, strategies"),
        ('[germane]\nembeder = "x"\n', r"\[germane\]: unknown embeder"),
        ("germane = 3\n", r"\[germane\] must be a table, not int"),
        ("[germane]\nembedder = 3\n", "embedder must be a string, not int"),
        ("[germane]\nnonce_key = 12345678901234567890123456789012\n", "nonce_key must be a string"),
        ('[germane]\nnonce_key = "xyz"\n', "nonce_key must be hex digits"),
        ('[germane]\nnonce_key = "0011"\n', "at least 32 hex digits, not 4"),
        ('[germane]\nsecrets = "hide"\n', "secrets must be one of redact, tag, refuse, off, not 'hide'"),
        ("[germane]\nsecrets = 3\n", "secrets must be one of redact"),
        ("models = 3\n", "models must be tables"),
        ("[strategies]\nterse = 3\n", "strategies must be tables"),
        ("[prices]\ninput = 3\n", "prices must be tables"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_with_its_file(path: Path, text: str, said: str) -> None:
    path.write_text(text)
    with pytest.raises(InvalidInput, match=said) as error:
        Settings.load(path)
    assert path.name in str(error.value)


def test_a_file_that_cannot_be_read_is_named(path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"germane\.toml: can't be read"):
        Settings.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match=r"germane\.toml: not TOML"):
        Settings.load(path)


def test_a_variable_that_cannot_be_used_is_named_and_not_shown() -> None:
    """A key is a secret."""
    with pytest.raises(InvalidInput, match="GERMANE_NONCE_KEY must be hex digits") as error:
        Settings.load(None, {"GERMANE_NONCE_KEY": "sesame"})
    assert "sesame" not in str(error.value)


@pytest.mark.parametrize("given", ["0", "-1", "x", "1.5", " "])
def test_dimensions_must_be_a_whole_number(given: str) -> None:
    with pytest.raises(InvalidInput, match="GERMANE_DIMENSIONS must be a whole number, 1 or more"):
        Settings.load(None, {"GERMANE_DIMENSIONS": given})


@pytest.mark.parametrize(("given", "means"), [("yes", True), ("ON", True), ("1", True), ("no", False), ("Off", False)])
def test_a_flag_has_the_words_that_the_services_flags_have(given: str, means: bool) -> None:
    """All settings are read by the same parsers."""
    assert Settings.load(None, {"GERMANE_ENTITIES": given}).entities is means


def test_off_takes_away_what_the_file_gives(path: Path) -> None:
    """An empty variable doesn't."""
    path.write_text('[germane]\nllm = "openai:a"\nllm_tokens_per_day = 500_000\nrelevance = "off"\n')
    found = Settings.load(path, {"GERMANE_LLM": "off", "GERMANE_LLM_TOKENS_PER_DAY": ""})
    assert (found.llm, found.llm_tokens_per_day, found.relevance) == (None, 500_000, None)
    assert Settings.load(path, {"GERMANE_LLM_TOKENS_PER_DAY": "1_000"}).llm_tokens_per_day == 1000


def test_dimensions_from_file_and_variable(tmp_path: Path) -> None:
    """The variable overrides the file."""
    path = tmp_path / "germane.toml"
    path.write_text("[germane]\ndimensions = 768\n")
    assert Settings.load(path).dimensions == 768
    assert Settings.load(path, {"GERMANE_DIMENSIONS": "384"}).dimensions == 384
    assert Settings.load().dimensions is None
    path.write_text("[germane]\ndimensions = true\n")
    with pytest.raises(InvalidInput, match="dimensions must be"):
        Settings.load(path)
