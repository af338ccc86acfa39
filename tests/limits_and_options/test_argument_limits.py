"""Both sides of every limit of the arguments of public callables, as `tests/golden/argument_limits.txt` has them."""

import itertools
from pathlib import Path

import pytest

from limits_and_options.argument_limits import (
    Limits,
    Trials,
    arguments,
    jumps,
    measured,
    names_argument,
    read,
    trial_values,
    violations,
)

PARTS = 12  # of all arguments, of which a run takes one
GOLDEN = Path(__file__).parents[1] / "golden" / "argument_limits.txt"
REFUSALS = GOLDEN.with_name("refusals.txt")  # for each line that refuses an argument, an argument and a value


def recorded() -> dict[str, Limits]:
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    return {name: read(text) for name, _, text in (line.partition(": ") for line in lines)}


def write_anew() -> None:
    """Measure the arguments whose line is missing or wrong."""
    limits = recorded()
    lines = {}
    for subject, argument in arguments():
        name = f"{subject.name}.{argument}"
        limit = limits.get(name, Limits())
        lines[name] = measured(subject, argument) if violations(subject, argument, limit) else str(limit)
    GOLDEN.write_text(
        "\n".join(sorted(f"{name}: {text}" for name, text in lines.items() if text)) + "\n", encoding="utf-8"
    )


INDIRECT = 31  # refusals by readers of files and code of users, whose errors have other names


def write_refusals(limits: dict[str, Limits]) -> None:
    """Record for each line that refuses an argument, with the lines that call it, the first refused value."""
    refusals: dict[str, str] = {}
    for subject, argument in arguments():
        name, trials = f"{subject.name}.{argument}", Trials(subject, argument)
        for kind, value, is_in in trial_values(subject, argument, limits.get(name, Limits())):
            if not is_in and not trials.accepts(value):
                refusals.setdefault(trials.lines, f"{name}: {kind}")
    REFUSALS.write_text("\n".join(sorted({*refusals.values()})) + "\n", encoding="utf-8")


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Files that calls write are in a folder of the test."""
    monkeypatch.chdir(tmp_path)


def test_arguments_are_refused_beyond_their_recorded_limits_and_accepted_up_to_them(drawn, update_golden):
    if update_golden:
        write_anew()
    limits = recorded()
    known = {f"{subject.name}.{argument}" for subject, argument in arguments()}
    assert known >= limits.keys(), f"no such arguments: {limits.keys() - known}"
    wrong = []
    parts = [arguments()[k::PARTS] for k in range(PARTS)]
    for subject, argument in itertools.chain(*drawn([[], *parts, []])):  # the first and the last are in each run
        limit = limits.get(f"{subject.name}.{argument}", Limits())
        wrong += violations(subject, argument, limit) or jumps(subject, argument, limit)
    assert not wrong, "\n".join(wrong)


def test_each_source_line_that_refuses_an_argument_refuses_a_recorded_value(update_golden):
    limits = recorded()
    if update_golden:
        write_refusals(limits)
    subjects, wrong = {f"{subject.name}.{argument}": (subject, argument) for subject, argument in arguments()}, []
    indirect = []
    values, name_of_values = {}, ""
    for line in REFUSALS.read_text(encoding="utf-8").splitlines():
        name, _, kind = line.partition(": ")
        if name != name_of_values:
            tried, name_of_values = trial_values(*subjects[name], limits.get(name, Limits())), name
            values = {x: value for x, value, is_in in tried if not is_in}
        trials = Trials(*subjects[name])
        wrong += [line] if kind not in values or trials.accepts(values[kind]) else []
        if trials.kind == "refused" and not names_argument(trials.text, name):
            wrong.append(f"{line}: expected an error that names the function and the argument, got {trials.text}")
        elif trials.kind not in ("", "refused"):
            indirect.append(f"{line}: {trials.text}")
    assert not wrong, wrong
    assert len(indirect) <= INDIRECT, "\n".join(indirect)


@pytest.mark.parametrize(
    "text", ["", "None", "number (0, inf) [-2.5, -1]; array (2, 3) [0, inf); longer, True", "integer [1, 5]"]
)
def test_recorded_argument_limits_are_read_as_they_are_written(text):
    assert str(read(text)) == text
