"""The example scripts run, and their results agree with references."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "examples"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py"))
LAST = ("trot.py", "whole_body.py")  # they take seconds: the last case of a list would run always


@pytest.mark.parametrize(
    "script", [pytest.param(x, marks=pytest.mark.slow(every=9)) if x in LAST else x for x in SCRIPTS]
)
def test_example_scripts_run_and_print_up_to_twenty_lines(script, capsys):
    runpy.run_path(str(FOLDER / script), run_name="__main__")
    assert 1 <= capsys.readouterr().out.count("\n") <= 20  # a line, or a table


def test_example_scripts_are_short_and_listed():
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\]\((\w+\.py)\)", index)) == SCRIPTS
    for script in SCRIPTS:
        text = (FOLDER / script).read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 80, script
        assert "\n    assert " in text, script
