"""Weak mutation of a small file: which changes made no difference in some calls."""

import builtins

import pytest

pytest.importorskip("coverage")

from tools import weak_mutation

FILE = "src/linkwork/a.py"
SOURCE = b"""
_SMALL = 1e-6

def f(x, n):
    if n < 2:
        raise ValueError("n")
    if x > _SMALL and n <= 10:
        return 1.0
    return 2.0 if x + 1 > 0.75 else 3.0
"""


def differences_left_by(calls, monkeypatch):
    """Return the kinds and states of the mutants of `SOURCE` that have no other value in some calls, by line."""
    for name in ("sites", "operators", "flags", "counts"):
        monkeypatch.setattr(weak_mutation, f"_{name}", [])
    for function in (weak_mutation._compared, weak_mutation._is_true):
        monkeypatch.setattr(builtins, weak_mutation._name(function), function, raising=False)
    variables = {}
    exec(weak_mutation.recorded(FILE, SOURCE, FILE), variables)
    for x, n in calls:
        try:
            variables["f"](x, n)
        except ValueError:
            assert n < 2
    flags = dict(zip(weak_mutation._sites, weak_mutation._flags, strict=True))
    return {(x.line, x.kind, state) for x, state in weak_mutation.undistinguished(FILE, SOURCE, flags)}


def test_weak_mutation_lists_limits_guards_and_logic_that_calls_do_not_distinguish(monkeypatch):
    few = differences_left_by([(1.0, 5)], monkeypatch)
    assert few == {
        (2, "tolerance", "equal"), (5, "limit", "equal"), (5, "constant", "equal"), (5, "guard", "equal"),
        (7, "limit", "equal"), (7, "logic", "equal"), (7, "constant", "equal"),
        (9, "limit", "not run"), (9, "constant", "not run"), (9, "guard", "not run"),
    }  # fmt: skip
    many = [(5e-6, 5), (1.0, 2), (1.0, 1), (1.0, 10), (1.0, 11), (0.0, 5), (-0.25, 3), (-0.5, 3)]
    assert not differences_left_by(many, monkeypatch)


def test_recorded_comparisons_of_arrays_and_other_types_have_their_own_values(monkeypatch):
    differences_left_by([], monkeypatch)
    variables = {}
    exec(weak_mutation.recorded(FILE, b"def f(a, b):\n    return a < b\n", FILE), variables)
    less = variables["f"]
    assert less([1, 2], [1, 3]) is True and less({1}, {1, 2}) is True
    with pytest.raises(TypeError, match="not supported"):
        less("a", 1)
