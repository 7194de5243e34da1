"""Media: what kind of document a file is, by what the caller says, by its name, and by its content."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from germane.documents.logs import is_log
from germane.errors import InvalidInput
from germane.types.limits import NAME, shown
from germane.types.limits import text as string

__all__ = ["MEDIA_TYPES", "MediaFormat", "format_of", "guessed"]

MediaFormat = Literal["markdown", "html", "code", "log", "rows", "plain", "pdf"]
MEDIA_TYPES: Mapping[MediaFormat, str] = MappingProxyType(
    {
        "markdown": "text/markdown",
        "html": "text/html",
        "code": "text/x-code",
        "log": "text/x-log",
        "rows": "text/csv",
        "plain": "text/plain",
        "pdf": "application/pdf",
    }
)
"""The media type of each format."""

_NAMES: Mapping[str, MediaFormat] = MappingProxyType(
    {media_type: name for name, media_type in MEDIA_TYPES.items()}
    | {name: name for name in MEDIA_TYPES}
    | {"application/xhtml+xml": "html", "text": "plain", "md": "markdown", "text/tab-separated-values": "rows"}
)
_SUFFIX_WORDS: Mapping[MediaFormat, str] = MappingProxyType(
    {
        "markdown": "md markdown mdown mkd mdx qmd",
        "html": "html htm xhtml",
        "rows": "csv tsv",
        "plain": "txt text rst adoc org tex",
        "pdf": "pdf",
        "log": "log",
        "code": "py pyi js mjs cjs ts tsx jsx java kt kts scala go rs c h cc cpp cxx hpp cs rb php swift m mm lua pl pm r jl sh"
        " bash zsh fish ps1 sql proto graphql css scss less vue svelte dart ex exs erl hs ml mli clj fs vb zig nim sol tf hcl"
        " gradle cmake json jsonl json5 yaml yml toml ini cfg conf xml",
    }
)
_SUFFIXES: Mapping[str, MediaFormat] = MappingProxyType(
    {suffix: name for name, suffixes in _SUFFIX_WORDS.items() for suffix in suffixes.split()}
)
_FILES: Mapping[str, MediaFormat] = MappingProxyType(
    dict.fromkeys(("dockerfile", "makefile", "jenkinsfile", "rakefile", "gemfile"), "code")
)
_PDF = b"%PDF-"
_WITHIN = 1_024
"""Bytes at the beginning of a file within which a PDF says so."""


def format_of(media_type: object) -> MediaFormat:
    """Returns the format of a media type, or of a format's own name. Raises `InvalidInput`."""
    given = string("media_type", media_type, NAME).partition(";")[0].strip().lower()
    if given not in _NAMES:
        raise InvalidInput(f"media_type {shown(media_type)} is none of {', '.join(MEDIA_TYPES.values())}")
    return _NAMES[given]


def guessed(name: str, data: bytes) -> MediaFormat:
    """Returns the format of a file by its name, else by its first bytes."""
    base = name.replace("\\", "/").rpartition("/")[2].lower()
    if _PDF in data[:_WITHIN]:
        return "pdf"
    if base in _FILES:
        return _FILES[base]
    known = _SUFFIXES.get(base.rpartition(".")[2]) if "." in base else None
    if known is not None and known != "pdf":
        return known
    beginning = data[:_WITHIN].lstrip().lower()
    if beginning.startswith((b"<!doctype html", b"<html")):
        return "html"
    text = data[:65_536].decode("utf-8", "replace")
    if is_log(text):
        return "log"
    return "markdown" if text.startswith(("# ", "## ")) or "\n## " in text or "\n```" in text else "plain"
