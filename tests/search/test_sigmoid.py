"""From log-odds to probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from germane.search.relevance import sigmoid


def test_log_odds_become_probabilities_however_large_they_are() -> None:
    """Without a warning of overflow, which fails a test."""
    odds = np.array([-np.inf, -1e6, -2.0, 0.0, 2.0, 1e6, np.inf])
    found = sigmoid(odds)
    assert found == pytest.approx([0, 0, 0.1192029, 0.5, 0.8807971, 1, 1])
    assert ((found >= 0) & (found <= 1)).all()
