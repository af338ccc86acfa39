"""Errors for missing files of all readers: they name similar files of the folder."""

from __future__ import annotations

import os
import re

import pytest

import linkwork as lw
from linkwork._util.file_access import opened_regular
from linkwork.errors import UnknownNameError
from linkwork.motion import Trajectory
from linkwork.workspace import WorkspaceMap

READERS = {
    "robot.urd": (lw.load, "robot.urdf"),
    "cell.yml": (lw.load_scene, "cell.yaml"),
    "cel.yaml": (lambda path: lw.load("robot.urdf", loops=path), "cell.yaml"),
    "lgo.csv": (Trajectory.load, "log.csv"),
    "rob.srdf": (lambda path: lw.load("arm6").with_srdf_document(path), "robot.srdf"),
    "mpa.npz": (WorkspaceMap.load, "map.npz"),
}


@pytest.mark.light
@pytest.mark.parametrize("missing", [*READERS])
@pytest.mark.parametrize("folder", ["", "models"])
def test_missing_files_are_reported_with_similar_files_of_their_folder(missing, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.makedirs(tmp_path / folder, exist_ok=True)
    for name in ("robot.urdf", "cell.yaml", "log.csv", "robot.srdf", "map.npz"):
        (tmp_path / folder / name).write_text("")
    (tmp_path / "robot.urdf").write_text('<robot name="a"><link name="b"/></robot>')
    read, similar = READERS[missing]
    path = os.path.join(folder, missing)
    with pytest.raises(FileNotFoundError, match=re.escape(missing)) as caught:
        read(path)
    assert repr(os.path.join(folder, similar)) in str(caught.value).partition("did you mean ")[2]


def test_missing_folder_is_reported_and_a_missing_file_alone_has_no_hint(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"there is no folder '.*(models|\.\.\.)'"),
        opened_regular(tmp_path / "models/a"),
    ):
        pass
    (tmp_path / "other.csv").write_text("")
    with pytest.raises(FileNotFoundError, match=r"robot\.urdf") as caught, opened_regular(tmp_path / "robot.urdf"):
        pass
    assert "did you mean" not in str(caught.value) and caught.value.filename == str(tmp_path / "robot.urdf")


def test_name_of_a_robot_without_suffix_is_reported_with_the_file_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crane.urdf").write_text("")
    with pytest.raises(UnknownNameError, match=r"did you mean the file 'crane\.urdf'\?"):
        lw.load("crane")
