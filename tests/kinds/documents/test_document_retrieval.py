"""Document retrieval: questions about a small set of documents, made for this test, find their passages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from germane import Germane
from support.made_pdf import made_pdf

CORPUS = Path(__file__).parent / "corpus"
QUESTIONS = [json.loads(line) for line in (CORPUS / "questions.jsonl").read_text("utf-8").splitlines()]
TOP = 5

pytest.importorskip("pypdf")


@pytest.mark.requirement("GRAPH-1")
async def test_each_question_finds_its_passage_among_the_first_five(tmp_path: Path) -> None:
    """Of forty questions about a handbook, a manual, code, a log, letters and a report."""
    assert len(QUESTIONS) >= 30
    async with Germane.open(":memory:") as germane:
        agent = germane.agent("reader")
        for name in ("handbook.md", "camera.html", "tiles.log", "letters.txt"):
            await agent.documents.ingest(CORPUS / name)
        code = CORPUS / "greenhouse.code"
        await agent.documents.ingest(code, title="greenhouse.py", media_type="text/x-code")
        report = tmp_path / "report.pdf"
        report.write_bytes(made_pdf((CORPUS / "report.txt").read_text("utf-8").split("=page=\n")))
        await agent.documents.ingest(report)
        missed = []
        for asked in QUESTIONS:
            found = await agent.search(asked["question"], TOP)
            shown = [(one.candidate.title.partition(" ")[0], " ".join(one.candidate.text.split())) for one in found]
            if not any(title == asked["document"] and asked["holds"] in text for title, text in shown):
                missed.append((asked["question"], [text[:60] for _, text in shown]))
        assert missed == []
