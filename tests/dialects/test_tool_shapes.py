"""Tools in the shapes of the providers, checked by the providers' own SDK types."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types import ToolUnionParam
from google.genai import types as gemini_types
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionToolUnionParam
from openai.types.responses import ToolParam as ResponsesToolParam
from pydantic import TypeAdapter

from germane.dialects.tools import convert_tools, from_openapi, is_closed, parse_tools, rooted, write_tools
from germane.errors import InvalidInput, UnknownName
from germane.types.limits import VALUES
from germane.types.message import Tool
from support.examples import examples

PROVIDERS = ("openai", "openai-responses", "anthropic", "gemini")
SDK: dict[str, TypeAdapter[Any]] = {
    "openai": TypeAdapter(list[ChatCompletionToolUnionParam]),
    "openai-responses": TypeAdapter(list[ResponsesToolParam]),
    "anthropic": TypeAdapter(list[ToolUnionParam]),
    "gemini": TypeAdapter(list[gemini_types.Tool]),
}
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Where"}, "days": {"type": ["integer", "null"], "minimum": 1}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
CHAT = {"type": "function", "function": {"name": "weather", "description": "Tells it.", "parameters": SCHEMA, "strict": True}}
RESPONSES = {"type": "function", "name": "weather", "description": "Tells it.", "parameters": SCHEMA, "strict": True}
CLAUDE = {"name": "weather", "description": "Tells it.", "input_schema": SCHEMA, "strict": True}
GEMINI = {"functionDeclarations": [{"name": "weather", "description": "Tells it.", "parametersJsonSchema": SCHEMA}]}
SHAPES: dict[str, dict[str, Any]] = {"openai": CHAT, "openai-responses": RESPONSES, "anthropic": CLAUDE, "gemini": GEMINI}


@pytest.mark.requirement("BUILD-5")
@pytest.mark.parametrize("target", PROVIDERS)
@pytest.mark.parametrize("source", PROVIDERS)
def test_a_tool_of_any_shape_converts_to_every_shape(source: str, target: str) -> None:
    """The SDK's own types accept it. Only Gemini, which has no strict functions, says that something was lost."""
    written = convert_tools([SHAPES[source]], target)
    SDK[target].validate_python(written.tools)
    expected = json.loads(json.dumps(SHAPES[target]))
    if source == "gemini" != target:
        (expected.get("function", expected)).pop("strict", None)
        expected |= {"strict": False} if target == "openai-responses" else {}
    assert written.tools == [expected]
    assert [loss.field for loss in written.losses] == (["strict"] if target == "gemini" != source else [])


@pytest.mark.requirement("BUILD-5")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_tool_goes_back_to_its_own_provider_as_it_came(provider: str) -> None:
    """The same object, with fields that nobody else knows."""
    raw = json.loads(json.dumps(SHAPES[provider])) | ({} if provider == "gemini" else {"later": 1})
    written = convert_tools([raw], provider)
    assert written.losses == ()
    if provider != "gemini":
        assert written.tools[0] is raw
    assert written.tools == [raw]


@pytest.mark.requirement("BUILD-5")
def test_what_a_provider_has_no_field_for_is_named() -> None:
    """A cache mark, examples, a name, and a tool of a provider's own."""
    raws = [
        {**CLAUDE, "name": "a.b", "cache_control": {"type": "ephemeral"}, "input_examples": [{"city": "Vienna"}]},
        {"type": "web_search_20250305", "name": "web_search"},
        {"googleSearch": {}},
        {"type": "web_search"},
    ]
    written = convert_tools(raws, "openai")
    assert [(loss.tool, loss.field) for loss in written.losses] == [
        *(("a.b", "name"), ("a.b", "input_examples"), ("a.b", "cache_control")),
        *(("web_search", "tool"), ("googleSearch", "tool"), ("web_search", "tool")),
    ]
    assert written.names == {"a.b": "a_b"}
    assert convert_tools(raws[1:2], "anthropic").tools == raws[1:2]
    assert convert_tools(raws[2:3], "gemini").tools == raws[2:3]
    assert convert_tools(raws[3:], "openai-responses").tools == raws[3:]
    assert "name" not in {loss.field for loss in convert_tools(raws[:1], "gemini").losses}  # Gemini takes dots


