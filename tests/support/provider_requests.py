"""Provider requests: generated requests that each provider, or a gateway to it, answers: with every part and key in use.

A request is a conversation of turns: words of the user's, an answer, and calls with their results, alone and in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any

__all__ = ["PROVIDERS", "ProviderRequest", "made_request"]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAYAAACddGYaAAAAAElFTkSuQmCC"
_WORDS = ("Where is it?", " the vase ", "ünï 猫 🧵", "a\n\n- b\n", "</germane>", "{}", "x" * 300, "1", "\u2028", "Yes.")
_MARK = {"cache_control": {"type": "ephemeral"}}
_URL = "https://example.org/"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRequest:
    """The arguments of one call of `assemble`."""

    provider: str
    model: str
    messages: list[dict[str, Any]]
    system: Any = None
    tools: tuple[Mapping[str, Any], ...] = ()


class _Made:
    """Chooses at random, and numbers ids."""

    def __init__(self, random: Random) -> None:
        self.random, self.number, self.marks = random, 0, 0

    def often(self, share: float) -> bool:
        return self.random.random() < share

    def of(self, *made: Callable[[], Any]) -> Any:
        return self.random.choice(made)()

    def words(self) -> str:
        return self.random.choice(_WORDS)

    def id(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number:04}"

    def some(self, fields: Mapping[str, Any], share: float = 0.2) -> dict[str, Any]:
        """Some of the fields."""
        return {key: value for key, value in fields.items() if self.often(share)}

    def mark(self) -> dict[str, Any]:
        """A cache mark, of which a request may have four."""
        if self.marks == 4 or self.often(0.85):
            return {}
        self.marks += 1
        return _MARK

    def counted(self, least: int, most: int) -> range:
        return range(self.random.randint(least, most))

    def turns(self, asked: Callable[[], Any], called: Callable[[], Any], answered: Callable[[], Any]) -> list[Any]:
        """A conversation that begins with the user and ends with the user or with results."""
        out: list[Any] = []
        for _ in self.counted(1, 4):
            out += asked()
            for _ in self.counted(0, 2):
                out += called()
            if self.often(0.8):
                out += answered()
        return [*out, *asked()] if self.often(0.8) else [*out, *asked(), *called()]


def made_request(provider: str, random: Random) -> ProviderRequest:
    """Returns a request in the shape of the provider."""
    return _REQUESTS[provider](_Made(random))


def _chat(made: _Made) -> ProviderRequest:
    keys = {
        "reasoning_content": "hm",
        "reasoning": "hm",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "ab"}],
        "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
        "refusal": None,
        "annotations": [],
        "audio": None,
        "function_call": None,
        "prefix": True,
        "provider_specific_fields": {"a": [1]},
    }

    def text() -> dict[str, Any]:
        return {"type": "text", "text": made.words(), **made.mark()}

    def attachment() -> Any:
        kind = made.random.choice(("video_url", "audio_url", "document_url", "smell"))
        return made.of(
            lambda: {"type": "image_url", "image_url": {"url": f"{_URL}a.png", **made.some({"detail": "high"})}, **made.mark()},
            lambda: {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
            lambda: {"type": "image_url", "image_url": f"{_URL}a.png"},
            lambda: {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            lambda: {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0x"}},
            lambda: {"type": "file", "file": {"file_id": "file-1"}},
            lambda: {"type": kind, kind: made.of(lambda: f"{_URL}a", lambda: {"url": f"{_URL}a"})},
            lambda: {"type": "document", "document": {"data": {"text": "d"}}},
        )

    def asked() -> Iterator[dict[str, Any]]:
        if made.often(0.1):
            yield {"role": "system", "content": made.of(made.words, lambda: [text()])}
        content = made.of(made.words, lambda: [text()], lambda: [text(), attachment()], lambda: [attachment(), text(), text()])
        yield {"role": "user", "content": content, **made.some({"name": "ann"})}

    def answered() -> Iterator[dict[str, Any]]:
        thinking = made.of(
            lambda: {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
            lambda: {"type": "thinking", "thinking": "hm"},
            lambda: {"type": "reference", "reference_ids": [1]},
        )
        content = made.of(
            made.words, lambda: [text()], lambda: [thinking, text()], lambda: [{"type": "refusal", "refusal": "No."}]
        )
        yield {"role": "assistant", "content": content, **made.some(keys, 0.1)}
        if made.often(0.1):
            yield {"role": "assistant", "content": None, "reasoning_content": "hm"}

    def called() -> Iterator[dict[str, Any]]:
        if made.often(0.1):
            yield {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
            yield {"role": "function", "name": "f", "content": made.words()}
            return
        ids = [made.id("call_") for _ in made.counted(1, 3)]
        calls = [
            {
                "id": id,
                "type": "function",
                "function": {"name": "look", "arguments": made.random.choice(('{"a": 1}', '{"a":1}', "", "{broken"))},
                **made.some({"index": 0, "extra_content": {"google": {"thought_signature": "s"}}}, 0.1),
            }
            for id in ids
        ]
        if made.often(0.1):
            calls[0] = {"id": ids[0], "type": "custom", "custom": {"name": "g", "input": "x"}}
        held = made.some({"content": made.of(lambda: None, lambda: "", made.words, lambda: [text()])}, 0.9)
        yield {"role": "assistant", **held, "tool_calls": calls, **made.some(keys, 0.1)}
        for id in ids:
            content = made.of(made.words, lambda: [text()], lambda: [text(), text()], lambda: "", lambda: [attachment()])
            yield {"role": "tool", "tool_call_id": id, "content": content, **made.some({"name": "look"})}

    first = made.of(
        list,
        lambda: [{"role": "system", "content": made.words()}],
        lambda: [{"role": "system", "content": [text()]}],
        lambda: [{"role": "developer", "content": made.words()}],
    )
    model = made.random.choice(("gpt-4o", "anthropic/claude-sonnet-4.5", "mistral-large-latest", "gemini-2.5-flash"))
    messages = [*first, *made.turns(asked, called, answered)]
    tools = made.of(tuple, lambda: ({"type": "function", "function": {"name": "look", "parameters": {}}},))
    return ProviderRequest(provider="openai", model=model, messages=messages, tools=tools)


def _responses(made: _Made) -> ProviderRequest:
    def asked() -> Iterator[dict[str, Any]]:
        text = {"type": "input_text", "text": made.words()}
        attachment = made.of(
            lambda: {"type": "input_image", "image_url": f"{_URL}a.png", "detail": "auto"},
            lambda: {"type": "input_image", "file_id": "file-1"},
            lambda: {"type": "input_file", "file_url": f"{_URL}a.pdf"},
            lambda: {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0x"},
            lambda: {"type": "input_smell", "smell": "AAAA"},
        )
        if made.often(0.1):
            yield {"role": "developer", "content": made.of(made.words, lambda: [text])}
        content = made.of(made.words, lambda: [text], lambda: [text, attachment])
        yield {"role": "user", "content": content, **made.some({"type": "message"})}

    def reasoned() -> Iterator[dict[str, Any]]:
        if made.often(0.3):
            more = {"encrypted_content": "ab", "content": [{"type": "reasoning_text", "text": "hm"}], "status": None}
            summary = [{"type": "summary_text", "text": "hm"}]
            yield {"type": "reasoning", "id": made.id("rs_"), "summary": made.of(list, lambda: summary), **made.some(more, 0.5)}

    def answered() -> Iterator[dict[str, Any]]:
        yield from reasoned()
        cited = made.some({"annotations": [{"type": "url_citation", "url": _URL}], "logprobs": []}, 0.5)
        text = made.of(
            lambda: {"type": "output_text", "text": made.words(), **cited},
            lambda: {"type": "refusal", "refusal": "No."},
        )
        held = made.some({"id": made.id("msg_"), "status": "completed", "type": "message", "phase": "final_answer"}, 0.6)
        yield {"role": "assistant", "content": made.of(made.words, lambda: [text]), **held}

    def called() -> Iterator[dict[str, Any]]:
        yield from reasoned()
        if made.often(0.4):
            yield from own()
            return
        ids = [made.id("call_") for _ in made.counted(1, 3)]
        for id in ids:
            more = made.some({"id": made.id("fc_"), "status": "completed", "namespace": "n"}, 0.5)
            yield {"type": "function_call", "call_id": id, "name": "look", "arguments": '{"a":1}', **more}
        for id in ids:
            parts = [{"type": "input_text", "text": made.words()}, {"type": "input_image", "image_url": f"{_URL}a.png"}]
            more = made.some({"id": made.id("fco_"), "status": "completed"})
            yield {"type": "function_call_output", "call_id": id, "output": parts if made.often(0.5) else made.words(), **more}

    def own() -> Iterator[dict[str, Any]]:
        id, item = made.id("call_"), made.id("ws_")
        yield from made.of(
            lambda: [
                {"type": "web_search_call", "id": item, "status": "completed", "action": {"type": "search", "query": "q"}}
            ],
            lambda: [{"type": "file_search_call", "id": item, "status": "completed", "queries": ["q"], "results": None}],
            lambda: [{"type": "code_interpreter_call", "id": item, "code": "1", "container_id": "c", "outputs": []}],
            lambda: [{"type": "image_generation_call", "id": item, "status": "completed", "result": PNG}],
            lambda: [{"type": "mcp_list_tools", "id": item, "server_label": "s", "tools": []}],
            lambda: [{"type": "mcp_call", "id": item, "server_label": "s", "name": "f", "arguments": "{}", "output": "x"}],
            lambda: [{"type": "hologram", "id": item, "audio": {"data": "AAAA"}}],
            lambda: [{"type": "compaction", "id": item, "encrypted_content": "ab"}],
            lambda: [
                {"type": "custom_tool_call", "call_id": id, "name": "g", "input": "x", "id": made.id("ctc_")},
                {"type": "custom_tool_call_output", "call_id": id, "output": "y"},
            ],
            lambda: [
                {"type": "computer_call", "call_id": id, "id": item, "action": {"type": "screenshot"}, "status": "completed"},
                {
                    "type": "computer_call_output",
                    "call_id": id,
                    "output": {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}"},
                },
            ],
            lambda: [
                {"type": "mcp_approval_request", "id": item, "server_label": "s", "name": "f", "arguments": "{}"},
                {"type": "mcp_approval_response", "approval_request_id": item, "approve": True},
                {"type": "mcp_call", "id": made.id("mcp_"), "server_label": "s", "name": "f", "arguments": "{}"},
            ],
        )

    messages = made.turns(asked, called, answered)
    return ProviderRequest(provider="openai-responses", model="gpt-5", messages=messages)


def _anthropic(made: _Made) -> ProviderRequest:
    def text() -> dict[str, Any]:
        return {"type": "text", "text": made.words().replace("\u2028", "-"), **made.mark()}

    def attachment() -> Any:
        file = made.of(
            lambda: {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"},
            lambda: {"type": "url", "url": f"{_URL}a.pdf"},
            lambda: {"type": "text", "media_type": "text/plain", "data": "d"},
            lambda: {"type": "content", "content": [{"type": "text", "text": "d"}]},
            lambda: {"type": "file", "file_id": "file_1"},
        )
        found = {"type": "search_result", "source": _URL, "title": "t", "content": [{"type": "text", "text": "d"}]}
        return made.of(
            lambda: {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}, **made.mark()},
            lambda: {"type": "image", "source": {"type": "url", "url": f"{_URL}a.png"}},
            lambda: {
                "type": "document",
                "source": file,
                **made.some({"title": "t", "citations": {"enabled": True}, "context": "c"}),
            },
            lambda: found,
        )

    def asked() -> Iterator[dict[str, Any]]:
        content = made.of(
            text, lambda: [text()], lambda: [attachment(), text()], lambda: [text(), {"type": "smell", "smell": "AA"}]
        )
        yield {"role": "user", "content": [content] if isinstance(content, dict) else content}
        if made.often(0.1):
            yield {"role": "user", "content": made.words().replace("\u2028", "-")}

    def thinking() -> Any:
        return made.of(
            list,
            list,
            lambda: [{"type": "thinking", "thinking": "hm", "signature": "s"}],
            lambda: [{"type": "thinking", "thinking": "", "signature": "s"}, {"type": "redacted_thinking", "data": "d"}],
        )

    def served() -> Any:
        id = made.id("srvtoolu_")
        found = [{"type": "web_search_result", "url": _URL, "title": "t", "encrypted_content": "ab", "page_age": None}]
        code = {"type": "code_execution_result", "stdout": "1", "stderr": "", "return_code": 0, "content": []}
        return made.of(
            list,
            list,
            lambda: [
                {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "q"}},
                {"type": "web_search_tool_result", "tool_use_id": id, "content": found},
            ],
            lambda: [
                {"type": "server_tool_use", "id": id, "name": "code_execution", "input": {"code": "1"}},
                {"type": "code_execution_tool_result", "tool_use_id": id, "content": code},
            ],
            lambda: [
                {"type": "mcp_tool_use", "id": id, "name": "f", "server_name": "s", "input": {}},
                {"type": "mcp_tool_result", "tool_use_id": id, "is_error": False, "content": [{"type": "text", "text": "x"}]},
            ],
        )

    def answered() -> Iterator[dict[str, Any]]:
        cited = {"type": "text", "text": "c", "citations": [{"type": "char_location", "cited_text": "d", "document_index": 0}]}
        blocks = [*thinking(), *served(), text(), *made.of(list, lambda: [cited])]
        yield {"role": "assistant", "content": made.of(lambda: blocks, lambda: made.words().replace("\u2028", "-"))}
        if made.often(0.1):
            yield {"role": "assistant", "content": [text()]}

    def called() -> Iterator[dict[str, Any]]:
        ids = [made.id("toolu_") for _ in made.counted(1, 3)]
        uses = [{"type": "tool_use", "id": id, "name": "look", "input": {"a": [1.0, "ü"]}, **made.mark()} for id in ids]
        uses = [use | made.some({"caller": {"type": "direct"}}) for use in uses]
        yield {"role": "assistant", "content": [*thinking(), *made.of(list, lambda: [text()]), *uses]}
        results = []
        for id in ids:
            held = made.of(dict, lambda: {"content": made.words()}, lambda: {"content": [text(), attachment()]})
            results.append({"type": "tool_result", "tool_use_id": id, **held, **made.some({"is_error": True}), **made.mark()})
        yield {"role": "user", "content": [*results, *made.of(list, lambda: [text()])]}

    system = made.of(lambda: None, made.words, lambda: [{"type": "text", "text": "rules", **made.mark()}])
    own = {"type": "web_search_20250305", "name": "web_search"}
    tools = made.of(tuple, lambda: ({"name": "look", "input_schema": {"type": "object"}}, own))
    messages = made.turns(asked, called, answered)
    if made.often(0.1):
        messages.append({"role": "assistant", "content": "The answer is"})
    system = system.replace("\u2028", "-") if isinstance(system, str) else system
    return ProviderRequest(provider="anthropic", model="claude-sonnet-4-5", messages=messages, system=system, tools=tools)


def _gemini(made: _Made) -> ProviderRequest:
    def signed() -> dict[str, Any]:
        return made.some({made.random.choice(("thoughtSignature", "thought_signature")): "c2ln"})

    def attachment() -> Any:
        return made.of(
            lambda: {"inlineData": {"mimeType": "image/png", "data": PNG}},
            lambda: {"inline_data": {"mime_type": "audio/mpeg", "data": "AAAA"}},
            lambda: {"fileData": {"mimeType": "video/mp4", "fileUri": f"{_URL}a"}, "videoMetadata": {"fps": 1}},
            lambda: {"fileData": {"mimeType": "application/pdf", "fileUri": f"{_URL}a.pdf", "displayName": "a"}},
            lambda: {"inlineData": {"mimeType": "image/png", "data": PNG}, "mediaResolution": {"level": "low"}},
            lambda: {"smellData": {"data": "AAAA"}},
        )

    def asked() -> Iterator[dict[str, Any]]:
        text = {"text": made.words()}
        yield {
            "role": "user",
            "parts": made.of(lambda: [text], lambda: [attachment(), text], lambda: [text, attachment(), text]),
        }

    def answered() -> Iterator[dict[str, Any]]:
        more = made.of(
            list,
            lambda: [{"text": "hm", "thought": True}],
            lambda: [
                {"executableCode": {"language": "PYTHON", "code": "1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            ],
            lambda: [attachment()],
            lambda: [
                {"toolCall": {"toolType": "GOOGLE_SEARCH", "id": "1"}},
                {"toolResponse": {"toolType": "GOOGLE_SEARCH", "id": "1"}},
            ],
        )
        yield {
            "role": "model",
            "parts": [
                *more,
                {"text": made.words(), **signed()},
                *made.of(list, lambda: [{"text": "", "thoughtSignature": "c2ln"}]),
            ],
        }

    def called() -> Iterator[dict[str, Any]]:
        numbers, with_ids = [made.id("") for _ in made.counted(1, 3)], made.often(0.4)
        ids = [{"id": f"call{number}"} if with_ids else {} for number in numbers]
        calls = [{"functionCall": {"name": "look", "args": {"a": 1}, **id}} for id in ids]
        calls[0] |= signed()
        before = made.of(
            list, lambda: [{"text": "I look."}], lambda: [{"text": "hm", "thought": True, "thoughtSignature": "c2ln"}]
        )
        yield {"role": "model", "parts": [*before, *calls]}
        inside = made.some({"parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}]})
        response = made.of(lambda: {"output": "x"}, lambda: {"error": "x"}, lambda: {"r": [1], "s": None}, dict)
        answers = [{"functionResponse": {"name": "look", "response": response, **id, **inside}} for id in ids]
        if made.often(0.1):
            yield {"role": "function", "parts": answers}
        else:
            yield {"role": "user", "parts": [*answers, *made.of(list, lambda: [attachment()])]}

    messages = made.turns(asked, called, answered)
    if made.often(0.2):
        messages = [{"parts": messages[0]["parts"]}]
    system = made.of(lambda: None, lambda: {"parts": [{"text": "rules"}]}, lambda: {"parts": [{"text": "a"}, {"text": "b"}]})
    model = made.random.choice(("gemini-2.5-flash", "gemini-3-flash"))
    return ProviderRequest(provider="gemini", model=model, messages=messages, system=system)


_REQUESTS: Mapping[str, Callable[[_Made], ProviderRequest]] = MappingProxyType(
    {"openai": _chat, "openai-responses": _responses, "anthropic": _anthropic, "gemini": _gemini}
)
PROVIDERS = tuple(_REQUESTS)
