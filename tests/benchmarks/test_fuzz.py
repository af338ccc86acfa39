"""The fuzzers, in a short form, what they found so far, and that they would notice what is wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks.finds import Find
from benchmarks.fuzz import fuzz, main

from benchmarks import fuzz_reader
from linkwork.bridge.arguments import Asked
from linkwork.errors import Findings
from linkwork.model import build

FOUND = sorted((Path(__file__).parents[1] / "formats" / "found").glob("*.urdf"))


def test_reading_random_texts() -> None:
    tally = fuzz("reader", 5, range(500), 0.0)
    assert tally["cases"] == 500 and tally["finds"] == 0
    assert tally["robots"] > 40 and tally["error XML_SYNTAX"] > 40
    assert len([name for name in tally if name.startswith("error ")]) > 12
    assert any(name.startswith("repair ") for name in tally)


def test_calling_with_random_arguments() -> None:
    tally = fuzz("arguments", 5, range(250), 0.0)
    assert tally["cases"] == 250 and tally["finds"] == 0
    assert tally["computed"] > 100 and tally["refused"] > 50 and tally["expected: the same"] > 100


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.stem)
def test_texts_that_were_read_wrongly_once(file: Path) -> None:
    for number in range(12):
        rng = np.random.default_rng(number)
        fuzz_reader.check(file.read_bytes(), fuzz_reader.options(rng), rng, Counter())


def test_a_case_repeats() -> None:
    texts = [fuzz_reader.text(np.random.default_rng([3, case])) for case in range(20)]
    assert texts == [fuzz_reader.text(np.random.default_rng([3, case])) for case in range(20)]
    assert len({str(text) for text in texts}) == 20


def test_what_is_read_wrongly_is_noticed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def forgetful(self: Findings, issue: object) -> None:
        """What would be a warning is neither kept nor told, nor an error where strict."""
        if self.strict:
            self.error(issue)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Findings, "warn", forgetful)
        with pytest.raises(Find, match=r"seed 5, case \d+: strict refuses repairs alone"):
            fuzz("reader", 5, range(400), 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(build, "check_structure", lambda *arguments: 1 / 0)
        assert main(["reader", "--count", "40", "--seed", "5"]) == 1
        assert "FIND: seed 5, case" in (told := capsys.readouterr().err) and "reading raises ZeroDivisionError" in told
        assert fuzz("reader", 5, range(40), 0.0, go_on=True)["finds"] > 5
    assert main(["reader", "--count", "3", "--seed", "5"]) == 0


def test_wrong_answers_to_arguments_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Asked, "refuse_not_finite", lambda *arguments: None)
    with pytest.raises(Find, match="a NaN is refused"):
        fuzz("arguments", 5, range(2000), 0.0)
