"""Media tokens: what images, files, other payloads and a provider's own tools cost, by a model's figures.

An image costs what the model's own rule says; one of unknown size costs the rule's maximum. A rule is its name followed by
its figures; sizes are in pixels:

    fixed:N            every image costs N
    tiles:B:T[:M]      fit into 2048², shortest side to at most 768, then B + T per started tile of 512², at most M tiles (8);
                       with low detail B alone
    patches:F[:M]      F × the started patches of 32², at most M patches (1,536)
    area:P:M           one token for every P pixels of area, at most M
    grid:N             N when both sides are at most 384; else N for each tile of min(side)/1.5 (256 to 768), within 3072²
    unknown            4,784, the highest price of any rule in use

Sources: the providers' documentation of vision and token counting.

Figures are named token prices in a text of the catalog, such as `page:1568 pdf:2700`: of files, and of a provider's own
tools. Of media, `page` is a page of a PDF whose bytes are there; `pdf`, `audio` and `video` are files of which only a URI or
an id is known. Nobody knows beforehand what such a file costs, so these figures are what recorded calls were billed. Of
tools, a name stands for all types that begin with it, and `*` for all others.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from math import ceil, isfinite
from types import MappingProxyType
from typing import Any, NamedTuple

from germane.errors import InvalidInput
from germane.types.message import Image

MEDIA = ("page", "pdf", "audio", "video")
_FUNCTIONS = ("function", "custom", "function_declarations", "functionDeclarations")


@cache
def figures(rule: str) -> Mapping[str, int]:
    """Returns the figures by name. Raises `InvalidInput` for a text of another form."""
    found: dict[str, int] = {}
    for each in rule.split():
        name, _, number = each.rpartition(":")
        if not name or not (number.isascii() and number.isdecimal() and len(number) < 10):
            raise InvalidInput("unknown figures {}", rule, advice="write them as 'name:tokens', such as 'page:1568 pdf:2700'")
        found[name] = int(number)
    return MappingProxyType(found)


def own_tool_tokens(tool: Mapping[str, Any], rule: str) -> int:
    """Returns what the provider adds to the prompt for a tool of its own; 0 for a function."""
    if "input_schema" in tool or any(key in tool for key in _FUNCTIONS):
        return 0
    kind = tool.get("type")
    if kind is None and "name" in tool:
        return 0
    kinds = [kind] if isinstance(kind, str) else [str(key)[:100] for key in tool]  # Gemini names its tools by a key
    return sum(_tool_tokens(each, figures(rule)) for each in kinds if each not in _FUNCTIONS)


def _tool_tokens(kind: str, known: Mapping[str, int]) -> int:
    plain = _one_spelling(kind)
    names = [name for name in known if plain.startswith(_one_spelling(name))]
    return known[max(names, key=len)] if names else known.get("*", 0)


def _one_spelling(name: str) -> str:
    """A name as Gemini writes it in its two spellings."""
    return name.replace("_", "").lower()


_UNKNOWN_TOKENS = 4784


def image_tokens(rule: str, image: Image) -> int:
    """Returns the tokens that `image` costs under `rule`. Raises `InvalidInput` for an unknown rule or a figure that isn't a
    positive number."""
    width, height = image.width, image.height
    if width is None or height is None or width <= 0 or height <= 0:
        width = height = None
    return _rule_tokens(rule, width, height, image.detail == "low")


@lru_cache(maxsize=4096)
def _rule_tokens(rule: str, width: int | None, height: int | None, low: bool) -> int:
    if rule == "unknown":
        return _UNKNOWN_TOKENS
    name, *written = rule.split(":")
    try:
        figures = [float(figure) for figure in written]
        if not all(isfinite(figure) and figure > 0 for figure in figures):
            raise ValueError(rule)
        return _RULES[name](figures, width, height, low)
    except (KeyError, ValueError, IndexError) as error:
        raise InvalidInput(
            "unknown image rule {}", rule, advice="write one such as 'tiles:85:170', 'area:750:1600' or 'fixed:258'"
        ) from error


def _fixed(figures: list[float], width: int | None, height: int | None, low: bool) -> int:
    return ceil(figures[0])


def _tiles(figures: list[float], width: int | None, height: int | None, low: bool) -> int:
    base, tile, max_tiles = figures[0], figures[1], figures[2] if len(figures) > 2 else 8.0
    if low:
        return ceil(base)
    if width is None or height is None:
        return ceil(base + tile * max_tiles)
    shrink = min(1.0, 2048 / max(width, height))
    shrink *= min(1.0, 768 / (min(width, height) * shrink))
    return ceil(base + tile * min(max_tiles, _across(width * shrink, 512) * _across(height * shrink, 512)))


def _patches(figures: list[float], width: int | None, height: int | None, low: bool) -> int:
    factor, max_patches = figures[0], figures[1] if len(figures) > 1 else 1536.0
    if width is None or height is None:
        return ceil(factor * max_patches)
    return ceil(factor * min(max_patches, _across(width, 32) * _across(height, 32)))


def _area(figures: list[float], width: int | None, height: int | None, low: bool) -> int:
    pixels, max_tokens = figures[0], figures[1]
    return ceil(max_tokens if width is None or height is None else min(max_tokens, width * height / pixels))


def _grid(figures: list[float], width: int | None, height: int | None, low: bool) -> int:
    if width is None or height is None:
        return ceil(figures[0] * 24)  # the maximum: a narrow strip of 2 by 12 tiles
    if max(width, height) <= 384:
        return ceil(figures[0])
    shrink = min(1.0, 3072 / max(width, height))
    side = min(768.0, max(256.0, min(width, height) * shrink / 1.5))
    return ceil(figures[0] * _across(width * shrink, side) * _across(height * shrink, side))


def _across(length: float, side: float) -> int:
    return max(1, ceil(length / side - 1e-9))


_RULES: Mapping[str, Callable[[list[float], int | None, int | None, bool], int]] = MappingProxyType(
    {"fixed": _fixed, "tiles": _tiles, "patches": _patches, "area": _area, "grid": _grid}
)


# The cost of a part that germane passes on unread: its JSON, plus a price for each base64 payload and for a file that
# is only named. No provider counts the letters of a payload, and none says beforehand what a document costs. A PDF
# costs a price per page by the model's figures, and 1 token for 32 bytes for its text; where its pages can't be told,
# one is assumed for 25 kB. Other documents are taken at 1 token for 16 bytes, sound and video at 1 token for 100 bytes
# (32 tokens per second at 3 kB per second). A payload costs at least 256 and at most 400,000 tokens (the largest
# documents that providers accept). A file behind a URI or an id has the price that the model's figures say.


_PAYLOAD = re.compile(r"(?:data:[\w.+-]++/[\w.+-]++(?:;(?!base64,)[\w=.+-]++)*+;base64,)?[A-Za-z0-9+/_=\s-]{1024,}+")
_TIMED_MEDIA = ("audio", "video")
_PDF = "JVBERi0"
"""The beginning of every PDF in base64."""
_LINKS = ("fileUri", "file_uri", "file_id", "file_url", "audio_url", "document_url", "video_url")
_PAGE = re.compile(rb"/Type\s*/Page\b")
_COUNT = re.compile(rb"/Count\s+(\d{1,5})\b")
_MAX_SCANNED = 1 << 20
"""Characters at each end of a PDF in which its pages are counted; a multiple of four."""
_URL_SAFE = str.maketrans("-_", "+/", " \t\r\n")
_MIN_TOKENS, _MAX_TOKENS = 256, 400_000


def split_payloads(raw: Mapping[str, Any], media: str = "") -> tuple[str, int]:
    """Returns the JSON of `raw` without its payloads, and the price of these payloads, or of the file that it names, in tokens.
    `media` are the model's figures."""
    payloads: list[_Payload] = []
    text = written_json(_without(raw, payloads, 0))
    known = figures(media)
    if not payloads:
        return text, known.get(kind, 0) if (kind := _named_file(raw, text)) else 0
    rate = 100 if any(word in text for word in _TIMED_MEDIA) else 16
    pdf = "application/pdf" in text
    page = known.get("page", 0)
    prices = (_pdf(each, page) if pdf or each.is_pdf else each.size // rate for each in payloads)
    return text, sum(min(_MAX_TOKENS, max(_MIN_TOKENS, tokens)) for tokens in prices)


class _Payload(NamedTuple):
    """The bytes that a payload encodes, and its beginning and its end as they are given."""

    size: int
    data: str | bytes

    @property
    def is_pdf(self) -> bool:
        start = self.data[:8]
        return start.startswith(_PDF) if isinstance(start, str) else start.startswith(b"%PDF-")


def _pdf(payload: _Payload, page: int) -> int:
    return page * _pages(payload) + payload.size // 32


def _pages(payload: _Payload) -> int:
    """The pages of a PDF as its own tree of pages counts them, at least one; newer files may hide the tree."""
    held = payload.data
    ends = (held,) if len(held) <= 2 * _MAX_SCANNED else (held[:_MAX_SCANNED], held[-_MAX_SCANNED:])
    told = 0
    for each in ends:
        if isinstance(each, str):
            try:
                each = binascii.a2b_base64(each.translate(_URL_SAFE) + "=" * (-len(each) % 4))
            except ValueError:
                continue
        told = max(told, len(_PAGE.findall(each)), *(int(count) for count in _COUNT.findall(each)))
    return told or max(1, payload.size // 25_000)


def _named_file(raw: Mapping[str, Any], text: str) -> str:
    """Returns the kind of the file that the part names by a URI or an id; '' where it names none."""
    if raw.get("type") == "container_upload":
        return ""
    inner = [each for each in raw.values() if isinstance(each, Mapping)]
    source = raw.get("source")
    linked = isinstance(source, Mapping) and source.get("type") in ("url", "file")
    if not linked and not any(holder.get(key) for holder in (raw, *inner) for key in _LINKS):
        return ""
    return next((kind for kind in _TIMED_MEDIA if kind in text), "video" if "youtu" in text else "pdf")


class WrittenObject(dict[str, Any]):
    """A dict with its JSON, for what is large: it is written once, however often it is counted. Isn't to be changed."""

    __slots__ = ("json",)

    def __init__(self, value: Mapping[str, Any]) -> None:
        super().__init__(value)
        self.json = written_json(value)


def written_json(value: Any) -> str:
    """Returns `value` as JSON. A value that isn't serialisable (cycles, deep nesting, odd keys) gives its keys and values in a
    row. Never raises."""
    if isinstance(value, WrittenObject):
        return value.json
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return _flat(value)


def _without(value: Any, payloads: list[_Payload], depth: int) -> Any:
    if isinstance(value, str):
        if value.startswith(_PDF) or (len(value) >= 1024 and " " not in value[:1024] and _PAYLOAD.fullmatch(value)):
            start = value.index(",") + 1 if value.startswith("data:") else 0
            payloads.append(_Payload(len(value) * 3 // 4, value[start:] if start else value))
            return value[: start - 1] if start else ""
        return value
    if isinstance(value, bytes | bytearray):
        payloads.append(_Payload(len(value), bytes(value)))
        return ""
    if depth > 50:
        return _flat(value)
    if isinstance(value, Mapping):
        return {str(key): _without(item, payloads, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without(item, payloads, depth + 1) for item in value]
    return value


def _flat(value: Any) -> str:
    """Returns all keys and values, each container once, without recursion."""
    words: list[str] = []
    seen: set[int] = set()
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, Mapping | list | tuple):
            if id(item) not in seen:
                seen.add(id(item))
                rest.extend(item)
                rest.extend(item.values() if isinstance(item, Mapping) else ())
        else:
            words.append(str(item))
    return ", ".join(words)
