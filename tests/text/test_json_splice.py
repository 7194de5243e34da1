"""JSON splice: the value is the new one, and the bytes of all that stays are the sender's."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.text.json_splice import Unspliceable, splice
from support.examples import examples
from support.spellings import Speller
from support.steps import growth

pytestmark = pytest.mark.requirement("PROXY-1")

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=4), inner, max_size=5)
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=6)
SEEDS = st.integers(0, 2**32)


def edited(value: Any, chance: random.Random, stays: Callable[[Any], None], fresh: Iterator[int]) -> Any:
    """A copy with changes at random places: leaves, members and elements. `stays` gets each part that isn't touched."""
    if chance.random() < 0.4:
        stays(value)
        return value
    if isinstance(value, dict):
        kept = {key: edited(one, chance, stays, fresh) for key, one in value.items() if chance.random() < 0.9}
        return kept | ({f"new {next(fresh)}": [next(fresh)]} if chance.random() < 0.3 else {})
    if isinstance(value, list):
        out: list[Any] = []
        for one in value:
            untouched = not out or out[-1] is value[value.index(one) - 1]
            out += [f"new {next(fresh)}"] if untouched and chance.random() < 0.3 else []
            out.append(edited(one, chance, stays, fresh))
        return out
    return f"changed {next(fresh)}"


def unlike(value: Any, numbers: Iterator[int]) -> Any:
    """The same, with texts and containers of which no two are equal."""
    if isinstance(value, dict):
        return {f"{key}{next(numbers)}": unlike(one, numbers) for key, one in value.items()} | {"n": next(numbers)}
    if isinstance(value, list):
        return [*(unlike(one, numbers) for one in value), next(numbers)]
    return f"{value}{next(numbers)}"


def copied(value: Any) -> Any:
    return json.loads(json.dumps(value))


def exact(value: Any) -> str:
    """Equal for values of the same types alone, whatever the order of keys."""
    return json.dumps(value, sort_keys=True)


@given(OBJECTS, OBJECTS, SEEDS)
@examples(300)
def test_the_value_is_the_new_one(old: dict[str, Any], new: dict[str, Any], seed: int) -> None:
    """Whatever both hold, with or without the parsed body at hand."""
    original = Speller(seed).write(old).encode()
    changed = {**old, **new}
    for before in (None, json.loads(original)):
        assert exact(json.loads(splice(original, changed, before=before))) == exact(changed)
        assert exact(json.loads(splice(original, new, before=before))) == exact(new)


@given(OBJECTS, SEEDS)
@examples(200)
def test_what_does_not_change_is_the_same_bytes(value: dict[str, Any], seed: int) -> None:
    """Also where keys come in another order."""
    original = f" {Speller(seed).write(value)}\n".encode()
    turned = dict(reversed(json.loads(original).items()))
    assert splice(original, json.loads(original)) == splice(original, turned) == original
    assert splice(original, turned, before=json.loads(original)) == original


@given(OBJECTS, SEEDS)
@examples(400)
def test_each_part_that_stays_has_its_own_bytes(value: dict[str, Any], seed: int) -> None:
    """Changes at several places, insertions before any element; parts are shared with the parsed body or copied."""
    value = unlike(value, count())
    speller, stays = Speller(seed), list[Any]()
    original = speller.write(value).encode()
    changed = edited(value, random.Random(seed), stays.append, count())
    if not isinstance(changed, dict):
        return
    for new, before in ((changed, value), (copied(changed), json.loads(original))):
        written = splice(original, new, before=before)
        assert json.loads(written) == changed
        assert written == splice(original, new)
        for part in stays:
            assert speller.written[id(part)] in written.decode()


@given(st.lists(st.text(), max_size=8), st.lists(st.text(), min_size=1, max_size=3), SEEDS)
@examples(200)
def test_around_an_insertion_all_bytes_are_the_same(texts: list[str], added: list[str], seed: int) -> None:
    """What is in front of it is what a provider's prompt cache has seen."""
    speller, place = Speller(seed), seed % (len(texts) + 1)
    said = [speller.write({"role": "user", "content": text}) for text in texts]
    head, tail = ",\n ".join(said[:place]), ",\n ".join(said[place:])
    body = f'{{"model": "m", "messages": [ {head}{", " if head and tail else ""}{tail} ] , "stream":true}}'.encode()
    parsed = json.loads(body)
    new = [{"role": "developer", "content": text} for text in added]
    messages = [*parsed["messages"][:place], *new, *parsed["messages"][place:]]
    written = splice(body, {**parsed, "messages": messages})
    assert json.loads(written)["messages"] == messages
    assert written.startswith(f'{{"model": "m", "messages": [{head and f" {head}"}'.encode())
    assert written.endswith(f'{tail} ] , "stream":true}}'.encode())


