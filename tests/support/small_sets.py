"""Small sets: data sets of a few lines in exactly the shapes of the public ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from germane.types.message import Message
from germane_eval.dataset import Conversation, Dataset, Question

__all__ = ["beam", "everyday", "locomo", "longmemeval", "messages", "questions", "realtalk", "reasons", "written"]


def written(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
    return path


def locomo(name: str = "conv-1") -> dict[str, Any]:
    return {
        "sample_id": name,
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_10": [{"speaker": "Bo", "dia_id": "D10:1", "text": "The regatta was rained off."}],
            "session_10_date_time": "12:06 am on 11 November, 2023",
            "session_2": [
                {"speaker": "Ann", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a photo of a heron"},
                {"speaker": "Bo", "dia_id": "D2:2", "text": "Lovely. I keep bees."},
            ],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_11_date_time": "1:56 pm on 8 May, 2024",
        },
        "qa": [
            {"question": "What does Bo keep?", "answer": "bees", "evidence": ["D2:2"], "category": 4},
            {"question": "When was the regatta?", "answer": 2023, "evidence": ["D10:1"], "category": 2},
            {"question": "What did Ann steal?", "evidence": ["D2:1"], "category": 5, "adversarial_answer": "a heron"},
        ],
        "event_summary": {},
    }


def said(id: int, role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "id": id, "content": content, **more}


def beam(folder: Path, **questions: Any) -> Path:
    """Writes a chat of two batches to `folder`, with these questions by type, or a default one."""
    first = [
        said(0, "user", "My sprint ends on 29 March. ->-> 1,1", time_anchor="March-15-2024"),
        said(1, "assistant", "Noted."),
    ]
    more = [said(2, "user", "The API answers in 400 ms."), said(3, "assistant", "Cache it.")]
    second = [said(4, "user", "It is down to 250 ms.", time_anchor="April-05-2024"), said(5, "assistant", "Good.")]
    written(
        folder / "chat.json",
        [
            {"batch_number": 1, "time_anchor": None, "turns": [first, more]},
            {"batch_number": 2, "time_anchor": None, "turns": [second]},
        ],
    )
    asked = {"information_extraction": [{"question": "When does it end?", "answer": "29 March", "source_chat_ids": [0]}]}
    written(folder / "probing_questions.json", questions or asked)
    return folder


def realtalk() -> dict[str, Any]:
    def message(id: str, speaker: str, text: str, when: str, **more: Any) -> dict[str, Any]:
        return {"clean_text": text, "speaker": speaker, "date_time": when, "dia_id": id, "img_url": [], **more}

    return {
        "name": {"speaker_1": "Ann", "speaker_2": "Bo"},
        "session_1": [
            message("D1:1", "Ann", "Hi, I ran along the river", "29.12.2023, 00:51:12"),
            message("D1:2", "Bo", "", "29.12.2023, 00:52:00", blip_caption="a muddy shoe"),
            message("D1:3", "Bo", "", "29.12.2023, 00:52:30"),
        ],
        "session_1_date_time": "29.12.2023, 00:51:12",
        "events_session_1": {"Ann": [], "Bo": []},
        "qa": [{"question": "When did Ann run?", "answer": "28 December", "evidence": ["D1:1", "D1:3"], "category": 2}],
    }


def longmemeval(kind: str = "single-session-user", id: str = "8a2466db", **more: Any) -> dict[str, Any]:
    """An entry whose sessions aren't sorted by time."""

    def turn(role: str, content: str, **label: bool) -> dict[str, Any]:
        return {"role": role, "content": content, **label}

    return {
        "question_id": id,
        "question_type": kind,
        "question": "How long is my run?",
        "answer": "9 km",
        "question_date": "2023/06/01 (Thu) 08:00",
        "haystack_session_ids": ["answer_1_2", "filler_7", "answer_1_1"],
        "haystack_dates": ["2023/05/30 (Tue) 23:40", "2023/05/22 (Mon) 10:00", "2023/05/20 (Sat) 02:21"],
        "haystack_sessions": [
            [turn("user", "Now I run 9 km.", has_answer=True), turn("assistant", "Well done.", has_answer=False)],
            [turn("user", "What is a fen?"), turn("assistant", "A marsh.")],
            [turn("user", "I run 5 km.", has_answer=True), turn("assistant", "A fine start.", has_answer=False)],
        ],
        "answer_session_ids": ["answer_1_1", "answer_1_2"],
        **more,
    }


def everyday(id: str = "nuno") -> dict[str, Any]:
    """A violin maker whose wood got dearer, and four requests, of which two need nothing stored."""

    def message(id: str, role: str, text: str, time: str) -> dict[str, Any]:
        return {"id": id, "role": role, "name": "Nuno" if role == "user" else None, "time": time, "text": text}

    def asked(text: str, category: str, evidence: list[str], not_alone: list[str], answer: str | None) -> dict[str, Any]:
        labels = {"category": category, "evidence": evidence, "not_alone": not_alone, "answer": answer}
        return {"text": text, "time": "2026-05-02T08:00:00+01:00", "name": "Nuno", **labels}

    return {
        "id": id,
        "language": "en",
        "kind": "a violin maker",
        "sessions": [
            {
                "id": "s1",
                "messages": [
                    message("m1", "user", "Since we moved to Braga I mend violins in the shed.", "2026-03-01T09:00:00+00:00"),
                    message("m2", "assistant", "A shed is a fine place for that.", "2026-03-01T09:00:20+00:00"),
                    message("m3", "user", "Aldo takes 40 euros for a plank of spruce.", "2026-03-01T09:01:00+00:00"),
                ],
            },
            {
                "id": "s2",
                "messages": [
                    message("m4", "user", "Aldo takes 55 euros for a plank of spruce now.", "2026-04-01T09:00:00+00:00"),
                    message("m5", "assistant", "Dear spruce.", "2026-04-01T09:00:20+00:00"),
                ],
            },
        ],
        "questions": [
            asked("what is it that i mend in the shed", "self", ["m1"], [], "violins, in Braga"),
            asked("how many euros does Aldo take for a plank of spruce", "update", ["m4"], ["m3"], "55 euros"),
            asked("thanks, that is all", "none", [], [], None),
            asked("what size are my shoes", "unknown", [], [], None),
        ],
    }


def messages(conversation: Conversation) -> Iterator[Message]:
    return (message for said in conversation.sessions.values() for message in said)


def questions(found: Dataset) -> list[Question]:
    return [question for conversation in found.conversations for question in conversation.questions]


def reasons(found: Dataset) -> list[tuple[str, str]]:
    return [(dropped.where, dropped.reason) for dropped in found.dropped]
