"""Selection of test cases by a seed: `helpers.rotation`, and the options of the test run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from helpers.examples import examples, load_profile
from helpers.rotation import ROUNDS, SHORT, drawn, is_drawn, selected
from helpers.rotation import test_of as name_of

LENGTHS = (1, SHORT, SHORT + 1, 7, 9, ROUNDS + 1, ROUNDS + 2, ROUNDS + 3, 100)


def chosen(*arguments) -> set[str]:
    return {*selected(*arguments)}


def cases_of(length: int) -> list[str]:
    return [f"tests/test_x.py::test_of_{length}[{i}]" for i in range(length)]


@pytest.mark.parametrize("length", LENGTHS)
def test_rotation_runs_all_cases_within_the_stated_count_of_days(length):
    cases = cases_of(length)
    for first in (0, 5, 738_000):
        runs = [chosen(cases, {}, seed) for seed in range(first, first + ROUNDS)]
        assert set.union(*runs) == set(cases)
        assert all({cases[0], cases[-1]} <= run for run in runs)


@pytest.mark.parametrize("length", LENGTHS)
def test_rotation_draws_no_case_twice_before_all_have_run(length):
    cases = cases_of(length)
    rounds = max(1, min(length - 2, ROUNDS)) if length != 9 else 6
    drawn = [case for seed in range(rounds) for case in chosen(cases, {}, seed) - {cases[0], cases[-1]}]
    assert len(drawn) == len(set(drawn)) or length <= SHORT


@pytest.mark.parametrize("length", LENGTHS)
def test_rotation_selects_few_cases_for_a_daily_run(length):
    for seed in range(ROUNDS):
        n = len(chosen(cases_of(length), {}, seed))
        assert n == length if length <= SHORT else n <= 2 + max(2, -(-length // ROUNDS))


@pytest.mark.parametrize("length", LENGTHS)
def test_each_case_of_a_costly_test_runs_once_in_as_many_days_as_it_has_cases(length):
    cases = cases_of(length)
    rounds = min(length, ROUNDS) if length != 7 else 6
    for first in (0, 5, 738_000):
        runs = [selected(cases, {}, seed, (), {name_of(cases[0])}) for seed in range(first, first + rounds)]
        assert sorted(case for run in runs for case in run) == sorted(cases)
        assert all(set(run.values()) <= {rounds} and len(run) <= -(-length // rounds) for run in runs)
        assert min(map(len, runs)) >= 1


def test_rotation_selects_cases_of_each_test_independently():
    together = [case for length in LENGTHS for case in cases_of(length)]
    assert chosen(together, {}, 3) == set.union(*(chosen(cases_of(length), {}, 3) for length in LENGTHS))


def test_rotation_selects_all_cases_of_a_stated_node_id():
    cases = [f"tests/a.py::{test}[{i}]" for test in ("test_x", "test_xy", "Group::test_z") for i in range(100)]
    for node in ("tests/a.py::test_x", "tests/a.py::Group", "tests/a.py::test_xy[57]"):
        below = {case for case in cases if case.startswith((node + "[", node + "::")) or case == node}
        assert chosen(cases, {}, 0, [node]) == chosen(cases, {}, 0) | below
        assert len(below) in (1, 100)


def test_rotation_draws_values_inside_a_test_like_cases():
    for length in LENGTHS:
        runs = [drawn(range(length), seed, "test_x") for seed in range(ROUNDS)]
        assert all(run == sorted(run) and {0, length - 1} <= set(run) for run in runs)
        assert set().union(*runs) == set(range(length))
        assert length < 40 or max(map(len, runs)) < length / 4


@pytest.mark.parametrize("rounds", [1, 3, 9, ROUNDS])
def test_rotation_draws_all_values_inside_a_rotating_case(rounds):
    cases = {f"tests/test_x.py::test_x[{k}]": rounds for k in range(20)}
    for case in cases:
        runs = [seed // rounds for seed in range(ROUNDS * rounds) if case in selected([], cases, seed)]
        assert len(runs) == ROUNDS and {*range(40)} == {x for run in runs for x in drawn(range(40), run, case)}


def test_slow_test_cases_run_in_turn_on_successive_days():
    cases, slow = cases_of(10), {f"tests/test_x.py::test_large[{k}]": 3 if k < 50 else ROUNDS for k in range(100)}
    for every, slow_tests in ((3, [*slow][:50]), (ROUNDS, [*slow][50:])):
        runs = [chosen(cases, slow, seed) & {*slow_tests} for seed in range(every)]
        assert set.union(*runs) == {*slow_tests} and sum(map(len, runs)) == len(slow_tests)
    assert {*slow} <= chosen(cases, slow, 0, ["tests/test_x.py::test_large"])


@pytest.mark.parametrize("are_costly", [False, True])
def test_rotation_runs_each_case_on_a_working_day_within_four_weeks(are_costly):
    cases = [case for length in range(1, 3 * ROUNDS) for case in cases_of(length)]
    costly = {name_of(case) for case in cases if are_costly}
    slow = {f"tests/test_x.py::test_large_{every}[{k}]": every for every in (3, 5, 9, ROUNDS) for k in range(100)}
    for first in range(7):  # the day of the week of the first of 28 days
        days = [day for day in range(738_000, 738_028) if (day - first) % 7 < 5]
        assert set.union(*(chosen(cases, slow, day, (), costly) for day in days)) == {*cases, *slow}


def test_each_slow_test_runs_on_a_working_day_within_four_weeks():
    files = Path(__file__).parent.rglob("*.py")
    marks = {(int(n), path.name) for path in files for n in re.findall(r"slow\(every=(\d+)\)", path.read_text("utf-8"))}
    assert len(marks) > 100
    for first in range(7):  # the day of the week of the first of 28 days
        days = [day for day in range(28) if (day + first) % 7 < 5]
        assert [mark for mark in marks if len({day % mark[0] for day in days}) < mark[0]] == []


def test_rotation_draws_single_cases_once_per_period():
    cases = cases_of(1000)
    assert all(sum(is_drawn(case, seed, 10) for seed in range(70, 80)) == 1 for case in cases)
    assert all(50 < sum(is_drawn(case, seed, 10) for case in cases) < 150 for seed in range(10))


def test_daily_test_run_draws_a_share_of_the_random_examples():
    is_whole = settings().max_examples == 100
    try:
        for whole, expected in ((True, [100, 3, 60, 1000]), (False, [20, 3, 12, 200])):
            load_profile(whole=whole)
            assert [settings().max_examples, *map(examples, (3, 60, 1000))] == expected
    finally:
        load_profile(whole=is_whole)


# -- runs of pytest

TESTS = """
import pytest

