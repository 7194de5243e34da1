"""Pytest plugin: run by pytest in a folder of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from germane_testing.provider import LocalProvider

pytest_plugins = ["pytester"]

DOCUMENT = Path(__file__).parents[2] / "docs" / "use" / "testing.md"

SUITE = """
    import pytest
    from datetime import datetime
    from germane.sync import Germane
    from germane_testing.builders import Hashed

    @pytest.fixture
    def context():
        with Germane.open(":memory:", embedder=Hashed()) as germane:
            agent = germane.agent()
            for text in {texts}:
                agent.record([{{"role": "user", "content": text, "created_at": datetime(2026, 3, 10)}}], session="s")
            yield agent.assemble(
                [{{"role": "user", "content": "blue vase"}}], model="gpt-4o", strategy="compact", deadline=None, max_tokens=60
            )
"""
TEST = """
    def test_the_vase(context, pin):
        pin(context).includes("blue vase").snapshot({name})
"""


def suite(pytester: pytest.Pytester, *texts: str, name: str = "", more: str = TEST) -> None:
    pytester.makepyfile(test_context=SUITE.format(texts=texts) + more.format(name=name))


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", "no:asyncio", *options)


@pytest.mark.requirement("EVAL-1")
def test_a_missing_snapshot_fails_and_says_how_to_write_it(pytester: pytest.Pytester) -> None:
    """Without the option no file is written, so a build server can't accept any text."""
    suite(pytester, "The blue vase broke.")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*there is no snapshot __pins__/test_context-test_the_vase.txt yet*",
            'E*pytest --update-pins "test_context.py::test_the_vase"',
        ]
    )
    assert not (pytester.path / "__pins__").exists()


@pytest.mark.requirement("EVAL-1")
def test_a_snapshot_that_was_written_holds_until_the_context_changes(pytester: pytest.Pytester) -> None:
    """The failure shows the difference line by line, and the option accepts it."""
    suite(pytester, "The blue vase broke.", name="'vase'")
    written = run(pytester, "--update-pins")
    written.assert_outcomes(passed=1)
    written.stdout.fnmatch_lines(["*pinned contexts*", "written: *vase.txt"])
    pinned = (pytester.path / "__pins__" / "vase.txt").read_text("utf-8")
    assert pinned.splitlines()[2:-1] == ["## 2026-03-10", "[a] user: The blue vase broke."]
    run(pytester, "-W", "error").assert_outcomes(passed=1)
    suite(pytester, "The blue vase broke.", "No blue vase here.", name="'vase'")
    changed = run(pytester)
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(
        ["E*__pins__/vase.txt (pinned)", "E*+++ now", "E*[[]a] user: The blue vase broke.", "E*+[[]a] user: No blue vase here."]
    )
    assert (pytester.path / "__pins__" / "vase.txt").read_text("utf-8") == pinned
    run(pytester, "--update-pins").assert_outcomes(passed=1)
    run(pytester).assert_outcomes(passed=1)


@pytest.mark.requirement("EVAL-1")
def test_of_a_line_that_is_gone_it_is_told_why(pytester: pytest.Pytester) -> None:
    """The item was found, but others took its space."""
    suite(pytester, "The blue vase broke.", name="'vase'")
    run(pytester, "--update-pins").assert_outcomes(passed=1)
    suite(pytester, "The blue vase broke.", "A blue vase, a blue vase, the bluest vase of all.", name="'vase'")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*-[[]a] user: The blue vase broke.",
            "E*+[[]a] user: A blue vase,*",
            "E*gone, left out for budget: #2 * messages 'The blue vase broke.'",
            "E*pytest --update-pins*",
        ]
    )


def test_two_tests_do_not_share_a_snapshot_by_mistake(pytester: pytest.Pytester) -> None:
    """The second test would depend on what the first one wrote."""
    twice = TEST + TEST.replace("test_the_vase", "test_another")
    suite(pytester, "The blue vase broke.", name="'vase'", more=twice)
    result = run(pytester, "--update-pins")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E*vase.txt is already the snapshot of test_context.py::test_the_vase*"])


def test_the_traceback_is_the_line_of_the_test(pytester: pytest.Pytester) -> None:
    """The traceback doesn't show germane's own code."""
    suite(pytester, "The blue vase broke.", more="    def test_it(context, pin):\n        pin(context).within(3)\n")
    result = run(pytester)
    result.stdout.fnmatch_lines([">*pin(context).within(3)", "E*takes * tokens, * more than 3"])
    result.stdout.no_fnmatch_line("*pins.py*")


def test_loading_it_imports_nothing_of_germanes(pytester: pytest.Pytester) -> None:
    """Every pytest run on the machine loads the plugin: it must not slow down or warn."""
    pytester.makepyfile(
        test_other="""
        import sys

        def test_nothing_is_loaded():
            ours = {name for name in sys.modules if name.startswith("germane")}
            assert ours == {"germane_testing", "germane_testing.pytest_plugin"}
            assert not {"numpy", "apsw"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess("-p", "no:asyncio", "-W", "error").assert_outcomes(passed=1)


@pytest.mark.requirement("EVAL-1", "DOC-1")
def test_the_documented_example_runs_as_it_stands(pytester: pytest.Pytester) -> None:
    """The first run writes the snapshot, and the second one compares."""
    found = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (example,) = [code for code in found if "def test_" in code]
    pytester.makepyfile(test_context=example)
    run(pytester, "--update-pins").assert_outcomes(passed=1)
    run(pytester).assert_outcomes(passed=1)


def test_pins_need_no_pytest() -> None:
    """`Pin` works in any test framework."""
    asked = "import germane_testing.pins, sys; print('pytest' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"


def test_the_provider_is_a_fixture(llm_provider: LocalProvider) -> None:
    """It serves in a thread while the test runs."""
    with urlopen(f"{llm_provider.url}/v1/models") as answer:
        assert answer.status == 200
    assert [received.path for received in llm_provider.requests] == ["/v1/models"]
