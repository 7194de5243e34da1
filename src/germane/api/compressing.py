"""Compressing: makes one text fit into a number of tokens, by a language model that may be asked, else by its own sentences.

Nothing here runs inside an assembly: a language model takes seconds, and an assembly has milliseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from germane.ports.asking import DATA_RULE, ModelAnswer, ask, between, new_word
from germane.ports.llm import LLM
from germane.ports.tokenizer import Tokenizer
from germane.text.summary import summarise
from germane.types.compressed_text import CompressedText, TokenCount

__all__ = ["compressed", "token_count"]

T = TypeVar("T")

_INLINE = 16_384
"""Characters of a text that is counted and shortened on the event loop; a longer one in a thread."""
_MAX_COUNTED = 1_000_000
"""Characters of a text that is counted: of a longer one the upper bound from its size is given, as counting takes seconds."""
_REACH = 200_000
"""Characters of a text that are read for its summary: of a longer one its beginning, samples, and its end."""
_MAX_ASKED = 200_000
"""Characters of a text that is sent to a language model."""
_PATIENCE = 60.0
"""Seconds that a language model has."""
_SYSTEM = """\
You shorten one text to at most {tokens} tokens. The text stands between two lines that hold only the word {word}.
{data}
Keep names, numbers, dates, paths, identifiers, error messages, decisions and what is still to be done, word for word where you
can. Leave out greetings, repetitions and what follows from the rest. Write in the language of the text. Add nothing that isn't
in it. {query}Answer with the shortened text alone."""
_QUERY = "What matters most is what helps with the request that stands after the text. "


async def token_count(text: str, tokenizer: Tokenizer) -> TokenCount:
    """Returns the tokens of a text: counted, or of a very long one an upper bound."""
    if len(text) > _MAX_COUNTED:
        return TokenCount(tokens=tokenizer.ceiling(text), exact=False, tokenizer=tokenizer.name)
    tokens = await _aside(text, lambda: tokenizer.count(text))
    return TokenCount(tokens=tokens, exact=tokenizer.exact, tokenizer=tokenizer.name)


async def compressed(
    text: str, max_tokens: int, tokenizer: Tokenizer, *, terms: Sequence[str] = (), query: str = "", llm: LLM | None = None
) -> CompressedText:
    """Returns the text within `max_tokens`: as it is where it fits, else as `llm` shortens it, else its own sentences, those
    with `terms` first. An answer of the language model's that is empty, too long or not shorter isn't used. Raises nothing that
    a language model raises."""
    before = (await token_count(text, tokenizer)).tokens
    if before <= max_tokens:
        return CompressedText(text=text, tokens=before, original_tokens=before, method="whole", share=1.0)
    note = ""
    if llm is not None:
        answer = await _asked(llm, text, max_tokens, query)
        tokens = tokenizer.count(answer.text) if len(answer.text) <= _MAX_ASKED else before
        if 0 < tokens <= max_tokens and not answer.fault:
            share = min(1.0, len(answer.text) / len(text))
            return CompressedText(text=answer.text, tokens=tokens, original_tokens=before, method="llm", share=share)
        note = answer.fault or "the language model's answer was too long"
    own = await _aside(text, lambda: summarise(text, max_tokens, tokenizer.count, terms=terms, reach=_REACH, least=1))
    shown = "" if own is None else own.text
    return CompressedText(
        text=shown,
        tokens=tokenizer.count(shown) if shown else 0,
        original_tokens=before,
        method="extractive",
        share=len(shown) / len(text),
        note=note,
    )


async def _asked(llm: LLM, text: str, max_tokens: int, query: str) -> ModelAnswer:
    if len(text) > _MAX_ASKED:
        return ModelAnswer(fault=f"the text has more than the {_MAX_ASKED:,} characters that a language model is sent")
    word = new_word()
    system = _SYSTEM.format(tokens=max_tokens, word=word, data=DATA_RULE, query=_QUERY if query else "")
    prompt = between(word, text) + (f"\n\nThe request:\n{query}" if query else "")
    return await ask(llm, system, prompt, word=word, max_tokens=max_tokens, patience=_PATIENCE)


async def _aside(text: str, work: Callable[[], T]) -> T:
    return work() if len(text) <= _INLINE else await asyncio.to_thread(work)
