"""Pairs of options: each call equals one with fewer options on an edited robot, or has the properties asked for."""

import itertools

import pytest

from limits_and_options import solver_pairs
from limits_and_options.option_pairs import SETTINGS, calls, covering, difference


def test_covering_array_of_options_contains_all_pairs_of_values():
    factors = {"a": [0, 1, 2], "b": [0, 1], "c": [0, 1, 2, 3], "d": [0]}
    rows = covering(factors)
    for (name_1, values_1), (name_2, values_2) in itertools.combinations(factors.items(), 2):
        assert {(row[name_1], row[name_2]) for row in rows} == {*itertools.product(values_1, values_2)}
    assert len(rows) <= 14 and covering({"a": [3, 4]}) == [{"a": 3}, {"a": 4}] and covering({}) == [{}]


@pytest.mark.costly
@pytest.mark.parametrize("setting", SETTINGS)
def test_call_with_options_equals_a_call_with_fewer_options_on_an_edited_robot(setting, drawn):
    wrong = [f"{call}: {error:.1e}" for call in drawn(calls(setting)) if not (error := difference(call)) < 1e-9]
    assert not wrong, "\n".join(wrong)


@pytest.mark.costly
@pytest.mark.parametrize(("solver", "most"), [("simulations", 1e-12), ("inverse_kinematics", 2e-9), ("plans", 1e-6)])
def test_results_of_solvers_satisfy_every_pair_of_options(solver, most, drawn):
    options, error = getattr(solver_pairs, solver)()
    wrong = [f"{pair}: {violation:.1e}" for pair in drawn(options) if not (violation := error(pair)) < most]
    assert not wrong, "\n".join(wrong)