@pytest.mark.parametrize("number", range(40))
def test_numbers(number):
    pass

@pytest.mark.slow
def test_large():
    pass

@pytest.mark.costly
@pytest.mark.parametrize("number", range(3))
def test_costly_refused(number):
    pass

@pytest.mark.light
@pytest.mark.parametrize("number", range(9))
def test_light(number):
    pass

@pytest.mark.parametrize("number", range(9))
def test_values_are_refused(number):
    pass
"""
VALUES = [f"test_cases.py::test_numbers[{number}]" for number in range(40)]
LARGE = "test_cases.py::test_large"
COSTLY = [f"test_cases.py::test_costly_refused[{number}]" for number in range(3)]
LIGHT = {f"test_cases.py::test_{name}[{number}]" for name in ("light", "values_are_refused") for number in range(9)}


def run(folder: Path, *arguments: str) -> tuple[str, set[str]]:
    """Run the tests above with the options of this run, and return the output and the node ids that passed."""
    (folder / "test_cases.py").write_text(TESTS, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  slow:\n  light:\n  costly:\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-rA", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return result.stdout, set(re.findall(r"^PASSED (\S+)", result.stdout, re.MULTILINE))


@pytest.mark.slow(every=3)
def test_parallel_test_processes_run_the_same_selection_of_cases(tmp_path):
    output, passed = run(tmp_path, "-n", "2", "--rotate=3")
    assert "--rotate=3" in output
    assert passed == LIGHT | chosen(VALUES + COSTLY, {LARGE: ROUNDS}, 3, (), {"test_cases.py::test_costly_refused"})
    assert len(passed & {*COSTLY}) == 1


@pytest.mark.slow(every=3)
def test_pytest_option_all_runs_all_cases_and_slow_tests(tmp_path):
    output, passed = run(tmp_path, "--all")
    assert "--rotate" not in output
    assert passed == {*VALUES, *COSTLY, LARGE, *LIGHT}


@pytest.mark.slow(every=3)
def test_pytest_runs_all_cases_of_a_node_id_on_the_command_line(tmp_path):
    case_ = next(case for case in VALUES if case not in chosen(VALUES, {LARGE: ROUNDS}, 3))
    assert run(tmp_path, "--rotate=3", case_, LARGE)[1] == {case_, LARGE}
    assert run(tmp_path, "--rotate=3", str(tmp_path / "test_cases.py::test_numbers"))[1] == {*VALUES}
