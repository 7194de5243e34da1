"""What SQLite raises, as germane's errors."""

from __future__ import annotations

import apsw
import pytest

from germane.errors import InvalidInput, StoreError
from germane.stores.sqlite.database import to_store_error


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("error", [apsw.TooBigError(), UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")])
def test_what_no_store_can_hold_is_the_requests_fault(error: Exception) -> None:
    """Should one get as far as here: nothing of the value is in the message."""
    assert isinstance(to_store_error(error, "s"), InvalidInput)
    assert "ud800" not in str(to_store_error(error, "s"))
    assert isinstance(to_store_error(apsw.SQLError(), "s"), StoreError)
