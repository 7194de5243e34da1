"""Templates: marks with which models' own chat templates tell who speaks, made harmless where content imitates them.

Nothing is dropped: `<|im_start|>` becomes `(|im_start|)`, `[INST]` becomes `(INST)`, a role label at the start of a line loses
its colon (`System: …` becomes `System - …`). This breaks the form, not the meaning; it makes no claim to stop persuasion.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["neutralise"]

_ANGLED = (
    "s|bos|eos|pad|unk|mask|cls|sep|bos_token|eos_token|endoftext|(?:start|end)_of_(?:turn|image|audio)|"
    "(?:start|end)_(?:header|role)|sys|system|user|human|assistant|model|tool_(?:calls?|response|results?)|turn|channel"
)
_SQUARED = (
    "inst|sys|system_prompt|available_tools|tool_(?:calls|results|content)|prefix|middle|suffix|call_id|args|model_settings"
)
_TOKEN = re.compile(
    rf"<\|[^<>|\n]{{1,64}}\|>|<<[^\S\n]*/?[^\S\n]*sys[^\S\n]*>>|<[^\S\n]*/?[^\S\n]*(?:{_ANGLED})[^\S\n]*/?>"
    rf"|\[[^\S\n]*/?[^\S\n]*(?:{_SQUARED})[^\S\n]*\]",
    re.IGNORECASE,
)
_ROUND = str.maketrans("<>[]", "()()")
_ROLE = re.compile(
    r"((?:[^\w\n]|_)*+(?:system|developer|human|user|assistant|model|tool|function|ipython|instructions?|response)"
    r"(?:[^\S\n]+(?:prompt|message|instructions?))?(?:[^\w\n:：]|_)*+)[:：]",
    re.IGNORECASE,
)
_HEADING = re.compile(r"[^\S\n]*+#+[^\S\n]*+(?=(?:instructions?|response|input|system|user|assistant|human)\b)", re.IGNORECASE)


def neutralise(text: str) -> str:
    """`text` in which no token or role label of a chat template is left, nor one that appears under NFKC."""
    text = _broken(text)
    if text.isascii():
        return text
    plain = text.replace("…", "...")  # as NFKC has it: an excerpt's marks alone are no reason to look further
    if not plain.isascii():
        if unicodedata.is_normalized("NFKC", text):
            return text
        plain = unicodedata.normalize("NFKC", text)
    broken = _broken(plain)
    return text if broken == plain else broken


def _broken(text: str) -> str:
    if "<" in text or "[" in text:
        text = _TOKEN.sub(lambda found: found[0].translate(_ROUND), text)
    if ":" not in text and "#" not in text and "：" not in text:
        return text
    return "\n".join(map(_spoken, text.split("\n"))) if "\n" in text else _spoken(text)


def _spoken(line: str) -> str:
    """A line that starts with no role label."""
    if found := _ROLE.match(line):
        line = found[1].rstrip() + " -" + line[found.end() :]
    return _HEADING.sub("- ", line, count=1) if "#" in line and _HEADING.match(line) else line
