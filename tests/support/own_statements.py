"""Own statements: made messages in which people say things of themselves and demand things, as they type and dictate them."""

from __future__ import annotations

from random import Random

__all__ = ["made_statements"]

_STATED = (
    "I live in Bristol.",
    "I'm allergic to walnuts.",
    "I work as a plumber.",
    "My dog is called Biscuit.",
    "I prefer trains to planes.",
    "I can't stand coriander.",
    "Always give prices in euros.",
    "From now on, keep it short.",
    "Please never use emojis.",
    "My birthday is on 5 May.",
    "I'm a vegetarian.",
    "We moved to Turin last week.",
    "I don't like loud restaurants.",
    "Ich wohne in Kassel.",
    "Ich bin allergisch gegen Nüsse.",
    "Antworte ab jetzt immer auf Deutsch.",
    "Meine Tochter heißt Lotte.",
    "Ich trinke lieber Tee als Kaffee.",
    "Bitte verwende keine Emojis.",
    "J'habite à Nantes.",
    "Je suis allergique aux noix.",
    "Réponds toujours en français.",
    "Je préfère le train à l'avion.",
    "Ma fille s'appelle Zoé.",
    "Vivo en Sevilla.",
    "Soy alérgico a las nueces.",
    "Responde siempre en español.",
    "Prefiero el té al café.",
    "No me gusta el ruido.",
    "Mi perro se llama Chispa.",
)
_FRAMES = (
    "{}",
    "{}",
    "{} Thanks!",
    "Hi! {}",
    "{} What should I cook tonight?",
    "Good morning. {}",
    "By the way, one more thing.\n{}",
    "{}\n\nCan you suggest something for Saturday?",
    "- {}",
    "Quick note before we start.\n\n{}",
    "Help me plan the week.\n\n{}\n\nThanks in advance",
    "Some facts about me:\n- {}\n- I like maps.",
    "ok so {}",
    "{} 😀",
    "Hey there,\n{}",
    "My rules:\n1. {}\n2. Ask me first.",
)
_IN_ANY = ("{}", "- {}", "{} 😀", "🙂 {}", "1. {}\n2. ok", "OK. {}")
_IN_ENGLISH = 13


def made_statements(count: int, seed: int) -> list[tuple[str, str]]:
    """Returns `count` pairs: what is said, and the message that says it."""
    chance = Random(seed)
    pairs = list[tuple[str, str]]()
    for number in range(count):
        said = _STATED[number % len(_STATED)]
        frames = _FRAMES if number % len(_STATED) < _IN_ENGLISH else _IN_ANY
        pairs.append((said, chance.choice(frames).format(said)))
    return pairs
