"""Fuzzers in a short form: earlier failures stay mended, and wrong results are detected."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks.fuzz import callable_forms, callable_subjects, callable_values
from benchmarks.fuzz import callables as fuzz_callables
from benchmarks.fuzz import reader as fuzz_reader
from benchmarks.fuzz import sdf as fuzz_sdf
from benchmarks.fuzz.__main__ import fuzz, main
from benchmarks.fuzz.failures import Find
from benchmarks.fuzz.files import FuzzOutcome, fuzz_files
from benchmarks.fuzz.required_values import REQUIRED

from linkwork.errors import Findings
from linkwork.kernels.array_arguments import ArgumentReader
from linkwork.model import tree_builder as build

FILES = sorted((Path(__file__).parents[1] / "formats" / "files_that_broke_readers").iterdir())


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("program", ["reader", "sdf"])
def test_random_texts_are_read_or_refused_by_every_reader(program: str) -> None:
    tally = fuzz(program, 5, range(500), 0.0)
    assert tally["cases"] == 500 and tally["finds"] == 0
    assert tally["robots"] > 40 and tally["error XML_SYNTAX"] > 40
    assert len([name for name in tally if name.startswith("error ")]) > 12
    assert any(name.startswith("repair ") for name in tally)


@pytest.mark.slow(every=9)
def test_file_fuzzer_reads_mutated_files_in_separate_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = Path(__file__).parents[1] / "formats" / "saved" / "version_1.json"
    assert main(["files", str(saved), "--count", "30", "--seed", "5"]) == 0
    assert "30 cases, 0 bad" in capsys.readouterr().out
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(ValueError, match=r"a\.json: expected the file of a robot, got WRONG_FORMAT"):
        fuzz_files([tmp_path / "a.json"], range(1), 5)
    result = FuzzOutcome()
    for case, seconds, megabytes in ((0, 0.1, 100.0), (1, 3.0, 100.0), (2, 0.1, 600.0)):
        result.add(case, ("robot", seconds, megabytes), saved, "")
    result.add(3, ("bad: ZeroDivisionError", 0.1, 100.0), saved, "")
    assert [*result.bad] == [1, 2, 3] and result.lines()[-1].startswith("4 cases, 3 bad; slowest 3.00 s, largest 600")
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["files"])


@pytest.mark.slow(every=9)
def test_random_arguments_of_arrays_and_scalars_are_accepted_or_refused() -> None:
    tally = fuzz("arguments", 5, range(250), 0.0)
    assert tally["cases"] == 250 and tally["finds"] == 0
    assert tally["computed"] > 100 and tally["refused"] > 50 and tally["expected: the same"] > 100


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_texts_that_once_crashed_a_reader_are_read_or_refused(file: Path) -> None:
    for number in range(12):
        rng = np.random.default_rng(number)
        if file.suffix == ".sdf":
            fuzz_reader.check(file.read_bytes(), fuzz_sdf.options(rng), rng, Counter(), fuzz_sdf.read)
        else:
            fuzz_reader.check(file.read_bytes(), fuzz_reader.options(rng), rng, Counter())


def test_fuzzers_generate_equal_cases_from_equal_seeds() -> None:
    texts = [fuzz_reader.text(np.random.default_rng([3, case])) for case in range(20)]
    assert texts == [fuzz_reader.text(np.random.default_rng([3, case])) for case in range(20)]
    assert len({str(text) for text in texts}) == 20


def test_reader_fuzzer_detects_a_reader_that_drops_issues(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def forgetful(self: Findings, issue: object) -> None:
        """Drop an issue: neither a warning nor an error if strict."""
        if self.strict:
            self.error(issue)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Findings, "warn", forgetful)
        with pytest.raises(Find, match=r"seed 5, case \d+: strict refuses repairs alone"):
            fuzz("reader", 5, range(400), 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(build, "check_structure", lambda *arguments: 1 / 0)
        assert main(["reader", "--count", "40", "--seed", "5"]) == 1
        assert (
            "FIND: seed 5, case" in (printed := capsys.readouterr().err)
            and "reading raises ZeroDivisionError" in printed
        )
        assert fuzz("reader", 5, range(40), 0.0, go_on=True)["finds"] > 5
    assert main(["reader", "--count", "3", "--seed", "5"]) == 0


@pytest.mark.slow(every=9)
def test_argument_fuzzer_detects_a_function_that_accepts_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ArgumentReader, "refuse_not_finite", lambda *arguments, **named: None)
    with pytest.raises(Find, match="a NaN is refused"):
        fuzz("arguments", 5, range(2000), 0.0)


@pytest.mark.slow(every=9)
def test_public_functions_refuse_invalid_values() -> None:
    """Sample of `python -m benchmarks.fuzz.callables`: its functions that are quick to prepare."""
    plain = re.compile(r"[A-Z][a-zA-Z]*|[a-z_]+|(Scene|Trajectory|Joint|Link|Kernel|CartesianPath)\.\w+")
    slow = re.compile(r"hold|track|time_optimal|inertias|placements|exciting_trajectory|Roadmap|Controller|VectorEnv.*")
    pairs = [(s, a) for s, a in fuzz_callables.pairs() if plain.fullmatch(s.name) and not slow.fullmatch(s.name)]
    assert len({s.name for s, _ in pairs}) > 250
    faults, tally = [], Counter[str]()
    for number in range(600):
        subject, argument, kind = fuzz_callables.drawn(7, number, pairs)
        result = fuzz_callables.outcome(subject, argument, kind)
        tally[result["class"]] += 1
        if result["class"] in fuzz_callables.FAULTS:
            faults.append(f"{subject.name}({argument} = {kind}): {result}")
    assert not faults, "\n".join(faults)
    assert tally["refused"] > 400 and tally["accepted"] > 20


def test_fuzzer_matches_an_error_message_to_the_exact_function_and_argument() -> None:
    named, called = fuzz_callables.names_argument, fuzz_callables.names_function
    for text, name, expected in (
        ("pose: frame: no frame named 'x'", "frame", True),
        ("pose: no frame named 'x'", "frame", False),
        ("bounding_box: expected points (n, 3)", "points", False),
        ("Link: expected a name, got 3", "name", False),
        ("Link: name: expected a string", "name", True),
        ("f: a[0] is NaN", "a", True),
        ("f: x: expected a number", "a", False),
        ("f: lower and upper: expected as many", "upper", True),
        ("f: margin [m]: expected a number", "margin", True),
    ):
        assert named(text, name) == expected, (text, name)
    assert called("AlignTask: task 'ray': weight: expected a number", ("AlignTask",))
    assert not called("task 'ray': weight: expected an AlignTask", ("AlignTask",))
    assert not called("joint 'elbow': child: expected a link", ("link_torque",))


@pytest.mark.slow(every=5)
def test_equivalent_forms_of_valid_arguments_are_accepted_by_public_functions() -> None:
    """Sample of `python -m benchmarks.fuzz.callable_forms`: names in arrays, integers and truth values of NumPy."""
    quick = ("Belt", "Encoder", "Event", "PointCloud", "PoseTask", "ProfileFunction", "Scene.only", "ClearanceTask")
    chosen = [s for s in callable_subjects.subjects() if s.name in (*quick, "Robot.q_index", "Robot.hybrid_dynamics")]
    assert len(chosen) == 10
    refused = [(s.name, *results) for s in chosen for results in callable_forms.tried_forms(s) if results[2]]
    assert not refused, refused
    assert {*callable_forms.forms_of(["a"])} == {"tuple", "list", "array of names", "keys"}
    assert {*callable_forms.forms_of(2.0)} == {"np.float64", "int", "np.int64", "np.float32"}


def test_callable_fuzzer_covers_every_public_function() -> None:
    """All published callables are subjects, except for listed reasons."""
    names = {subject.name for subject in callable_subjects.subjects()}
    assert len(names) > 550
    assert {
        "compile",
        "load",
        "pose",
        "Robot.plan",
        "Robot.simulate",
        "Simulator.step",
        "PoseTask",
        "Gear",
        "solve",
    } <= names
    assert all(isinstance(reason, str) for reason in callable_subjects.LEFT_OUT.values())


def test_callable_fuzzer_has_valid_values_for_exactly_the_required_parameters() -> None:
    taken, missing = set[str](), []
    for subject in callable_subjects.subjects():
        for name, p in subject.signature.parameters.items():
            stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
            taken |= {f"{stars}{name}", f"{subject.name}.{stars}{name}"}
            needed = p.default is p.empty and not stars
            if (needed or name in REQUIRED.get(subject.name, ())) and callable_values.value_of(
                subject.name, name
            ) is None:
                missing.append(f"{subject.name}.{name}")
    assert not missing
    assert not {*callable_values.known_values()} - taken


def test_callable_fuzzer_detects_functions_that_accept_wrong_values(monkeypatch: pytest.MonkeyPatch) -> None:
    def pose(xyz: object, **more: object) -> object:
        if isinstance(xyz, dict):
            raise AttributeError("no")
        return np.full(3, np.nan) if isinstance(xyz, int) else np.zeros(3) + xyz  # type: ignore[operator]

    subject = next(s for s in callable_subjects.subjects() if s.name == "pose")
    bad = dataclasses.replace(subject, make=lambda: pose)
    results = {kind: fuzz_callables.outcome(bad, "xyz", kind)["class"] for kind in ("None", "0", "text", "dict", "inf")}
    assert results == {"None": "deep", "0": "silent NaN", "text": "deep", "dict": "wrong class", "inf": "accepted"}
