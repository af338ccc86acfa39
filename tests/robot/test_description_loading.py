"""Robots of robot_descriptions by name, in a package of the same form that downloads nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.robot.construction.description_loading import description_file

MODULE = """
import os
COMMIT = os.environ.get("ROBOT_DESCRIPTION_COMMIT")
REPOSITORY_PATH = {repository!r} + (f"-{{COMMIT}}" if COMMIT else "")
PACKAGE_PATH = os.path.join(REPOSITORY_PATH, "arm_pkg")
"""
XACRO = (
    '<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="side" default="none"/>'
    '<link name="$(arg side)_$(find arm_pkg)"/></robot>'
)


@pytest.fixture
def descriptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package robot_descriptions with three robots, whose repository and another commit of it exist."""
    package, urdf = tmp_path / "site" / "robot_descriptions", lw.robots.path("double_pendulum").read_text()
    package.mkdir(parents=True)
    for name, content in (
        ("__init__", ""),
        ("_cache", ""),
        (
            "arm_description",
            'URDF_PATH = os.path.join(PACKAGE_PATH, "arm.urdf")\nMJCF_PATH = os.path.join(PACKAGE_PATH, "arm.xml")',
        ),
        ("arm_mj_description", 'MJCF_PATH = os.path.join(PACKAGE_PATH, "arm.xml")'),
        (
            "macro_description",
            'XACRO_PATH = os.path.join(PACKAGE_PATH, "arm.urdf.xacro")\nXACRO_ARGS = {"side": "left"}',
        ),
    ):
        text = MODULE.format(repository=str(tmp_path / "repository")) + content + "\n" if "desc" in name else ""
        (package / f"{name}.py").write_text(text)
    for folder in ("repository", "repository-abc"):
        inside = tmp_path / folder / "arm_pkg"
        inside.mkdir(parents=True)
        (inside / "arm.urdf").write_text(urdf.replace('name="double_pendulum"', f'name="{folder}"'))
        (inside / "arm.urdf.xacro").write_text(XACRO)
        (inside / "arm.xml").write_text(
            '<mujoco model="m"><worldbody><body name="b"><geom size="1"/></body></worldbody></mujoco>'
        )
    for name in [name for name in sys.modules if name.split(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(package.parent))
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] == "robot_descriptions"]:
        del sys.modules[name]


def test_load_description_loads_a_robot_by_name(descriptions: Path) -> None:
    robot = lw.load_description("arm_description", floating_base=True, gravity=(0, 0, 0))
    assert (robot.name, robot.nv) == ("repository", 8) and not robot.gravity.any()
    assert robot.tree.source == str(descriptions / "repository/arm_pkg/arm.urdf")
    for options in ({"xacro": True}, {"arguments": {}}, {"xacro": False, "arguments": {"side": "left"}}):
        with pytest.raises(TypeError, match="'arm_description' is a file of the format urdf, without xacro"):
            lw.load_description("arm_description", **options)
    assert lw.load_description("arm_description", xacro=False).name == "repository"
    for options in ({}, {"xacro": False}):
        with pytest.raises(TypeError, match="xacro: expected True, because 'macro_description' is a xacro file"):
            lw.load_description("macro_description", **options)


def test_option_commit_of_load_description_applies_to_one_call(descriptions: Path) -> None:
    assert lw.load_description("arm_description").name == "repository"
    assert lw.load_description("arm_description", commit="abc").name == "repository-abc"
    assert lw.load_description("arm_description").name == "repository" and "ROBOT_DESCRIPTION_COMMIT" not in os.environ
    with pytest.raises(TypeError, match="commit: expected"):
        lw.load_description("arm_description", commit=3)  # type: ignore[arg-type]


@pytest.mark.usefixtures("descriptions")
def test_unknown_descriptions_and_formats_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="no description named 'arm_descripton'; did you mean 'arm_description'"):
        lw.load_description("arm_descripton")
    with pytest.raises(UnknownNameError, match="did you mean 'arm_description' or 'arm_mj_description'"):
        lw.load_description("arm")
    with pytest.raises(UnknownNameError, match="no format named 'usd'; there are 'mjcf', 'urdf'"):
        lw.load_description("arm_description", format="usd")
    for name in ("_cache", "os", "../arm_description", "arm_description.x"):
        with pytest.raises(UnknownNameError, match=f"no description named '{name}'"):
            lw.load_description(name)
    with pytest.raises(UnknownNameError, match="no format of 'arm_mj_description' named 'urdf'"):
        lw.load_description("arm_mj_description", format="urdf")
    with pytest.raises(TypeError, match="no option named 'floating'"):
        lw.load_description("arm_description", floating=True)  # type: ignore[call-arg]


def test_robot_descriptions_have_formats_and_package_folders(descriptions: Path) -> None:
    inside = str(descriptions / "repository/arm_pkg")
    result = description_file("arm_description", "mjcf")
    assert (result.path, result.format) == (os.path.join(inside, "arm.xml"), "mjcf")
    assert description_file("arm_description").format == "urdf"
    assert description_file("arm_mj_description").format == "mjcf"
    folders = description_file("arm_description", package_dirs=["more"]).package_dirs
    assert folders == ["more", inside, str(descriptions / "repository"), str(descriptions)]
    named = description_file("arm_description", package_dirs={"x": "y"}).package_dirs
    assert named == {"arm_pkg": inside, "repository": str(descriptions / "repository"), "x": "y"}


@pytest.mark.slow(every=5)
def test_loading_a_xacro_description_requires_consent(descriptions: Path) -> None:
    pytest.importorskip("xacro", reason="needs xacro")
    with pytest.raises(
        TypeError, match="load_description: xacro: expected True, because 'macro_description' is a xacro"
    ):
        lw.load_description("macro_description")
    folder = descriptions / "repository/arm_pkg"
    assert lw.load_description("macro_description", xacro=True).frames == (f"left_{folder}",)
    robot = lw.load_description("macro_description", xacro=True, arguments={"side": "right"}, commit="abc")
    assert robot.frames[0].startswith("right_") and "repository-abc" in robot.frames[0]
    with pytest.raises(TypeError, match="without xacro"):
        lw.load_description("arm_description", xacro=True)


def test_load_description_loads_an_mjcf_description(descriptions: Path) -> None:
    pytest.importorskip("mujoco", reason="needs mujoco")
    assert lw.load_description("arm_mj_description", strict=True).frames == ("world", "b")


def test_loading_descriptions_without_robot_descriptions_installed_names_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("linkwork.robot.construction.description_loading.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "linkwork\[descriptions\]"'):
        lw.load_description("panda_description")
