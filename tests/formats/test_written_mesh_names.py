"""Names of mesh files in written robots: relative to the new file, found there, also after the project has moved."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import linkwork as lw
from linkwork import shapes
from linkwork.formats.description import resource_paths

WRITERS = {"json": lw.Robot.save, "urdf": lw.Robot.to_urdf, "sdf": lw.Robot.to_sdf}


def tetrahedron(size: float) -> str:
    """Return a mesh in the OBJ format."""
    vertices = [(0, 0, 0), (size, 0, 0), (0, size, 0), (0, 0, size)]
    faces = [(1, 3, 2), (1, 2, 4), (2, 3, 4), (1, 4, 3)]
    return "".join(f"v {x} {y} {z}\n" for x, y, z in vertices) + "".join(f"f {a} {b} {c}\n" for a, b, c in faces)


def project(root: Path) -> dict[str, lw.Robot]:
    """Write a project with two robots, each with a mesh of the same name beside it, and return the robots."""
    robots = {}
    (root / "written" / "deep").mkdir(parents=True)
    (root / "pyproject.toml").write_text("[project]\n")
    for name, size in (("arm", 0.1), ("hand", 0.2)):
        (root / name / "meshes").mkdir(parents=True)
        (root / name / "meshes" / "part a.obj").write_text(tetrahedron(size))
        drawn = '<geometry><mesh filename="meshes/part a.obj" scale="1 2 3"/></geometry>'
        link = f"<link name='{name}'><visual>{drawn}</visual><collision>{drawn}</collision></link>"
        (root / name / f"{name}.urdf").write_text(f"<robot name='{name}'>{link}</robot>")
        robots[name] = lw.load(root / name / f"{name}.urdf")
    entries = [{"name": name, "file": f"../{name}/{name}.urdf"} for name in robots]
    (root / "written" / "cell.json").write_text(json.dumps({"cell": 1, "name": "both", "robots": entries}))
    return robots


def mesh_texts(robot: lw.Robot) -> list[str]:
    """Return the texts of the mesh files of all links that have one, as a reader of the robot's own file finds them."""
    search = resource_paths(robot.tree.files)
    uris = [g.shape.uri for f in robot.tree.frames for g in f.visuals if isinstance(g.shape, shapes.Mesh)]
    return [Path(search.find(uri)).read_text() for uri in uris]


@pytest.mark.costly
@pytest.mark.parametrize("ending", [*WRITERS])
def test_robot_written_to_another_folder_finds_its_meshes_also_after_a_move_of_the_project(
    ending: str, tmp_path: Path
) -> None:
    robots = project(tmp_path / "project")
    joined = lw.join_robots(robots, name="both")
    cell = lw.load(tmp_path / "project" / "written" / "cell.json")
    arm, hand = tetrahedron(0.1), tetrahedron(0.2)
    for robot, texts in ((robots["arm"], [arm]), (joined, [arm, hand]), (cell, [arm, hand])):
        for folder in (".", "written", "written/deep", "arm", "hand/meshes"):
            path = tmp_path / "project" / folder / f"{robot.name}_again.{ending}"
            report = WRITERS[ending](robot, path)
            assert report is None or not any("mesh" in issue.message for issue in report.warnings)
            assert mesh_texts(lw.load(path)) == texts
            for written in lw.load(path).tree.frames:
                for geometry in (*written.visuals, *written.collisions):
                    assert not os.path.isabs(geometry.shape.uri) and geometry.shape.scale == (1.0, 2.0, 3.0)
    shutil.move(tmp_path / "project", tmp_path / "elsewhere")
    for path in (tmp_path / "elsewhere").rglob(f"*_again.{ending}"):
        assert mesh_texts(lw.load(path)) == ([arm] if "arm_again" in path.name else [arm, hand])


def test_written_mesh_names_that_need_no_change_stay(tmp_path: Path) -> None:
    robot = project(tmp_path / "project")["arm"]
    robot.save(tmp_path / "project" / "arm" / "again.json")
    assert lw.load(tmp_path / "project" / "arm" / "again.json") == robot
    (tmp_path / "project" / "arm" / "meshes" / "part a.obj").unlink()
    robot.save(tmp_path / "project" / "hand" / "again.json")  # has a mesh of this name, which is another
    assert lw.load(tmp_path / "project" / "hand" / "again.json") == robot


def test_meshes_outside_of_all_searched_folders_are_reported_and_read_by_an_option(tmp_path: Path) -> None:
    robot = project(tmp_path / "project")["arm"]
    (tmp_path / "other").mkdir()
    for ending in ("urdf", "sdf"):
        path = tmp_path / "other" / f"arm.{ending}"
        (issue,) = [x for x in WRITERS[ending](robot, path).warnings if "mesh" in x.message]
        assert "outside of the folders" in issue.message and "../project/arm/meshes/part a.obj" in issue.message
        assert f"meshes=[{str(tmp_path / 'project' / 'arm' / 'meshes')!r}]" in str(issue.hint)
    robot.save(tmp_path / "other" / "arm.json")
    for ending in WRITERS:
        path = tmp_path / "other" / f"arm.{ending}"
        again = lw.load(path)
        (note,) = [x for x in again.report.warnings if x.code.startswith("MESH")]
        assert note.code == "MESH_MISSING" and f"meshes=[{str(tmp_path / 'project' / 'arm' / 'meshes')!r}]" in note.hint
        (mesh,) = [g.shape for f in again.tree.frames for g in f.visuals]
        assert mesh.uri == "../project/arm/meshes/part a.obj"
        hulls = again.with_collision_hulls([tmp_path / "project" / "arm"])
        (hull,) = [g.shape for f in hulls.tree.frames for g in f.collisions]
        assert max(map(max, hull.vertices)) == pytest.approx(0.3)


def test_textures_and_packages_of_equal_names_are_renamed_with_their_files(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name / "arm").mkdir(parents=True)
        (tmp_path / name / "arm" / "package.xml").write_text("<package><name>arm</name></package>")
        (tmp_path / name / "arm" / "m.obj").write_text(name)
        (tmp_path / name / "arm" / "skin.png").write_bytes(name.encode())
    drawn = "<geometry><mesh filename='package://arm/m.obj'/></geometry>"
    material = "<material name='skin'><texture filename='skin.png'/></material>"
    text = f"<robot name='r'><link name='l'><visual>{drawn}{material}</visual></link></robot>"
    (tmp_path / "first" / "arm" / "r.urdf").write_text(text)
    robot = lw.load(tmp_path / "first" / "arm" / "r.urdf")
    robot.save(tmp_path / "second" / "arm" / "r.json")
    (visual,) = lw.load(tmp_path / "second" / "arm" / "r.json").tree.frame("l").visuals
    assert visual.shape.uri == "../../first/arm/m.obj" and visual.material.texture == "../../first/arm/skin.png"
    (tmp_path / "first" / "arm" / "sub").mkdir()
    robot.to_urdf(tmp_path / "first" / "arm" / "sub" / "r.urdf")
    (visual,) = lw.load(tmp_path / "first" / "arm" / "sub" / "r.urdf").tree.frame("l").visuals
    assert visual.shape.uri == "package://arm/m.obj" and visual.material.texture == "../skin.png"
