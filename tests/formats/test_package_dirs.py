"""Folders of packages that `load` takes: every format accepts them, and pictures and hulls find meshes there."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw

CORNERS = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.1]])
URDF = """<robot name="{name}"><link name="a"/><link name="b"><collision><geometry><mesh filename="{uri}"/></geometry>
</collision></link><joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint></robot>"""


def _package(folder: Path, name: str, scale: float) -> str:
    """Write a package with a mesh of four corners and return the mesh's URI."""
    faces = np.zeros(4, dtype=[("values", "<f4", (4, 3)), ("attribute", "<u2")])  # normals are ignored
    faces["values"][:, 1:] = scale * CORNERS[[(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]]
    (folder / name).mkdir(parents=True)
    (folder / name / "package.xml").write_text("<package/>")
    (folder / name / "part.stl").write_bytes(bytes(80) + np.uint32(4).tobytes() + faces.tobytes())
    return f"package://{name}/part.stl"


def _extent(robot: lw.Robot, link: str = "b") -> float:
    """Return the largest coordinate of the hull of a link's mesh."""
    (hull,) = robot.with_collision_hulls().link(link).collisions
    return float(np.max(hull.shape.vertices))  # type: ignore[attr-defined]


def test_urdf_files_take_folders_of_packages_and_later_searches_include_them(tmp_path: Path) -> None:
    uri = _package(tmp_path / "share", "parts", 1.0)
    (tmp_path / "robots").mkdir()
    file = tmp_path / "robots" / "arm.urdf"
    file.write_text(URDF.format(name="arm", uri=uri))
    assert "MESH_MISSING" in [issue.code for issue in lw.load(file).report.warnings]
    for folders in ([tmp_path / "share"], tmp_path / "share", {"parts": tmp_path / "share" / "parts"}):
        robot = lw.load(file, package_dirs=folders)
        assert "MESH_MISSING" not in [issue.code for issue in robot.report.warnings]
        assert robot == lw.load(file)
        for same in (robot, pickle.loads(pickle.dumps(robot)), robot.with_base(lw.pose((1.0, 0.0, 0.0)))):
            assert _extent(same) == pytest.approx(0.3)
    robot.show(html=tmp_path / "page.html")  # every warning is an error in the tests
    text = lw.Robot.from_urdf_string(file.read_text(), package_dirs=tmp_path / "share")
    assert _extent(text) == pytest.approx(0.3)
    with pytest.raises(ValueError, match=r"load: package_dirs: .* is not a folder"):
        lw.load(file, package_dirs=tmp_path / "none")


def test_robots_joined_from_several_folders_of_packages_have_the_meshes_of_each(tmp_path: Path) -> None:
    robots = {}
    for name, scale in (("left", 1.0), ("right", 2.0)):
        uri = _package(tmp_path / f"share_{name}", "parts", scale)  # packages of the same name
        (tmp_path / f"of_{name}").mkdir()
        file = tmp_path / f"of_{name}" / "arm.urdf"
        file.write_text(URDF.format(name=name, uri=uri))
        robots[name] = lw.load(file, package_dirs=tmp_path / f"share_{name}")
    both = lw.join_robots(robots)
    assert _extent(both, "left_b") == pytest.approx(0.3)
    assert _extent(both, "right_b") == pytest.approx(0.6)
