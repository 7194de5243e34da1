"""Personal: whether a request speaks of the user's own affairs, of somebody known, or of what was said before (NEED-1)."""

from __future__ import annotations

import re

__all__ = ["is_personal"]

_WORDS = """
    my mine myself our ours ourselves he him his she her hers
    mein meine meinen meinem meiner meines unser unsere unseren unserem unserer
    mon ma mes notre nos mi mis nuestro nuestra nuestros nuestras mio mia miei mie nostro nostra nostri nostre
    meu minha meus minhas nosso nossa nossos nossas mijn onze min mitt mina vår vårt våra mój moja moje moich nasz nasza nasze
    мой моя моё мое мои моего моей моих наш наша наше наши нашего нашей benim bizim
"""
_PERSONAL = frozenset(_WORDS.split())
_WORD = re.compile(r"[^\W\d_]+")
_PHRASES = re.compile(
    r"\b(?:about me|know me|for us|did (?:i|we)|have (?:i|we)|had (?:i|we)|remember|remind|recall|last time|the other day"
    r"|as usual|the usual|(?:i|we) (?:said|told|mentioned|discussed|agreed|decided|talked|spoke))\b"
    r"|我的|我们|我們|记得|記得|上次|私の|僕の|俺の|私たち|覚えて|前回|내\s|우리|기억",
    re.IGNORECASE,
)


def is_personal(text: str) -> bool:
    """Whether the text has a possessive of the first person, a pronoun for a person, or words such as "remember" and "did I",
    in one of a dozen languages. `I` and `me` alone say nothing: "how do I sort a list", "tell me a joke"."""
    return not _PERSONAL.isdisjoint(_WORD.findall(text.casefold())) or _PHRASES.search(text) is not None
