"""Trees and folders that travel between the processes that read an untrusted file, without another process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork._util.file_access import MODEL
from linkwork._util.reader_process import Answer
from linkwork.errors import Issue
from linkwork.robot.construction.isolated_loading import _issue, _plain_folders, _with_polytopes, _with_remedy
from linkwork.robot.construction.isolated_task import _without_polytopes
from linkwork.shapes import Box, Mesh, Polytope, Sphere


def test_polytopes_travel_as_arrays_and_other_shapes_in_the_text() -> None:
    rng = np.random.default_rng(2)
    shared, alone = Polytope(rng.normal(size=(7, 3))), Polytope(rng.normal(size=(5, 3)), 0.02)
    robot = lw.load("double_pendulum").with_collisions("upper_rod", shared, Sphere(0.1), Mesh("own.stl"))
    robot = robot.with_collisions("lower_rod", alone, shared)
    tree, arrays, excesses = _without_polytopes(robot.tree)
    shapes = [x.shape for frame in tree.frames for x in frame.collisions if not isinstance(x.shape, Box)]
    assert [type(shape) for shape in shapes] == [Mesh, Sphere, Mesh, Mesh, Mesh] and shapes[0] == shapes[4]
    assert len(arrays) == 2 and excesses == [0.0, 0.02] and shapes[2] == Mesh("own.stl")
    back = _with_polytopes(tree, Answer({"overestimates": excesses}, arrays))
    assert back == robot.tree
    first, _, last = (x.shape for frame in back.frames for x in frame.collisions if isinstance(x.shape, Polytope))
    assert first is last
    plain = lw.load("double_pendulum").tree
    assert _with_polytopes(plain, Answer({"overestimates": []}, {})) is plain


def test_issues_of_the_reading_process_keep_their_remedy_or_name_the_memory_option() -> None:
    entry = ("CODE", "a message", "a.usd", 3, None, "/r", None)
    issue = _issue(entry)
    assert (issue.code, issue.where.file, issue.where.line, issue.where.column, issue.hint) == (
        *("CODE", "a.usd", 3, None),
        None,
    )
    assert _with_remedy(issue, MODEL) is issue
    for message in ("cannot allocate memory", "unknown exception"):
        assert "max_memory" in str(_with_remedy(Issue("C", message), MODEL).hint)
        assert _with_remedy(Issue("C", message, hint="another"), MODEL).hint == "another"


def test_package_folders_travel_as_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm").mkdir()
    inner = str(tmp_path / "arm")
    for folders, expected in (
        (None, None),
        ("arm", [inner]),
        (["arm"], [inner]),
        ({"arm_pkg": "arm"}, {"arm_pkg": inner}),
    ):
        assert _plain_folders(folders) == expected
