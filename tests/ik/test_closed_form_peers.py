"""Closed-form branches compared with other libraries, if these are installed."""

import importlib.util

import pytest
from benchmarks.ik.closed_form import PUBLISHED, measure_closed_form
from benchmarks.ik.robots import ARMS


@pytest.mark.parametrize("name", ["puma560", "offset shoulder", "arm6"])
def test_closed_form_branches_equal_those_of_other_libraries(name):
    packages = [package for package in ("eaik", "ssik") if importlib.util.find_spec(package)]
    if not packages:
        pytest.skip("neither EAIK nor ssik is installed")
    result = measure_closed_form((PUBLISHED | ARMS)[name], 60, 6)
    assert len(result.beside) == len(packages)
    for peer in result.beside:
        assert peer.ours == peer.same > 0
        assert peer.more == 0
