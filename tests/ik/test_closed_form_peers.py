"""The same branches as other libraries find, where they are installed."""

import importlib.util

import pytest
from benchmarks.ik.closed_form import PUBLISHED, measure_closed_form
from benchmarks.ik.robots import ARMS


@pytest.mark.parametrize("name", ["puma560", "offset shoulder", "arm6"])
def test_the_same_branches(name):
    there = [package for package in ("eaik", "ssik") if importlib.util.find_spec(package)]
    if not there:
        pytest.skip("neither EAIK nor ssik is installed")
    found = measure_closed_form((PUBLISHED | ARMS)[name], 60, 6)
    assert len(found.beside) == len(there)
    for peer in found.beside:
        assert peer.ours == peer.same > 0
        assert peer.more == 0
