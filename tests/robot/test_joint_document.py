"""docs/joints.md: every function and test that it names exists, and it names every function."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.kinematics.algorithms.joint_functions import TABLE as JOINT

FOLDER = Path(__file__).parent
TEXT = (FOLDER.parents[1] / "docs" / "joints.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| `(test_\w+\.py)::(test_\w+)` \|$", TEXT, flags=re.MULTILINE)


def test_tables_of_the_joint_page_have_rows() -> None:
    lines = [line for line in TEXT.splitlines() if "::test_" in line]
    assert len(ROWS) == len(lines) > 80


@pytest.mark.parametrize("file", sorted({file for _, _, file, _ in ROWS}))
def test_every_test_named_on_the_joint_page_exists(file: str) -> None:
    source = next(FOLDER.parent.rglob(file)).read_text(encoding="utf-8")
    missing = [name for _, _, test_file, name in ROWS if test_file == file and f"def {name}(" not in source]
    assert missing == []


def test_every_function_named_on_the_joint_page_exists() -> None:
    for _, functions, _, _ in ROWS:
        for name in re.findall(r"`([\w.]+)`", functions):
            first, _, last = name.rpartition(".")
            owners = {"Robot": [lw.Robot], "linkwork.joints": [lw.joints], "linkwork": [lw]}.get(first)
            if first == "joints" or name in ("Joint", "check_joint", "ConfigurationWarning", "world_pose"):
                continue  # some types come with the joints' own work
            results = [owner for owner in owners or [lw.Joint, lw.Robot] if hasattr(owner, last)]
            assert results, name


def test_every_function_of_a_joint_is_named_on_the_joint_page() -> None:
    named = {name for _, functions, _, _ in ROWS for name in re.findall(r"`([\w.]+)`", functions)}
    assert {name for name in JOINT if not name.startswith(("off_", "split_wrench_in"))} <= named