@pytest.mark.requirement("BUILD-5")
def test_a_cache_mark_of_a_tool_reaches_anthropic() -> None:
    """Also on a tool that was read from another shape."""
    tool = Tool(name="weather", schema=SCHEMA, cache={"type": "ephemeral"})
    (written,) = write_tools([tool], "anthropic").tools
    SDK["anthropic"].validate_python([written])
    assert written["cache_control"] == {"type": "ephemeral"}


@pytest.mark.requirement("BUILD-5")
def test_names_stay_different() -> None:
    """Two names that look the same to the provider are numbered, and both are told."""
    tools = [Tool(name="a.b"), Tool(name="a/b"), Tool(name="a_b"), Tool(name="x" * 200), Tool(name="x" * 199)]
    written = write_tools(tools, "openai")
    names = [tool["function"]["name"] for tool in written.tools]
    assert len(set(names)) == len(tools)
    assert names[:3] == ["a_b", "a_b_2", "a_b_3"]
    assert max(map(len, names)) == 64
    assert len(written.losses) == 5


@pytest.mark.requirement("BUILD-5")
@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
def test_the_root_of_a_schema_is_an_object(provider: str) -> None:
    """A reference is followed; what the API refuses at the root goes and is named."""
    recursive = {
        "$ref": "#/$defs/Node",
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
    }
    schemas: list[dict[str, Any]] = [{}, recursive, {"anyOf": [SCHEMA]}, {"type": ["object", "null"]}, {"type": "string"}]
    written = write_tools([Tool(name=f"t{n}", schema=schema) for n, schema in enumerate(schemas)], provider)
    SDK[provider].validate_python(written.tools)
    roots = [tool.get("function", tool) for tool in written.tools]
    roots = [tool.get("parameters") or tool.get("input_schema") for tool in roots]
    assert all(root["type"] == "object" and isinstance(root["properties"], dict) for root in roots)
    assert roots[1]["properties"] == {"next": {"$ref": "#/$defs/Node"}}
    assert [(loss.tool, loss.field) for loss in written.losses] == [("t2", "anyOf"), ("t3", "type"), ("t4", "type")]


def test_strict_is_what_the_shape_means_by_default() -> None:
    """The responses API keeps to a schema that it can keep to; the others don't unless told."""
    (chat,) = parse_tools([{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}])
    (closed,) = parse_tools([{"type": "function", "name": "f", "parameters": SCHEMA}])
    (open_,) = parse_tools([{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {"a": {}}}}])
    assert (chat.strict, closed.strict, open_.strict) == (False, True, False)
    (written,) = write_tools([chat], "openai-responses").tools
    assert written["strict"] is False
    loose = Tool(name="f", schema={"type": "object", "properties": {"a": {}}}, strict=True)
    assert [loss.field for loss in write_tools([loose], "openai").losses] == ["strict"]


def test_geminis_own_form_of_a_schema_becomes_json_schema() -> None:
    """Upper-case types, nullable values, the SDK's spelling, numbers as strings. Names of properties stay as they are."""
    schema = gemini_types.Schema.model_validate(
        {
            "type": "OBJECT",
            "properties": {
                "any_of": {"type": "STRING", "nullable": True, "format": "enum", "enum": ["a"]},
                "list": {"type": "ARRAY", "items": {"type": "INTEGER"}, "minItems": "2"},
                "either": {"anyOf": [{"type": "NUMBER"}, {"type": "BOOLEAN"}], "nullable": True, "example": 1},
            },
            "required": ["any_of"],
            "propertyOrdering": ["any_of"],
        }
    )
    declared = gemini_types.FunctionDeclaration(name="f", parameters=schema)
    (tool,) = parse_tools([gemini_types.Tool(function_declarations=[declared])])
    assert json.loads(json.dumps(tool.schema)) == {
        "type": "object",
        "properties": {
            "any_of": {"type": ["string", "null"], "enum": ["a", None]},
            "list": {"type": "array", "items": {"type": "integer"}, "minItems": 2},
            "either": {"anyOf": [{"type": "number"}, {"type": "boolean"}, {"type": "null"}], "examples": [1]},
        },
        "required": ["any_of"],
        "propertyOrdering": ["any_of"],
    }
    assert from_openapi({"type": "INTEGER", "minItems": "9" * 50}) == {"type": "integer", "minItems": "9" * 50}


