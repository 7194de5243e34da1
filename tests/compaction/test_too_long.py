"""Too long: the numbers in the providers' own texts."""

from __future__ import annotations

from typing import Any

import pytest

from germane.compaction.context_overflow import read_overflow

pytestmark = pytest.mark.requirement("HIST-5")


OPENAI = (
    "Error code: 400 - {'error': {'message': \"This model's maximum context length is 128000 tokens. However, your messages "
    "resulted in 130000 tokens. Please reduce the length of the messages.\", 'code': 'context_length_exceeded'}}"
)
OPENAI_PROMPT = (
    "This model's maximum context length is 4097 tokens, however you requested 5000 tokens (4000 in your prompt; 1000 for the "
    "completion). Please reduce your prompt."
)
OPENAI_ANSWER = (
    "This model's maximum context length is 8192 tokens. However, you requested 9192 tokens (8192 in the messages, 1000 in the "
    "completion)."
)
ANTHROPIC_ANSWER = (
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and "
    "try again"
)


class _ApiError(Exception):
    def __init__(self, message: str, body: Any = None) -> None:
        super().__init__(message)
        self.body = body


@pytest.mark.parametrize(
    ("error", "used", "most"),
    [
        (OPENAI, 130_000, 128_000),
        (OPENAI_PROMPT, 4_000, 3_097),
        (OPENAI_ANSWER, 8_192, 7_192),
        ("prompt is too long: 213423 tokens > 200000 maximum", 213_423, 200_000),
        (ANTHROPIC_ANSWER, 190_000, 180_000),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            1_200_000,
            1_048_576,
        ),
        ("The input token count is 1,200,000 but model only supports up to 1,048,576.", 1_200_000, 1_048_576),
        ("request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it", 9_000, 8_192),
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            40_000,
            32_768,
        ),
        ("maximum context length is 8192 tokens", None, 8_192),
        ("Your input exceeds the context window of this model. Please adjust your input and try again.", None, None),
        ("Input is too long for requested model.", None, None),
        (
            {
                "type": "error",
                "error": {"type": "invalid_request_error", "message": "prompt is too long: 300 tokens > 200 max"},
            },
            300,
            200,
        ),
        (
            _ApiError("Bad request", {"error": {"message": "prompt is too long: 213423 tokens > 200000 maximum"}}),
            213_423,
            200_000,
        ),
        (b"prompt is too long: 213423 tokens > 200000 maximum", 213_423, 200_000),
        (None, None, None),
        (ValueError(), None, None),
        ([["deep"] * 3, 7], None, None),
    ],
)
def test_the_numbers_are_read(error: object, used: int | None, most: int | None) -> None:
    """Texts of exceptions, exceptions, and bodies of answers."""
    assert read_overflow(error) == (used, most)
