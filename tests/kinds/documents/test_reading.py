"""Reading: text, HTML and PDF from bytes, and what can't be read."""

from __future__ import annotations

import pytest

from germane.errors import InvalidInput
from germane.kinds.documents.file_text import PdfPages, decode, read_html
from germane.kinds.documents.formats import format_of, guess_format
from support.made_pdf import made_pdf


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("naïve ☃".encode(), "naïve ☃"),
        ("naïve".encode("utf-8-sig"), "naïve"),
        ("naïve ☃".encode("utf-16"), "naïve ☃"),
        ("\ufeffnaïve".encode("utf-16-be"), "naïve"),
        ("naïve".encode("latin-1"), "naïve"),
        (b"a\r\nb\rc\fd", "a\nb\nc\n\nd"),
        (b"", ""),
    ],
)
def test_the_encoding_is_found_by_the_bytes(data: bytes, text: str) -> None:
    """By the byte order mark, else UTF-8, else Latin-1."""
    assert decode(data) == text


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n" + bytes(range(256)), b"text\0text", bytes(range(1, 32)) * 9])
def test_a_binary_file_is_refused_and_the_message_says_what_to_do(data: bytes) -> None:
    """Zeros and control characters tell."""
    with pytest.raises(InvalidInput, match="binary file, no text: convert it"):
        decode(data)


def test_a_broken_mark_is_said() -> None:
    """It isn't read as something else."""
    with pytest.raises(InvalidInput, match="save it as UTF-8"):
        decode(b"\xff\xfea")


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("a.md", b"x", "markdown"),
        ("A.PY", b"x", "code"),
        ("Dockerfile", b"x", "code"),
        ("a.unknown", b"<!DOCTYPE html><p>x", "html"),
        ("a.txt", b"%PDF-1.4", "pdf"),
        ("notes", b"# Title\ntext", "markdown"),
        ("app", b"2026-01-01 10:00:00 INFO x\n" * 9, "log"),
        ("letter", b"Dear Anna", "plain"),
        ("a.pdf", b"no PDF at all", "plain"),
        ("", b"", "plain"),
    ],
)
def test_the_format_is_found_by_name_and_content(name: str, data: bytes, format: str) -> None:
    """A PDF is one whatever it is called."""
    assert guess_format(name, data) == format


def test_a_media_type_is_one_of_those_that_are_known() -> None:
    """Parameters don't count; the message lists them."""
    assert format_of("text/html; charset=utf-8") == "html"
    with pytest.raises(InvalidInput, match="'image/png' is none of text/markdown"):
        format_of("image/png")


def test_the_main_text_of_a_page_keeps_its_structure() -> None:
    """As Markdown, without scripts, navigation and footers."""
    page = read_html(
        "<html><head><title>A &amp; B</title><script>if (a<b) '<p>no'</script></head><body><nav>menu</nav>"
        "<h1>One</h1>Text <b>bold</b><ul><li>x<li>y</ul><pre>  a &lt; b\n</pre>"
        "<table><tr><th>k<th>v<tr><td>1<td>2</table><footer>imprint</footer>"
    )
    assert page.title == "A & B"
    assert page.text == "# One\n\nText bold\n\n- x\n- y\n\n```\n  a < b\n```\n\n| k | v |\n| --- | --- |\n| 1 | 2 |"


def test_outside_a_main_element_of_some_length_nothing_is_taken() -> None:
    """A short one may be a decoration."""
    text = "words " * 60
    assert read_html(f"<body>before<main>{text}</main>after").text == text.strip()
    assert read_html("<body>before<main>x</main>after").text == "before\n\nx\n\nafter"


@pytest.mark.parametrize(
    "page",
    [
        "<a " * 50_000,
        "<!-- " * 50_000,
        '<a b="' * 50_000,
        "<script>" * 50_000,
        "</script" * 50_000,
        "<nav>" * 50_000,
        "&#" + "9" * 100_000 + ";",
        "<" * 100_000,
        "<td>" * 50_000,
        "<pre>" * 50_000,
        "<h1>" * 50_000,
        "<![CDATA[" * 50_000,
    ],
)
def test_a_hostile_page_is_read_in_a_moment(page: str) -> None:
    """Nothing is looked for twice. `bench/linear.py` measures it."""
    assert len(read_html(page).text) < 700_000


def test_the_pages_of_a_pdf_are_read_one_by_one() -> None:
    """Words that were divided at the end of a line are joined."""
    pytest.importorskip("pypdf")
    pages = PdfPages(made_pdf(["first page with infor-\nmation", "", "third"]))
    assert len(pages) == 3
    assert pages.text(0).strip() == "first page with information"
    assert pages.text(1).strip() == ""
    assert pages.text(2).strip() == "third"


@pytest.mark.parametrize("data", [b"%PDF-1.4", b"%PDF-1.4\n" + b"x" * 5000, made_pdf(["hello"])[:200]])
def test_a_damaged_pdf_is_refused(data: bytes) -> None:
    """With what to do."""
    pytest.importorskip("pypdf")
    with pytest.raises(InvalidInput, match="damaged: open it and save it anew"):
        PdfPages(data)


def test_an_encrypted_pdf_is_refused() -> None:
    """Unless it opens without a password."""
    pypdf = pytest.importorskip("pypdf")
    from io import BytesIO

    for user, opens in (("secret", False), ("", True)):
        writer = pypdf.PdfWriter(clone_from=BytesIO(made_pdf(["hello"])))
        writer.encrypt(user, owner_password="owner", algorithm="RC4-128")
        out = BytesIO()
        writer.write(out)
        if opens:
            assert PdfPages(out.getvalue()).text(0).strip() == "hello"
        else:
            with pytest.raises(InvalidInput, match="encrypted with a password: save a copy without one"):
                PdfPages(out.getvalue())
