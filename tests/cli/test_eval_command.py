"""`germane eval`: data in, tables, JSON and a page out; two compared; what can't be done is said in one line."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from germane.cli import main
from germane.cli.app import hoist
from germane.errors import InvalidInput
from germane_eval.cli import eval as eval_group
from germane_eval.cli.result_files import load_reports
from germane_eval.report import Report
from support.small_sets import everyday, written

pytestmark = pytest.mark.requirement("EVAL-1")

FACTS = {
    "pets": ("My greyhound is called Biscuit.", "What is the greyhound called?", "Biscuit"),
    "places": ("The boat is moored in <b>Trieste</b>.", "Where is the <i>boat</i> moored?", "Trieste"),
    "people": ("I sold the piano to Marguerite.", "Who bought the piano?", "Marguerite"),
}


def line(category: str, conversation: str) -> dict[str, Any]:
    fact, question, answer = FACTS[category]
    texts = [fact, "Good to hear.", "It rains.", "Take an umbrella."]
    said = [
        {
            "role": ("user", "assistant")[at % 2],
            "content": text,
            "id": f"{category}-{at}",
            "created_at": f"2024-05-01T10:0{at}:00Z",
        }
        for at, text in enumerate(texts)
    ]
    named = {"conversation": conversation, "session": category, "category": category}
    return {**named, "messages": said, "question": question, "answer": answer, "evidence": [f"{category}-0", "gone"]}


@pytest.fixture
def person(folder: Path) -> Path:
    """The folder with `nuno.json`, everyday data, in it too; one request has markup."""
    nuno = everyday()
    nuno["questions"][1]["text"] += " <i>now</i>"
    written(folder / "nuno.json", nuno)
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with `requests.jsonl` in it, where the command runs."""
    monkeypatch.chdir(tmp_path)
    lines = [line(category, conversation) for conversation in ("ann", "bo") for category in FACTS]
    (tmp_path / "requests.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    return tmp_path


def shut(folder: Path) -> Path:
    """Settings with a strategy that adds nothing."""
    path = folder / "settings.toml"
    path.write_text('[strategies.shut]\nlike = "compact"\nfloor = 1.0\n', "utf-8")
    return path


def ran(*arguments: str) -> None:
    assert main(["eval", *arguments]) == 0


class Page(HTMLParser):
    """What a browser would fetch, and whether the tags match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "hr", "br"):
            self.open.append(tag)
        self.fetched += [value for name, value in attrs if name in ("src", "href")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Opens nothing."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_report_is_tables_on_a_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was measured, recall by budget and k, by category, latency, reuse, and how to read the intervals."""
    ran("requests.jsonl", "--tokens", "100,400")
    out, err = capsys.readouterr()
    assert err == ""
    for said in ("2 conversations, 24 messages, 6 questions", "compact", "o200k", "6 × evidence … names no message", "± is"):
        assert said in " ".join(out.split())
    assert re.search(r"tokens a question with \d+\.\d % of the evidence, the strategy's effort", out)
    assert re.search(r"of 440 turns that need no memory got items", out)
    assert re.search(r"a thousand replayed calls of gpt-4o cost \$0\.\d+", out)
    assert re.search(r"pets +the strategy's effort +2 ", out)
    for title in (
        "Without a budget",
        "Turns without need",
        "Within so many tokens",
        "Among the k",
        "By category",
        "Latency",
        "Prefix reuse",
    ):
        assert f"\n{title}" in out
    assert re.search(r"evidence +end\+1h +\d", out)
    assert re.search(r"places +2 +\d", out)


def test_json_holds_everything_and_is_read_back_as_it_was(folder: Path) -> None:
    """Version, embedder, what was dropped, every figure and every answer."""
    ran("requests.jsonl", "--tokens", "400", "--json", "out.json", "--clock", "end+1h")
    (report,) = load_reports("out.json")
    assert report.run.embedder.startswith("distilled/")
    assert report.run.format == "requests"
    assert len(report.run.dropped) == 6
    assert report.figure("fraction", 400, category="pets").count == 2
    assert len(report.answered) == 6
    assert report.latency[0].count == 6
    assert report.reuse is not None
    assert report.cost is not None
    assert report.amount(category="pets").count == 2
    assert len(report.asked_turns) == 440
    raw = json.loads((folder / "out.json").read_text("utf-8"))
    assert (raw["format"], raw["version"]) == ("germane-evaluation", 1)


def test_json_may_be_asked_for_on_standard_output_as_of_every_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` without a file, before or after, and `-`."""
    for arguments in (
        ["--json", "eval", "requests.jsonl"],
        ["eval", "requests.jsonl", "--json"],
        ["eval", "--json", "-", "requests.jsonl"],
    ):
        assert main([*arguments, "--quick", "--tokens", "200", "--limit", "2"]) == 0
        assert json.loads(capsys.readouterr().out)["reports"][0]["run"]["asked"] == 2


def test_the_page_needs_nothing_from_elsewhere_and_shows_data_as_text(folder: Path) -> None:
    """No link, no script; a question's markup is escaped; tags match; light and dark."""
    ran("requests.jsonl", "--tokens", "20,40", "--effort", "low,high", "--html", "page.html")
    text = (folder / "page.html").read_text("utf-8")
    page = Page(text)
    assert page.open == []
    assert page.fetched == []
    assert "<script" not in text
    assert "<i>boat</i>" not in text
    assert "&lt;i&gt;boat&lt;/i&gt;" in text
    assert "prefers-color-scheme: dark" in text
    assert text.count("<svg") == 5
    assert "By language, the worst first" in text
    assert "with a prefix cache" in text
    assert "url(" not in text


def test_turns_without_need_can_be_left_out_or_fewer(folder: Path) -> None:
    """`--quick` leaves them out unless they are asked for."""
    for options, count in (
        (["--quick"], 0),
        (["--no-without-need"], 0),
        (["--turns", "12"], 12),
        (["--quick", "--without-need", "--turns", "5"], 5),
    ):
        ran("requests.jsonl", "--tokens", "100", "--limit", "1", "--json", "out.json", *options)
        assert len(load_reports("out.json")[0].asked_turns) == count


def test_several_files_are_measured_together_and_none_of_it_twice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A repeated conversation counts once; a different one with the same name counts too."""
    (folder / "again.jsonl").write_bytes((folder / "requests.jsonl").read_bytes())
    (folder / "other.jsonl").write_text(json.dumps(line("pets", "ann")) + "\n", "utf-8")
    ran("requests.jsonl", "again.jsonl", "other.jsonl", "--quick", "--tokens", "100")
    assert "requests, again, other (requests): 3 conversations, 28 messages, 7 questions" in capsys.readouterr().out


def test_two_strategies_are_compared_on_the_same_questions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Differences with intervals, the questions that changed, as tables, JSON and page."""
    ran(
        "requests.jsonl", "--quick", "--tokens", "80", "--compare", "compact", "default", "--json", "c.json", "--html", "c.html"
    )
    out = capsys.readouterr().out
    assert "A measured" in out
    assert "strategy default" in out
    assert re.search(r"^B [\d,]+ tokens a question with", out, re.MULTILINE)
    assert "B − A" in out
    found = json.loads((folder / "c.json").read_text("utf-8"))
    assert found["format"] == "germane-comparison"
    (comparison,) = found["comparisons"]
    assert comparison["a"]["run"]["strategy"] == "compact"
    assert comparison["matched"] == 6
    assert all(one["a"] != one["b"] for one in comparison["changed"])
    assert Page((folder / "c.html").read_text("utf-8")).open == []


def test_two_saved_results_are_compared_without_measuring_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The two runs may differ in anything."""
    ran("requests.jsonl", "--quick", "--tokens", "60", "--json", "a.json")
    ran("requests.jsonl", "--quick", "--tokens", "60,400", "--json", "b.json")
    capsys.readouterr()
    ran("--compare", "a.json", "b.json")
    out = capsys.readouterr().out
    assert re.search(r"evidence +end\+1h +0\.0", out)
    assert "Changed" not in out


def test_an_earlier_result_is_replaced_and_nothing_else_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A slip such as `--json requests.jsonl` mustn't cost the data."""
    before = (folder / "requests.jsonl").read_bytes()
    for _ in range(2):
        ran("requests.jsonl", "--quick", "--limit", "1", "--json", "a.json", "--html", "a.html")
    capsys.readouterr()
    for option in ("--json", "--html"):
        assert main(["eval", "other.jsonl", option, "requests.jsonl"]) == 2
        assert "didn't write" in capsys.readouterr().err
    assert (folder / "requests.jsonl").read_bytes() == before


def test_a_persons_requests_are_shown_by_category_and_person(person: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the columns say, each category, the curve within budgets, the misses."""
    ran("nuno.json", "--quick", "--strategy", "compact", "--tokens", "20,400")
    out = capsys.readouterr().out
    assert "nuno (everyday): 1 conversations, 5 messages, 4 questions" in out
    assert "each request opens one of its own" in out
    assert re.search(r"^all +2 +100\.0 +0\.0 +\d+ +0 +\d+ +\d+ +100\.0 +100\.0$", out, re.MULTILINE)
    assert re.search(r"^none +1 +\d+ +0 ", out, re.MULTILINE)
    assert re.search(r"^category +20 +400$", out, re.MULTILINE)
    assert "2 misses" in out
    assert "Among the k" not in out
    assert max(map(len, out.partition("Requests\n")[2].partition("±")[0].splitlines())) <= 80


def test_the_default_strategy_asks_a_persons_requests_without_a_budget(person: Path) -> None:
    """Nothing configured; `--talk` puts several into one conversation; the file is read back as it was."""
    ran("nuno.json", "--quick", "--talk", "3", "--json", "out.json")
    (report,) = load_reports("out.json")
    assert (report.run.strategy, report.run.talk, report.run.budgets) == ("default", 3, ())
    assert [one.id for one in report.asked_requests] == [f"nuno/q{number}" for number in (1, 2, 3, 4)]
    assert report.request("update") is not None


def test_the_page_has_a_curve_for_each_category_and_every_miss_with_its_texts(person: Path) -> None:
    """Question, answer, what was needed, and what was shown, as text."""
    ran(
        "nuno.json",
        "--quick",
        "--tokens",
        "20,400",
        "--html",
        "page.html",
        "--settings",
        str(shut(person)),
        "--strategy",
        "shut",
    )
    text = (person / "page.html").read_text("utf-8")
    assert Page(text).open == []
    assert text.count("<svg") == 3
    assert "<i>now</i>" not in text
    for said in (
        "55 euros",
        "<b>Needed</b> Aldo takes 55 euros for a plank of spruce now.",
        "&lt;i&gt;now&lt;/i&gt;",
        "2 misses",
    ):
        assert said in text
    ran("nuno.json", "--quick", "--strategy", "compact", "--html", "page.html")
    text = (person / "page.html").read_text("utf-8")
    assert "<svg" not in text
    assert "<b>What was shown</b>" in text


def test_a_persons_requests_are_compared(person: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two strategies, and two saved results; what was lost comes first."""
    settings = ["--settings", str(shut(person))]
    ran(
        "nuno.json",
        "--quick",
        "--tokens",
        "400",
        "--compare",
        "compact",
        "shut",
        *settings,
        "--json",
        "c.json",
        "--html",
        "c.html",
    )
    out = capsys.readouterr().out
    assert re.search(r"^ +asked at +free +400$", out, re.MULTILINE)
    assert re.search(r"^found +end\+1h +−100\.0", out, re.MULTILINE)
    assert "Changed without a budget: 0 questions for the better, 2 for the worse" in out
    assert Page((person / "c.html").read_text("utf-8")).open == []
    for name, strategy in (("a", "compact"), ("b", "shut")):
        ran("nuno.json", "--quick", *settings, "--strategy", strategy, "--json", f"{name}.json")
    ran("--compare", "a.json", "b.json")
    assert "2 for the worse" in capsys.readouterr().out
    ran("nuno.json", "--quick", "--talk", "2", "--json", "t.json")
    assert main(["eval", "--compare", "a.json", "t.json"]) == 2
    assert "measure both with the same --talk" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no file or folder nowhere"),
        (["500"], "--tokens 250,500"),
        (["requests.jsonl", "--format", "pdf"], "longmemeval"),
        (["requests.jsonl", "--strategy", "fast"], "compact, composite, default"),
        (["requests.jsonl", "--embedder", "bert"], "minilm"),
        (["requests.jsonl", "--clock", "soon"], "end+1h"),
        (["requests.jsonl", "--tokens", "0"], "--tokens"),
        (["requests.jsonl", "--tokens", "many"], "'many'"),
        (["requests.jsonl", "--k", ","], "--k"),
        (["requests.jsonl", "--effort", "much"], "--effort: effort must be low, medium, high"),
        (["requests.jsonl", "--turns", "0"], "--turns"),
        (["requests.jsonl", "--talk", "0"], "--talk"),
        (["requests.jsonl", "--talk", "5"], "talk is for everyday data"),
        (["requests.jsonl", "--categories", "plants"], "people, pets, places"),
        (["requests.jsonl", "--relevance", "none.toml"], "none.toml"),
        (["requests.jsonl", "--settings", "none.toml"], "none.toml"),
        (["requests.jsonl", "--json", "no/a.json"], "no directory"),
        (["requests.jsonl", "--html", "."], "directory"),
        (["requests.jsonl", "--html", "-"], "--html"),
        (["requests.jsonl", "--limit", "0"], "--limit"),
        (["empty.jsonl"], "empty.jsonl"),
        (["--quick"], "nothing to measure"),
        (["requests.jsonl", "--compare", "compact", "minilm"], "one of each"),
        (["requests.jsonl", "--compare", "compact", "slow"], "'slow' is neither"),
        (["requests.jsonl", "--compare", "requests.jsonl", "requests.jsonl"], "leave it out"),
        (["--compare", "a.json", "b.json"], "no file a.json"),
        (["--compare", "requests.jsonl", "requests.jsonl"], "requests.jsonl"),
        (["--compare", "a.json"], "--compare"),
    ],
)
def test_what_cant_be_done_is_said_in_one_line(
    arguments: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, what is wrong and what to do, nothing on stdout, no file left behind."""
    (folder / "empty.jsonl").write_text("", "utf-8")
    assert main(["eval", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("germane: ")
    assert err.count("\n") == 1
    assert said in err
    assert sorted(path.name for path in folder.iterdir()) == ["empty.jsonl", "requests.jsonl"]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "no saved evaluation"),
        ({"format": "germane-comparison", "version": 1}, "a comparison"),
        ({"format": "germane-evaluation", "version": 2}, "version 2"),
        ({"format": "germane-evaluation", "version": 1, "reports": []}, "no reports"),
        ({"format": "germane-evaluation", "version": 1, "reports": [{}]}, "report 1 lacks run"),
    ],
)
def test_a_file_that_is_no_saved_result_is_named(document: Any, said: str, tmp_path: Path) -> None:
    """The error names the file and the fault."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(InvalidInput, match=re.escape(str(path))) as caught:
        load_reports(str(path))
    assert said in str(caught.value)


def test_an_interrupt_ends_it_cleanly(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 130, one line, no half-written result."""

    async def interrupted(*_: object, **__: object) -> Report:
        raise KeyboardInterrupt

    monkeypatch.setattr("germane_eval.cli.run.evaluate", interrupted)
    assert main(["eval", "requests.jsonl", "--json", "out.json"]) == 130
    assert capsys.readouterr().err == "germane: interrupted\n"
    assert not (folder / "out.json").exists()


def test_help_is_the_default_commands_and_names_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    """`germane eval` alone shows it too."""
    assert main(["eval", "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Usage: germane eval [OPTIONS] ")
    assert re.search(r"Commands:\n +fit ", shown)
    assert main(["eval"]) == 0
    assert capsys.readouterr().out == shown


def test_json_is_the_default_commands_own_option_and_elsewhere_the_shared_one() -> None:
    """`--json` of `germane eval` takes a file."""
    assert hoist(["eval", "x", "--json", "f", "--embedder", "static"]) == ["--embedder", "static", "eval", "x", "--json", "f"]
    assert hoist(["eval", "fit", "x", "--json"]) == ["--json", "eval", "fit", "x"]
    assert hoist(["search", "eval", "--json"]) == ["--json", "search", "eval"]
    assert eval_group.owns_option(["eval"], "--db") is False


def test_without_its_distribution_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`germane` itself doesn't need it; a module that is missing for another reason is still an error of its own."""
    missing = "germane_eval"

    def import_module(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    monkeypatch.setattr("germane.cli.app.import_module", import_module)
    assert main(["eval", "requests.jsonl"]) == 1
    assert "pip install 'germane[eval]'" in capsys.readouterr().err
    missing = "numpy"
    assert main(["eval", "requests.jsonl"]) == 1
    assert "germane[eval]" not in capsys.readouterr().err
