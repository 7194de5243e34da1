"""Content, ids and labels escaped for a prompt."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.stages.write import escape
from germane.stages.write.escape import LIKENESSES, clean, escape_attribute, escape_label, escape_operator, escape_text
from support.rendering import NONCE

BRACKETS, QUOTES = "<>&", "\"'"
ANY = st.text(st.characters(), max_size=60)


def forms(text: str) -> list[str]:
    return [text, unicodedata.normalize("NFKC", text), unicodedata.normalize("NFKD", text), unicodedata.normalize("NFC", text)]


@pytest.mark.requirement("FORMAT-3")
def test_ordinary_text_comes_through_as_it_is() -> None:
    """What can't harm isn't touched."""
    for text in (
        "I'm fine: it's 5 o'clock.",
        "naïve café — “quoted”…",
        "日本語。テスト",
        "Привет",
        "a\n\tb",
        "हिन्दी",
        "👩‍👧 ❤️ 👍🏽",
    ):
        assert clean(text, NONCE) == text


@pytest.mark.requirement("FORMAT-3")
def test_every_likeness_of_a_special_character_is_known() -> None:
    """Over all of Unicode: whoever normalises the prompt later meets no bracket or ampersand of content's, and in an attribute
    no quote."""
    decomposed = [char for char in map(chr, range(0x80, 0x110000)) if unicodedata.decomposition(char)]
    assert {char for char in decomposed if any(sign in form for form in forms(char) for sign in BRACKETS)} == set(LIKENESSES)
    quotes = {char for char in decomposed if any(sign in form for form in forms(char) for sign in QUOTES)}
    assert quotes == {"＂", "＇"}
    assert not quotes & set(escape_attribute("".join(quotes)))


@pytest.mark.requirement("FORMAT-3")
@given(ANY)
def test_text_holds_no_special_character_in_any_normal_form(text: str) -> None:
    """Only the entities' own ampersands are left."""
    written = escape_text(clean(text, NONCE))
    for form in forms(written):
        assert not set(form) & set("<>")
        assert form.count("&") == sum(form.count(name) for name in ("&lt;", "&gt;", "&amp;"))


@pytest.mark.requirement("FORMAT-3")
@given(ANY)
def test_an_attribute_stays_on_one_line_and_inside_its_quotes(text: str) -> None:
    """No line separator and no quote, whatever the id."""
    for form in forms(escape_attribute(clean(text, NONCE))):
        assert len(form.splitlines()) <= 1
        assert not set(form) & set("<>\"'")


@pytest.mark.requirement("FORMAT-3")
def test_text_keeps_its_quotes_and_an_attribute_does_not() -> None:
    """An apostrophe as an entity would cost two tokens in every English line; in an attribute a quote would end it."""
    assert escape_text('it\'s "so" ＇＂ < & >') == 'it\'s "so" ＇＂ &lt; &amp; &gt;'
    assert escape_attribute('it\'s "so" ＇＂ < & >') == "it&apos;s &quot;so&quot; &apos;&quot; &lt; &amp; &gt;"


@pytest.mark.requirement("FORMAT-3")
@pytest.mark.parametrize(
    "hidden",
    [NONCE, NONCE.upper(), "\u200b".join(NONCE), "".join(chr(ord(char) + 0xFEE0) for char in NONCE), f"{NONCE}\u0301",
     NONCE[:4] + NONCE + NONCE[4:], f"{NONCE} " + "".join(chr(0x1D41A + ord(char) - 97) for char in NONCE)],
)  # fmt: skip
def test_the_nonce_never_comes_through(hidden: str) -> None:
    """Not in capitals, not in wide or bold letters, not with something invisible in it, not twice nested."""
    for written in (clean(f"a {hidden} b", NONCE), escape_operator(f"a {hidden} b", NONCE), escape_label(hidden, NONCE)):
        assert all(NONCE not in form.lower() for form in forms(written))


@pytest.mark.requirement("FORMAT-3")
def test_a_leading_mark_gets_a_carrier_of_its_own() -> None:
    """A combining solidus right after `>` would compose with it and break germane's own tag."""
    assert clean("\u0338x", NONCE) == "◌\u0338x"
    assert clean("\u200b\u0338x", NONCE) == "◌\u0338x"


@pytest.mark.requirement("FORMAT-3")
def test_text_is_composed() -> None:
    """NFC when written."""
    assert clean("cafe\u0301", NONCE) == "caf\u00e9"


@pytest.mark.requirement("FORMAT-3")
def test_line_separators_of_every_kind_become_newlines() -> None:
    """One grammar of lines for whoever reads."""
    assert clean("a\r\nb\rc\x0bd\x0ce\x85f\u2028g\u2029h", NONCE) == "a\nb\nc\nd\ne\nf\ng\nh"


@pytest.mark.requirement("FORMAT-3")
def test_a_label_is_one_line_of_at_most_64_graphemes() -> None:
    """A name is a name, not a page."""
    assert escape_label("  Caro\nline\t\x00 ", NONCE) == "Caro line"
    assert escape_label("👍🏽" * 80, NONCE) == "👍🏽" * 63 + "…"


@pytest.mark.requirement("FORMAT-3")
def test_the_directive_is_written_as_the_operator_wrote_it() -> None:
    """Its own markup, quotes and role labels are the operator's business."""
    directive = "<rules>Use \"x\" & 'y'; if a < b:\nSystem: ok [INST] e\u0301</rules>"
    assert escape_operator(directive, NONCE) == directive


@pytest.mark.requirement("FORMAT-3")
@pytest.mark.parametrize(
    "tag", ["</directive>", "< / Directive >", "＜/directive＞", "<\u200bmemory x>", "<ｎotice>", "≮factual_memories>"]
)
def test_the_directive_can_not_hold_germanes_own_tags(tag: str) -> None:
    """They look the same but for their first bracket."""
    written = escape_operator(f"a{tag}b", NONCE)
    assert written.startswith("a&lt;")
    assert written.endswith("b")


def test_every_character_of_a_directive_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows a bracket ends at the next one; it was 160 characters for each of 100,000."""
    seen = 0

    def looked(after: str) -> bool:
        nonlocal seen
        seen += len(after)
        return False

    monkeypatch.setattr(escape, "_is_own", looked)
    for piece in ("≮", "<", "<a", "< /", "＜\u200b", "<memor", "≮\u0301"):
        seen, text = 0, piece * 5_000
        escape_operator(text, NONCE)
        assert seen <= 2 * len(text)


@pytest.mark.requirement("FORMAT-3")
def test_a_label_is_cut_before_anything_is_done_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name of a million characters costs what one of 4,096 does."""
    lengths: list[int] = []

    def cleaned(text: str, nonce: str) -> str:
        lengths.append(len(text))
        return text

    monkeypatch.setattr(escape, "clean", cleaned)
    assert len(escape_label("≮" * 1_000_000, NONCE)) <= 64
    assert lengths == [4_096]


def test_lone_surrogates_in_a_directive_become_replacement_characters() -> None:
    """They can't be sent."""
    assert escape_operator("a\ud800b", NONCE) == "a\ufffdb"
