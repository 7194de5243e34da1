"""The codec: what is encoded is decoded as it was; what doesn't fit is named by its place; hostile JSON is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import InvalidInput
from germane.kinds.memories.value import Memory
from germane.types.codec import Hash, decode, encode
from germane.types.json_text import read_object, write_json
from germane.types.limits import DEPTH, VALUES_IN_ALL
from germane.types.message import Message, Text
from germane_testing.builders import a_memory

pytestmark = pytest.mark.requirement("RPC-2")

NOW = datetime(2025, 5, 3, 10, 40, tzinfo=UTC)


class Row(NamedTuple):
    name: str
    size: int


class Wide(NamedTuple):
    a: int = 0
    b: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Small:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    body: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """One field of every kind."""

    text: str = "x"
    number: float = float("-inf")
    count: int | None = None
    at: datetime = NOW
    day: date | None = date(2025, 5, 3)
    data: bytes = b"\x00\xff"
    mode: Literal["a", "b"] = "a"
    rows: tuple[Row, ...] = (Row("r", 1),)
    wide: Wide = Wide(2, "w")
    pair: tuple[str, int] = ("p", 2)
    names: frozenset[str] = frozenset({"n"})
    counts: Mapping[str, int] = field(default_factory=lambda: {"k": 1})
    meta: Mapping[str, Any] = field(default_factory=lambda: {"deep": [1, {"x": None}]})
    told: Small | Other = Other(body="b")
    named: Small | Twin | None = Twin(text="t")
    several: tuple[Small | Twin, ...] = (Small(text="s"), Twin(text="t"))
    inner: Whole | None = None
    hidden: Any = field(default=None, repr=False)


def through(kind: Any, value: Any) -> Any:
    return decode(kind, json.loads(write_json(encode(value, kind))))


def test_every_kind_of_value_comes_back_as_it_was() -> None:
    value = Whole(inner=Whole(count=3, named=Small(text="s")))
    assert through(Whole, value) == value
    assert through(tuple[Small | Twin, ...], (Twin(text="t"),)) == (Twin(text="t"),)
    assert through(Sequence[Mapping[str, Any] | Message], [{"role": "user"}, Message(role="user", parts=(Text("x"),))]) == [
        {"role": "user"},
        Message(role="user", parts=(Text("x"),)),
    ]


def test_a_class_is_named_only_where_its_fields_dont_tell() -> None:
    encoded = encode(Whole())
    assert "$type" not in encoded["told"]
    assert encoded["named"] == {"$type": "Twin", "text": "t"}
    assert decode(Small | Other, {"body": "b"}) == Other(body="b")
    assert decode(datetime | str | None, "2025-05-03") == "2025-05-03"
    assert decode(int | float, 3) == 3
    assert decode(str | tuple[str, str] | Small, ["a", "b"]) == ("a", "b")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_any_json_value_is_a_value(value: Any) -> None:
    assert json.loads(json.dumps(encode(value))) == value == decode(Any, value)


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        (Whole, {"text": 3}, "it.text must be text, not 3"),
        (Whole, {"strange": 3}, "it has an unknown field 'strange'"),
        (Whole, {"rows": [["r", True]]}, "it.rows[0][1] must be a whole number, not True"),
        (Whole, {"counts": {"k": "v"}}, "it.counts['k'] must be a whole number, not 'v'"),
        (Whole, {"mode": "c"}, "it.mode must be one of a, b, not 'c'"),
        (Whole, {"at": "yesterday"}, "it.at must be a time in ISO 8601, not 'yesterday'"),
        (Whole, {"data": "?"}, "it.data must be base64 text"),
        (Whole, {"named": {"text": "t"}}, "it.named must name its type: $type is one of Small, Twin"),
        (Whole, {"told": {"strange": 1}}, "it.told must be one of Small, Other, not dict"),
        (Whole, {"inner": {"inner": {"pair": ["p"]}}}, "it.inner.inner.pair must be a list of 2, not list"),
        (Whole, {"number": 10**400}, "it.number must be a smaller number"),
        (Whole, {"count": 2**2000}, "it.count is a number of 2,001 bits, 1,024 are allowed"),
        (Small, {}, "it lacks text"),
        (Whole, [], "it must be an object, not list"),
    ],
)
def test_what_doesnt_fit_is_named_by_its_place(kind: Any, value: Any, told: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        decode(kind, value, "it")
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\xff", "arguments isn't UTF-8 at byte 0"),
        (b"{", "arguments isn't JSON that can be read at character 1"),
        (b"[]", "arguments must be a JSON object"),
        (b'{"a": NaN}', "arguments isn't JSON that can be read"),
        (b'{"a": 1e999}', "arguments isn't JSON that can be read"),
        (b'{"a": 1, "a": 2}', "arguments isn't JSON that can be read"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "arguments isn't JSON that can be read"),
        (b'{"a": "\\ud800"}', "arguments holds a lone surrogate: it isn't valid Unicode"),
        (b'{"\\ud800": 1}', "arguments holds a lone surrogate: it isn't valid Unicode"),
        (b'{"a": ' + b"[" * 100_000, f"arguments is nested deeper than {DEPTH.maximum + 4} levels"),
        (b'{"a": [' + b"1," * VALUES_IN_ALL.maximum + b"1]}", f"arguments has more than {VALUES_IN_ALL.maximum:,} values"),
    ],
)
def test_hostile_json_is_refused_without_its_text(data: bytes, told: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_object(data, "arguments")
    assert str(caught.value) == told


def test_arguments_are_an_object() -> None:
    assert read_object(b"", "arguments") == {}
    assert read_object('{"a": "\\ud83d\\ude00 ä"}'.encode(), "arguments") == {"a": "😀 ä"}


def test_a_lone_surrogate_is_sent_as_a_replacement() -> None:
    assert write_json(["a\ud800b", "ä"]) == '["a\ufffdb","ä"]'.encode()


@pytest.mark.parametrize("number", [0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1])
def test_a_hash_is_hexadecimal_and_loses_no_bit(number: int) -> None:
    """16 digits, whatever its sign: JSON's numbers have 53 bits in JavaScript."""
    written = encode(number, Hash)
    assert (len(written), decode(Hash, written)) == (16, number)


@pytest.mark.parametrize("wrong", [7, "7", "g" * 16, "0" * 18, " " * 16, None])
def test_what_is_no_hash_is_refused(wrong: Any) -> None:
    """Also a number, and digits of another length."""
    with pytest.raises(InvalidInput, match="it must be 16 hexadecimal digits"):
        decode(Hash, wrong, "it")


def test_the_hash_of_a_memory_is_hexadecimal() -> None:
    """In the JSON of operations, and of the command."""
    memory = a_memory("I drink tea", "note", content_hash=-1)
    written = encode(memory)
    assert written["content_hash"] == "f" * 16
    assert decode(Memory, written).content_hash == -1


def test_an_object_that_stands_for_one_of_another_class_is_written_as_that_one() -> None:
    """As the proxies of wrapt do, by their `__class__`; anything else of an unknown class is given to `other`."""

    class Proxy:
        def __init__(self, of: Any) -> None:
            self._of = of

        @property  # type: ignore[misc]
        def __class__(self) -> type:
            return type(self._of)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._of, name)

        def __iter__(self) -> Any:
            return iter(self._of)

    assert encode({"a": Proxy([1, 2])}) == {"a": [1, 2]}
    assert encode(Proxy({"a": 1})) == {"a": 1}
    assert encode(object(), other=lambda value: "unknown") == "unknown"
    assert encode(Proxy(object()), other=lambda value: "unknown") == "unknown"