@pytest.mark.parametrize(
    ("old", "changed", "written"),
    [
        ('{"a":1}', {"a": 1.0}, '{"a":1.0}'),
        ('{"a":1}', {"a": True}, '{"a":true}'),
        ('{"a":0.0}', {"a": -0.0}, '{"a":-0.0}'),
        ('{"a":1.0e0,"b":-0}', {"a": 1.0, "b": 0}, '{"a":1.0e0,"b":-0}'),
        ('{"a":[1,1.0,true]}', {"a": [True, 1, 1.0]}, '{"a":[true,1,1.0]}'),
        ('{"a": NaN, "b":1e999}', {"a": float("nan"), "b": float("inf"), "c": 1}, '{"a": NaN, "b":1e999, "c":1}'),
        (f'{{"a":{"9" * 4000}.0}}', {"a": float("inf"), "b": ""}, f'{{"a":{"9" * 4000}.0,"b":""}}'),
        (f'{{"a":{"9" * 4000}}}', {"a": int("9" * 4000), "b": ""}, f'{{"a":{"9" * 4000},"b":""}}'),
        ('{"\\u006dessages":["\\u0041"]}', {"messages": ["A", "B"]}, '{"\\u006dessages":["\\u0041","B"]}'),
        ('{"ä":[1],"\\u00e4\\u0301":2}', {"ä": [2], "ä\u0301": 2}, '{"ä":[2],"\\u00e4\\u0301":2}'),
        ('{"a":"\\u00fc\\/"}', {"a": [{"text": "new"}, {"text": "ü/"}]}, '{"a":[{"text":"new"},{"text":"\\u00fc\\/"}]}'),
        ("{ }", {"a": {}}, '{ "a":{} }'),
        ('{\n  "a": 1\n}', {"a": 1, "b": [2, {"c": 3}]}, '{\n  "a": 1,\n  "b":[2,{"c":3}]\n}'),
        ('{"a": [\n  1,\n  2\n]}', {"a": [1, 5, 2, 6]}, '{"a": [\n  1,\n  5,\n  2,\n  6\n]}'),
        ('{"a": 1, "b": 2, "c": 3 }', {"b": 2}, '{ "b": 2 }'),
        ('{"a":1 , "b":2}', {}, "{}"),
        ('{"a":[1, 2]}', {"a": []}, '{"a":[]}'),
        ('{"a":[ ]}', {"a": [1]}, '{"a":[ 1 ]}'),
        ('{"a":"x"}', {"a": "\ud83d\u2028"}, '{"a":"\\ud83d\u2028"}'),
        ('{"a":[[1],[ 2],[3]]}', {"a": [[3], [2], [1], [2]]}, '{"a":[[3],[ 2],[1],[ 2]]}'),
        ('{"a":[{"x":[ 1]},{"y": 2}]}', {"a": [0, {"x": [1], "z": 1}, {"y": 3}]}, '{"a":[0,{"x":[ 1],"z":1},{"y": 3}]}'),
        ('{"a":["AB","\\u0041B"]}', {"a": ["x", "AB", "AB", "y"]}, '{"a":["x","AB","\\u0041B","y"]}'),
        ('{"a":[{"x":"\\u0041","y":0},1]}', {"a": [{"x": "A"}, {"x": "B"}, 1]}, '{"a":[{"x":"\\u0041"},{"x":"B"},1]}'),
        ('{"a":[{"x":"\\u0041","y":0},{"x":"B"}]}', {"a": [{"x": "A", "y": 1}]}, '{"a":[{"x":"\\u0041","y":1}]}'),
        ('{"a":[{"x": 1}],"b":3}', {"a": ({"x": 1}, 2), "b": 3}, '{"a":[{"x": 1},2],"b":3}'),
    ],
)
def test_the_bytes_by_example(old: str, changed: dict[str, Any], written: str) -> None:
    """Strict values, odd numbers and keys, white space around what is new, and elements that move."""
    assert splice(old.encode(), changed).decode() == written


@pytest.mark.parametrize(
    ("original", "reason"),
    [
        (b"", "isn't JSON"),
        (b"[1]", "isn't a JSON object"),
        (b"\xef\xbb\xbf{}", "BOM|isn't"),
        (b'{"a":"\xff"}', "UTF-8"),
        (b'{"a":"\xed\xa0\x80"}', "UTF-8"),
        ('{"a":1}'.encode("utf-16"), "UTF-8"),
        ('{"a":1}'.encode("utf-16-le"), "isn't"),
        (b'{"a":1} x', "isn't JSON"),
        (b'{"a":1,}', "isn't JSON"),
        (b'{"a":01}', "isn't JSON"),
        (b'{"a":[1,]}', "isn't JSON"),
        (b'{"a":"\n"}', "isn't JSON"),
        (b'{"a"', "isn't JSON"),
        (b'{"a":', "isn't JSON"),
        (b'{"a":1,"a":2}', "stands twice"),
        (b'{"a":1,"\\u0061":2}', "stands twice"),
        (b'{"n":' + b"9" * 5_000 + b"}", "isn't JSON"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"a":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}", "nested too deeply"),
    ],
)
def test_what_cant_be_changed_safely_is_refused(original: bytes, reason: str) -> None:
    """Whether or not the caller says what its value is."""
    with pytest.raises(Unspliceable, match=reason):
        splice(original, {"a": 3, "messages": []})
    with pytest.raises(Unspliceable):
        splice(original, {"a": 3, "messages": []}, before={"a": 1})