def test_mcp_tools_and_bare_functions_are_read() -> None:
    """As a client of MCP lists them."""
    mcp = {"name": "read_file", "description": "Reads.", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}
    first, second = parse_tools([mcp, {"name": "f", "parameters": SCHEMA}])
    assert (first.schema, dict(first.extras)) == (SCHEMA, {"annotations": {"readOnlyHint": True}})
    assert second.schema == SCHEMA
    assert convert_tools([mcp], "anthropic").tools == [{"name": "read_file", "description": "Reads.", "input_schema": SCHEMA}]


@pytest.mark.parametrize(
    ("raws", "says"),
    [
        ("tools", "must be a list"),
        ({"name": "f"}, "must be a list"),
        ([5], r"tools\[0\] must be"),
        ([CHAT, {}], r"tools\[1\] is empty"),
        ([{"type": "function", "function": {}}], "name is NoneType"),
        ([{"name": ""}], "name is str"),
        ([{"name": "f", "parameters": 5}], "parameters is int"),
        ([{"name": "f", "input_schema": {}, "description": 5}], "description is int"),
        ([{"functionDeclarations": {}}], "give a list of functions"),
        ([{"functionDeclarations": [5]}], r"functionDeclarations\[0\]"),
    ],
)
def test_what_can_not_be_read_is_named(raws: Any, says: str) -> None:
    """By its place in the list."""
    with pytest.raises(InvalidInput, match=says):
        parse_tools(raws)


def test_an_object_that_can_not_be_dumped_is_refused() -> None:
    """As an argument that can't be used, whatever it raises itself."""

    class Odd:
        def model_dump(self, **_: object) -> dict[str, object]:
            raise ZeroDivisionError

    with pytest.raises(InvalidInput, match=r"tools\[0\] is a Odd that can't be read \(ZeroDivisionError\)"):
        parse_tools([Odd()])


def test_hostile_schemas_are_refused_by_their_size() -> None:
    """One that contains itself, one that is nested without end, one that is too large."""
    endless: dict[str, Any] = {"type": "OBJECT"}
    endless["properties"] = {"a": endless}
    wide = {"type": "object", "properties": {str(n): {} for n in range(VALUES.maximum + 1)}}
    for schema in (endless, wide):
        with pytest.raises(InvalidInput, match=r"nested deeper|are allowed"):
            parse_tools([{"name": "f", "parameters": schema}])
    with pytest.raises(UnknownName, match=r"provider .* is unknown"):
        convert_tools([CHAT], "cohere")


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=5), st.sampled_from(["OBJECT", "object", "#/$defs/a"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(
                st.text(max_size=5),
                st.sampled_from(
                    [
                        "type",
                        "properties",
                        "items",
                        "anyOf",
                        "any_of",
                        "$ref",
                        "$defs",
                        "enum",
                        "nullable",
                        "required",
                        "minItems",
                    ]
                ),
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@pytest.mark.requirement("BUILD-5")
@examples(200)
@given(name=st.text(min_size=1, max_size=150), schema=st.dictionaries(st.text(max_size=4), JSON, max_size=3) | JSON)
def test_no_tool_gives_anything_but_a_tool_or_a_refusal(name: str, schema: Any) -> None:
    """Whatever its name and schema are, each provider's SDK takes the form of the result."""
    try:
        tools = parse_tools([{"name": name, "parameters": schema}])
    except InvalidInput:
        return
    for provider in PROVIDERS:
        written = write_tools(tools, provider)
        if provider != "gemini":  # the SDK reads a few keywords of a schema itself
            SDK[provider].validate_python(written.tools)
        assert len(written.tools) == 1
    root, _ = rooted(tools[0].schema)
    assert root["type"] == "object"
    is_closed(root)
