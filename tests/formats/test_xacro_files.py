"""Xacro files: expanded only when asked, in a process of their own, with errors at the file."""

from __future__ import annotations

from pathlib import Path

import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning
from linkwork.formats.xacro_files import _plain, xacro_arguments

pytest.importorskip("xacro", reason="needs xacro")
NAMESPACE = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
LINK = (
    '<xacro:macro name="my_link" params="name mass"><link name="${name}"><inertial><mass value="${2*mass}"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></xacro:macro>'
)
ARM = (
    '<xacro:arg name="prefix" default=""/><xacro:arg name="mass" default="1"/><xacro:arg name="hand" default="false"/>'
    '<xacro:include filename="$(find arm_pkg)/urdf/link.xacro"/>\n'
    '<xacro:my_link name="$(arg prefix)base" mass="$(arg mass)"/>'
    '<xacro:if value="$(arg hand)"><xacro:my_link name="hand" mass="1"/>'
    '<joint name="j" type="fixed"><parent link="$(arg prefix)base"/><child link="hand"/></joint></xacro:if>'
)


def xacro(folder: Path, content: str, name: str = "robot.urdf.xacro") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<?xml version="1.0"?>\n<robot name="arm" {NAMESPACE}>\n{content}</robot>\n')
    return path


def packaged(folder: Path) -> Path:
    xacro(folder, LINK, "arm_pkg/urdf/link.xacro")
    return xacro(folder, ARM, "arm_pkg/urdf/arm.urdf.xacro")


def error_of(path: Path, **options: object) -> ModelError:
    with pytest.raises(ModelError, match=r"\[[A-Z_]+\]") as caught:
        lw.load(path, **options)  # type: ignore[arg-type]
    return caught.value


def test_xacro_file_is_expanded_only_on_request(tmp_path: Path) -> None:
    path, mark = packaged(tmp_path), tmp_path / "mark"
    error = error_of(path)
    assert error.code == "XACRO" and "load(path, xacro=True)" in str(error.hint)
    assert "is a program, which can run code" in str(error.hint) and not mark.exists()
    robot = lw.load(path, xacro=True, package_dirs=[tmp_path])
    assert (robot.frames, robot.mass, robot.tree.source) == (("base",), 2.0, f"{path} (expanded)")


def test_file_with_suffix_xacro_needs_expansion_even_without_macros(tmp_path: Path) -> None:
    for name in ("robot.urdf.xacro", "robot.XACRO"):
        path = xacro(tmp_path, '<link name="a"/>', name)
        error = error_of(path)
        assert (error.code, error.file) == ("XACRO", str(path)) and "load(path, xacro=True)" in str(error.hint)
        assert lw.load(path, xacro=True).frames == lw.load(path, format="urdf").frames == ("a",)
    with pytest.raises(FileNotFoundError, match=r"gone.xacro"):
        lw.load(tmp_path / "gone.xacro")


@pytest.mark.slow(every=3)
def test_xacro_expansion_accepts_arguments_and_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packaged(tmp_path)
    arguments = {"prefix": "left_", "mass": 1.5, "hand": True}
    robot = lw.load(path, xacro=True, arguments=arguments, package_dirs={"arm_pkg": tmp_path / "arm_pkg"})
    assert (robot.frames, robot.mass) == (("left_base", "hand"), 5.0)
    error = error_of(path, xacro=True)
    assert error.code == "XACRO" and "package 'arm_pkg' was not found" in error.message
    assert "package_dirs" in str(error.hint) and error.file == str(path)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    with pytest.warns(ModelWarning, match="the file does not use the argument 'prefxi'"):
        assert lw.load(path, xacro=True, floating_base=True, arguments={"prefxi": "left_", "mass": 2}).nv == 6


def test_urdf_file_without_xacro_macros_is_read_without_expansion(tmp_path: Path) -> None:
    path = lw.robots.path("double_pendulum")
    assert lw.load(path, xacro=True).tree.bodies == lw.load(path).tree.bodies


def test_xacro_file_that_expands_to_sdf_is_read(tmp_path: Path) -> None:
    path = tmp_path / "arm.sdf.xacro"
    model = '<model name="m"><link name="${1 + 1}"/></model>'
    path.write_text(f'<sdf version="1.9" {NAMESPACE}>{model}</sdf>')
    assert "2" in lw.load(path, xacro=True, model="m").frames
    with pytest.raises(TypeError, match="expands to an SDF file, not to a URDF file"):
        lw.load(path, xacro=True, format="urdf")
    with pytest.raises(TypeError, match="model: a URDF file does not take this option"):
        lw.load(lw.robots.path("double_pendulum"), xacro=True, model="m")


@pytest.mark.light
@pytest.mark.parametrize(
    ("content", "code", "text"),
    [
        ('<link name="${1/0}"/>', "XACRO", "division by zero"),
        ('<link name="$(arg foo)"/>', "XACRO", "foo"),
        ('<link name="a></link>', "XML_SYNTAX", "not well-formed"),
        ('<xacro:include filename="none.xacro"/>', "XACRO", "none.xacro"),
        ("<xacro:unknown/>", "XACRO", "unknown"),
        ('<link name="a"/><joint/>', "BAD_NAME", "name"),
    ],
)
def test_errors_of_an_expanded_xacro_file_name_the_file(tmp_path: Path, content: str, code: str, text: str) -> None:
    path = xacro(tmp_path, content)
    error = error_of(path, xacro=True)
    assert error.code == code and text in error.message and str(error.file).startswith(str(path))


def test_error_in_an_included_xacro_file_names_that_file(tmp_path: Path) -> None:
    inner = xacro(tmp_path, "<link", "inner.xacro")
    error = error_of(xacro(tmp_path, '<xacro:include filename="inner.xacro"/>'), xacro=True)
    assert (error.code, error.file, error.line) == ("XML_SYNTAX", str(inner), 3)


def test_xacro_arguments_that_are_not_plain_values_are_refused(tmp_path: Path) -> None:
    path = packaged(tmp_path)
    for arguments in ({"prefix": None}, {"mass": float("nan")}, {1: "x"}, ["a"], {"mass": [1]}):
        with pytest.raises(TypeError, match="arguments"):
            lw.load(path, xacro=True, arguments=arguments)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="pass xacro=True"):
        lw.load(path, arguments={})
    with pytest.raises(TypeError, match="xacro: expected True or False"):
        lw.load(path, xacro=1)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match=r"none.xacro"):
        lw.load(tmp_path / "none.xacro", xacro=True)
    with pytest.raises(ModelError, match="NOT_A_FILE"):
        lw.load(tmp_path, xacro=True)
    assert xacro_arguments({"a": True, "b": 0.5, "c": 3, "d": "x"}) == {"a": "true", "b": "0.5", "c": "3", "d": "x"}


def test_reading_xacro_without_the_package_xacro_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkwork.formats.xacro_files.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "linkwork\[xacro\]"'):
        lw.load(packaged(tmp_path), xacro=True)


def test_folders_of_packages_are_absolute_for_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inner, home = str(tmp_path / "inner"), str(Path("~/meshes").expanduser())
    for folders, expected in (
        (None, None),
        ("inner", [inner]),
        (Path("inner"), [inner]),
        (["inner", "~/meshes"], [inner, home]),
        ({"arm": "inner", "hand": "~/meshes"}, {"arm": inner, "hand": home}),
    ):
        assert _plain(folders) == expected
