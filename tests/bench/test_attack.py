"""The attack is a program that could be pointed anywhere: it goes nowhere but this machine."""

from __future__ import annotations

import pytest

from bench import attack


@pytest.mark.parametrize("address", ["10.0.0.7:7411", "germane.internal:7411", "0.0.0.0:7411"])
def test_nobody_else_is_attacked(address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever it is asked for."""
    monkeypatch.setattr("sys.argv", ["attack", "streams", address])
    with pytest.raises(SystemExit):
        attack.main()
    assert "isn't this machine" in capsys.readouterr().err
