"""Fitting: one column of the relevance model, and all of them."""

from __future__ import annotations

import numpy as np
import pytest

from germane.errors import InvalidInput
from germane.search.relevance import COEFFICIENTS, Relevance, design
from germane.types.evidence import FEATURES
from germane_eval.fit.fitting import ModelColumns, Options, fit_column, refit, shipped_tables
from support.made_lists import TRUE, candidates, columns_of, made


def weight(weights: np.ndarray, name: str) -> float:
    return float(weights[COEFFICIENTS.index(name)])


@pytest.mark.requirement("SCORE-2")
def test_the_weights_behind_the_data_are_found_again() -> None:
    """The weights agree up to sampling, and up to the slope that the calibration chooses."""
    sums_only = Options(l2=0.1, without=frozenset(name for name in COEFFICIENTS if ":" in name))
    fitted = fit_column(made(800), np.zeros(len(COEFFICIENTS)), sums_only)
    found = {name: weight(fitted.weights, name) / fitted.calibration.slope for name in TRUE}
    assert found == pytest.approx(TRUE, rel=0.15)
    assert abs(weight(fitted.weights, "cos_own")) < 0.4


def test_probabilities_of_held_out_conversations_come_true() -> None:
    """Predicted and observed shares agree in the mean."""
    lists = made(200)
    fitted = fit_column(lists, np.zeros(len(COEFFICIENTS)), Options())
    said = np.concatenate([1 / (1 + np.exp(-odds)) for odds in fitted.held_out]).sum()
    assert said == pytest.approx(sum(one.relevant.sum() for one in lists), rel=0.01)


def test_what_is_held_out_is_scored_by_weights_that_never_saw_it() -> None:
    """`phrase` gives the answer away in one conversation and tells nothing in the others; only the full fit sees it."""
    lists = made(80, conversations=4)
    phrase = FEATURES.index("phrase")
    for one in lists:
        one.table[:, phrase] = one.relevant if one.conversation == "c0" else 0.0
    fitted = fit_column(lists, np.zeros(len(COEFFICIENTS)), Options(l2=0.1))
    assert weight(fitted.weights, "phrase") > 2
    for one, odds in zip(lists, fitted.held_out, strict=True):
        if one.conversation == "c0":
            known = design(np.nan_to_num(one.table)) @ fitted.weights
            told_apart = (known - odds)[one.relevant].mean() - (known - odds)[~one.relevant].mean()
            assert told_apart > 0.7 * weight(fitted.weights, "phrase")


def test_what_judgement_adds_is_calibrated_with_the_rest() -> None:
    """A third of all candidates has an identifier, whose weight of two log-odds is set by hand."""
    start = np.zeros(len(COEFFICIENTS))
    start[FEATURES.index("identifier")] = 2.0
    lists, random = made(100), np.random.default_rng(3)
    for one in lists:
        one.table[:, FEATURES.index("identifier")] = random.random(len(one)) < 1 / 3
    said = sum((1 / (1 + np.exp(-odds))).sum() for odds in fit_column(lists, start, Options()).held_out)
    assert said == pytest.approx(100, rel=0.01)


def test_judgement_stays_and_what_never_varies_keeps_its_weight() -> None:
    """`identifier` is set by hand; `month` is the same for all candidates of a question and can't be fitted."""
    start = np.zeros(len(COEFFICIENTS))
    start[[FEATURES.index("identifier"), FEATURES.index("month")]] = 2.0, 1.0
    lists = made(60)
    for number, one in enumerate(lists):
        one.table[:, FEATURES.index("identifier")] = one.relevant
        one.table[:, FEATURES.index("month")] = number % 2
    fitted = fit_column(lists, start, Options())
    assert (weight(fitted.weights, "identifier"), weight(fitted.weights, "month")) == (2.0, 1.0)
    assert "identifier" not in fitted.fitted


def test_a_feature_that_is_left_out_has_no_weight() -> None:
    start = np.ones(len(COEFFICIENTS))
    fitted = fit_column(made(60), start, Options(without=frozenset({"speaker"})))
    assert weight(fitted.weights, "speaker") == 0.0


def test_one_conversation_alone_is_fitted_without_anything_held_out() -> None:
    """The calibration then uses the fitted data."""
    fitted = fit_column(made(40, conversations=1), np.zeros(len(COEFFICIENTS)), Options())
    assert weight(fitted.weights, "window") > 0


@pytest.mark.parametrize(("given", "said"), [({"loss": "hinge"}, "hinge"), ({"without": ["charm"]}, "charm")])
def test_options_that_cannot_be_are_refused_by_name(given: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Options.of(**({"loss": "softmax", "l2": 1.0, "folds": None, "without": ()} | given))  # type: ignore[arg-type]


@pytest.mark.requirement("SCORE-2")
def test_each_column_is_fitted_to_what_it_scores() -> None:
    """The columns for people and for chats with an assistant are fitted; those without vectors stay."""
    old = shipped_tables()
    found = refit([*made(60), *made(60, seed=2, assistant=1.0)], old, Options())
    assert set(found.columns) == {"people", "assistant"}
    assert found.tables["people_lexical"] == old["people_lexical"]
    assert found.tables["reasons"] == old["reasons"]
    assert found.tables["people"] != old["people"]


def test_a_list_of_two_columns_is_scored_by_both() -> None:
    """Half of the list has no vectors; each row is scored by its own column."""
    lists = made(40, many=30)
    for one in lists:
        one.table[::2, [FEATURES.index("cos_own"), FEATURES.index("cos_window")]] = np.nan
    found = refit(lists, shipped_tables(), Options())
    assert set(found.columns) == {"people", "people_lexical"}
    assert all(np.isfinite(odds).all() and len(odds) == 30 for odds in found.after)


def test_the_tables_are_a_model_that_says_what_was_fitted() -> None:
    """With a single conversation nothing is held out, so the model gives the same log-odds."""
    lists = made(30, conversations=1)
    found = refit(lists, shipped_tables(), Options())
    again = Relevance.parse(found.tables)
    for one, odds in zip(lists, found.after, strict=True):
        assert again.log_odds(one.table) == pytest.approx(odds)


def test_where_nothing_is_relevant_there_is_nothing_to_fit() -> None:
    with pytest.raises(InvalidInput, match="nothing to fit"):
        refit([candidates(columns_of(own=[1.0, 0.5]), [0, 0])], shipped_tables(), Options())


def test_the_columns_and_their_rule_are_the_models_own() -> None:
    """The order of tables in the file and the reasons don't matter."""
    tables = shipped_tables()
    columns = ModelColumns({name: tables[name] for name in reversed(list(tables))})
    table = columns_of(cos_window=[0.1, np.nan, 0.1, np.nan], assistant=[0, 0, 1, 1], history=[0.5, 0, 1, 0])
    assert [columns.names[number] for number in columns.of(table)] == [
        "people",
        "people_lexical",
        "assistant",
        "assistant_lexical",
    ]
