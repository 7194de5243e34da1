"""Exclusive: instructions of which only one can be followed, such as the language of answers: the texts of the others.

Only whole instructions in a few closed forms count: "always answer in German", "use metric units". A condition, a second
language or any further word makes an instruction another one ("translate German to English", "never answer in German").
"""

from __future__ import annotations

import re

__all__ = ["alternatives"]

_LEAD = r"(?P<lead>(?:from now on,? )?(?:please )?(?:always )?)"
_LEADS = ("", "always ", "please always ", "from now on ", "from now on, ", "from now on always ")
_ENGLISH = "english german french spanish italian portuguese dutch polish russian chinese japanese turkish arabic"
_GERMAN = "englisch deutsch französisch spanisch italienisch portugiesisch niederländisch polnisch russisch türkisch"
_FRENCH = "anglais allemand français espagnol italien portugais néerlandais polonais russe chinois turc arabe"
_SPANISH = "inglés alemán francés español italiano portugués neerlandés polaco ruso chino turco árabe"


def _form(pattern: str, listed: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    values = tuple(listed.split())
    return re.compile(pattern.replace("VALUE", f"(?P<value>{'|'.join(values)})")), values


_FORMS = (
    _form(rf"{_LEAD}(?P<act>(?:answer|reply|respond|write|speak|talk)(?: to me)? in )VALUE(?P<rest>)", _ENGLISH),
    _form(rf"{_LEAD}(?P<act>use (?:the )?)VALUE(?P<rest>(?: units| system| measurements)?)", "metric imperial"),
    _form(rf"{_LEAD}(?P<act>(?:use|give temperatures in|show temperatures in) )VALUE(?P<rest>)", "celsius fahrenheit"),
    _form(rf"{_LEAD}(?P<act>(?:use|write in) )VALUE(?P<rest> (?:english|spelling))", "british american"),
    _form(
        r"(?P<lead>)(?P<act>(?:antworte|schreibe?|sprich)(?: mit)?(?: mir)?(?: ab jetzt)?(?: bitte)?(?: immer)? auf )VALUE"
        r"(?P<rest>)",
        _GERMAN,
    ),
    _form(r"(?P<lead>)(?P<act>(?:réponds|répondez|écris|parle)(?:-moi)?(?: toujours)? en )VALUE(?P<rest>)", _FRENCH),
    _form(r"(?P<lead>)(?P<act>(?:responde|contesta|escribe|habla)(?:me)?(?: siempre)? en )VALUE(?P<rest>)", _SPANISH),
)
_MAX_TEXT = 80
"""Characters of an instruction in any of the forms."""


def alternatives(text: str) -> tuple[str, ...]:
    """Returns the instructions, in lower case, that can't be followed together with `text`; none where it has no such form."""
    said = " ".join(text[: _MAX_TEXT + 1].casefold().split())
    if len(said) > _MAX_TEXT:
        return ()
    for form, values in _FORMS:
        if (found := form.fullmatch(said)) is not None:
            leads = dict.fromkeys((found["lead"], *_LEADS)) if form.pattern.startswith(_LEAD) else ("",)
            others = [value for value in values if value != found["value"]]
            return tuple(f"{lead}{found['act']}{value}{found['rest']}" for value in others for lead in leads)
    return ()
