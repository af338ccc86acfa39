import pytest

from invariants import cases


@pytest.fixture(autouse=True)
def selected(drawn, monkeypatch):
    """Let a run check some of the cases, as it runs some cases of other tests, and all of them with --all."""
    monkeypatch.setattr(cases, "select", drawn)