@pytest.mark.parametrize(
    "changed", [{"a": float("nan")}, {"a": {1, 2}}, {"a": object()}, {1: 2}, {"a": [b"x"]}, {"a": {"b": {(1, 2): 3}}}]
)
def test_what_isnt_json_isnt_written(changed: dict[Any, Any]) -> None:
    """Nothing of it is."""
    with pytest.raises(Unspliceable):
        splice(b'{"a":1}', changed)


def test_a_key_that_stands_twice_matters_only_where_something_changes() -> None:
    """In the object itself, which may be at any depth."""
    body = b'{"tools":[{"x":1,"x":2}],"messages":[{"role":"user","content":"a","content":"b"}, {"role":"user"}]}'
    parsed = json.loads(body)
    assert splice(body, parsed) == body
    more = {**parsed, "messages": [*parsed["messages"], {"role": "user", "content": "c"}]}
    assert splice(body, more) == body.replace(b'{"role":"user"}]', b'{"role":"user"}, {"role":"user","content":"c"}]')
    with pytest.raises(Unspliceable, match="twice"):
        splice(body, {**parsed, "messages": [{"role": "user", "content": "c"}, {"role": "user"}]})


def test_a_change_that_is_too_deep_is_refused() -> None:
    """Sixteen levels are far below what any change needs; beside it, data of any depth stays."""
    value: Any = 1
    for _ in range(500):
        value = {"a": value}
    body = json.dumps({"deep": value, "b": 1}).encode()
    assert json.loads(splice(body, {"deep": value, "b": 2})) == {"deep": value, "b": 2}
    other = copied(value)
    inner = other
    for _ in range(100):
        inner = inner["a"]
    inner["a"] = 2
    with pytest.raises(Unspliceable, match="nested too deeply"):
        splice(body, {"deep": other, "b": 1})


def test_a_body_that_isnt_what_the_caller_says_is_refused() -> None:
    """Where it shows: by its keys and its elements."""
    for before in ({"a": [1, 2], "b": 2}, {"b": [1, 2]}, {"a": [1, 2, 3]}, {"a": [1]}):
        with pytest.raises(Unspliceable):
            splice(b'{"a":[1,2]}', {"a": [1, 4]}, before=before)


@pytest.mark.parametrize("char", [" ", "[", "{", "\\", '"', "\n", "a", "é", "😀", "1", "<"])
def test_it_takes_linear_time(char: str) -> None:
    """In a text, in white space, between elements and as elements: in lines of Python."""

    def run(n: int) -> object:
        parsed = {
            "messages": [{"role": "user", "content": char * n}] * 2,
            "stop": [char] * n,
            "x": {char * at: 1 for at in range(9)},
        }
        body = json.dumps(parsed, ensure_ascii=False).replace(",", f",{' ' * (n % 60)}").encode()
        before = json.loads(body)
        messages = [one for message in before["messages"] for one in ({"role": "user", "content": "new"}, message)]
        stop = [*before["stop"][::-1], *before["stop"], "b"]
        changed = {**before, "messages": messages, "stop": stop}
        return splice(body, changed), splice(body, copied(changed)), splice(body, changed, before=before)

    assert growth(run, 100) < 8


def test_long_white_space_is_not_repeated() -> None:
    """In front of each part that is added."""
    body = b'{"a":[' + b" " * 1_000 + b"1]," + b" " * 1_000 + b'"b":1}'
    new = {"a": [*range(1_000)], "b": 1, **{str(at): at for at in range(1_000)}}
    assert json.loads(splice(body, new)) == new
    assert len(splice(body, new)) < 20_000


def test_many_equal_elements_take_linear_time() -> None:
    """Each is found again by its value, not by a search."""

    def run(n: int) -> object:
        body = json.dumps({"a": [*["x", {"y": 1}] * n, *range(n)]}).encode()
        value = json.loads(body)
        new = [*({"y": 1} for _ in range(n)), *range(n)[::-1], *({"z": at} for at in range(n)), *["x"] * n]
        return splice(body, {"a": new}), splice(body, {"a": new + value["a"]}, before=value)

    assert growth(run, 50) < 8


def test_ten_megabytes_with_white_space_and_escapes() -> None:
    """Insertions at many places of a long conversation."""
    said = [{"role": "user", "content": f"{at} " + 'ü\\"\n' * 2_500} for at in range(500)]
    body = json.dumps({"model": "m", "messages": said}, indent=1).encode()
    assert len(body) > 10_000_000
    value = json.loads(body)
    new = [one for message in value["messages"] for one in ({"role": "user", "content": "remembered"}, message)]
    written = splice(body, {**value, "messages": new}, before=value)
    assert json.loads(written)["messages"] == new
    assert re.sub(rb'\n  \{"role":"user","content":"remembered"\},', b"", written) == body
