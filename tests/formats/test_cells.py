"""Cells: files that join robots of several files."""

import json
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.formats import find_format
from linkwork.robot.construction import cell_file
from robot.test_joining import GRIPPER

CELL = {
    "cell": 1,
    "name": "workcell",
    "robots": [
        {"name": "left", "file": "arm6", "base": {"xyz": [0, 0.4, 0.8], "rpy": [0, 0, 1.5]}},
        {
            "name": "gripper",
            "file": "parts/gripper.json",
            "at": "left_tool",
            "pose": {"xyz": [0, 0, 0.1]},
            "prefix": "",
        },
        {"name": "right", "file": "arm7_gripper", "mimic": "coupled"},
        {"name": "linkage", "file": "parts/fourbar.urdf", "loops": "parts/loops.json", "base": {"xyz": [1, 0, 0]}},
    ],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    parts = tmp_path / "parts"
    parts.mkdir()
    GRIPPER.save(parts / "gripper.json")
    lw.load("fourbar").to_urdf(parts / "fourbar.urdf", loops=parts / "loops.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_robots_of_a_cell_file_equal_robots_joined_in_python(folder):
    left = lw.load("arm6", base=lw.pose((0, 0.4, 0.8), rpy=(0, 0, 1.5)))
    right, linkage = lw.load("arm7_gripper", mimic="coupled"), lw.load("fourbar", base=(1, 0, 0))
    alone = lw.join_robots({"left": left}, name="workcell").with_mounted(GRIPPER, "left_tool", (0, 0, 0.1))
    Path("cell.json").write_text(json.dumps(CELL, indent=3))
    Path("cell.yaml").write_text(json.dumps(CELL))  # JSON is YAML
    cell = lw.load("cell.json")
    assert cell.q_names[:7] == alone.q_names and cell.pose({"left_elbow": 0.3}, "finger").shape == (4, 4)
    assert [x.name for x in cell.actuators] == ["squeeze"] and [x.name for x in cell.constraints] == ["linkage_pin"]
    assert cell.links[:9] == alone.links[:9] and cell.nq == 7 + right.nq + linkage.nq
    for options in ({}, {"trusted": False}, {"format": "cell"}):
        assert lw.load("cell.yaml", **options) == cell
    assert not lw.load("cell.json", trusted=False).tree.trusted
    assert lw.load("cell.json", gravity=(0, 0, 1)).gravity.tolist() == [0, 0, 1]
    assert lw.load("cell.json", package_dirs=[folder], base=None) == cell
    assert find_format("cell.json").name == "cell" and find_format("parts/gripper.json").name == "linkwork"


WRONG = (
    ({"cell": 2}, "VERSION", "expected version 1"),
    ({"robots": []}, "DATA_TYPE", "expected a list of robots"),
    ({"robots": ["arm6"]}, "DATA_TYPE", "expected an object"),
    ({"robot": []}, "UNKNOWN_KEY", "unknown key 'robot'"),
    ({"robots": [{"file": "arm6"}]}, "KEY_MISSING", "'name' is missing"),
    ({"robots": [{"name": "a", "file": "arm66"}]}, "FILE_MISSING", "did you mean 'arm6'"),
    ({"robots": [{"name": "a", "file": "arm6", "position": 1}]}, "UNKNOWN_KEY", "unknown key 'position'"),
    ({"robots": [{"name": "a", "file": "arm6", "pose": {}}]}, "KEY_MISSING", "a pose without at"),
    ({"robots": [{"name": "a", "file": "arm6", "at": "tool", "base": {}}]}, "DUPLICATE_ELEMENT", "two poses"),
    ({"robots": [{"name": "a", "file": "arm6"}] * 2}, "DUPLICATE_NAME", "two robots are named 'a'"),
    ({"robots": [{"name": "a", "file": "arm6", "at": "b_tool"}]}, "CELL", "no frame named 'b_tool'"),
    ({"robots": [{"name": "a", "file": "arm6", "floating_base": True, "base": {}}]}, "CELL", "no fixed base"),
    ({"robots": [{"name": "a", "file": "arm6", "mimic": "some"}]}, "CELL", "mimic: expected"),
    ({"robots": [{"name": "a", "file": "arm6", "prefix": 1}]}, "BAD_NAME", "prefix: expected a string"),
    ({"robots": [{"name": "a", "file": "cell.json"}]}, "CELL", "another cell"),
    ({"$schema": 1}, "BAD_NAME", "schema: expected a name"),
    ({"robots": [{"name": "a", "file": "arm6", "base": {"quaternion_xyzw": [1, 1, 0, 0]}}]}, "QUAT_NORM", "x, y, z, w"),
)


@pytest.mark.parametrize(("change", "code", "message"), WRONG)
def test_errors_of_a_cell_file_name_the_line_and_the_robot(change, code, message, folder):
    Path("cell.json").write_text(json.dumps({**CELL, **change}, indent=1))
    with pytest.raises(ModelError, match=message) as caught:
        lw.load("cell.json")
    issue = next(x for x in caught.value.issues if x.code == code)
    assert issue.where.file == "cell.json" and issue.where.line


def test_cell_file_with_the_wrong_first_key_gives_an_explaining_error(folder):
    robots = [{"name": "a", "file": "arm6"}]
    Path("cell.json").write_text(json.dumps({"name": "work", "cell": 1, "robots": robots}))
    with pytest.raises(ModelError, match=r"a cell has the first key .*format=.cell.") as caught:
        lw.load("cell.json")
    assert caught.value.issues[0].code == "WRONG_FORMAT"
    assert lw.load("cell.json", format="cell").name == "work"
    Path("cell.json").write_text(
        json.dumps({"$schema": "docs/cell.schema.json", "cell": 1, "robots": robots}, indent=2)
    )
    assert lw.load("cell.json").nq == 6
    Path("cell.json").write_text(json.dumps({"cell": 1, "robots": robots}), encoding="utf-8-sig")
    assert lw.load("cell.json").nq == 6


def test_untrusted_cell_file_opens_no_file_outside_its_folder(folder):
    Path("elsewhere.json").write_text(Path("parts/gripper.json").read_text())
    document = {"cell": 1, "robots": [{"name": "a", "file": "../elsewhere.json"}]}
    for name in ("cell.json", "cell.yaml"):
        path = folder / "parts" / name
        path.write_text(json.dumps(document))
        assert lw.load(path).nq == 1
        with pytest.raises(ModelError, match="leads out of the folders"):
            lw.load(path, trusted=False)


def test_schema_of_cell_files_has_the_keys_of_the_reader():
    schema = json.loads((Path(__file__).parents[2] / "docs" / "cell.schema.json").read_text(encoding="utf-8"))
    assert set(schema["properties"]) == set(cell_file.KEYS)
    assert set(schema["$defs"]["robot"]["properties"]) == set(cell_file.ROBOT_KEYS)
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(CELL, schema)
