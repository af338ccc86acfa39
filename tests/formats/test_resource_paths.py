"""Files that a robot's file names are searched in the allowed folders, and nothing is used outside of them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import linkwork as lw
from linkwork._util.file_search import FileSearchError
from linkwork.errors import Location
from linkwork.formats.resource_paths import ENVIRONMENT, packages_around, resource_paths, search_issue


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A package "arm" with a robot's file in its folder robots, a model "hand" beside it, and a secret outside."""
    for file in (
        "ws/arm/package.xml",
        "ws/arm/robots/arm.sdf",
        "ws/arm/robots/near.stl",
        "ws/arm/meshes/link 1.stl",
        "ws/arm/meshes/100%25.stl",
        "ws/hand/model.config",
        "ws/hand/model.sdf",
        "prefix/share/base/base.sdf",
        "secret.stl",
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    return tmp_path


def resolved(home: Path, name: str, environment: dict[str, str] | None = None, **options) -> str:
    search = resource_paths(home / "ws/arm/robots/arm.sdf", environment=environment or {}, **options)
    return Path(os.path.realpath(search.find(name))).relative_to(os.path.realpath(home)).as_posix()


def code(home: Path, name: str, environment: dict[str, str] | None = None, **options) -> str:
    with pytest.raises(FileSearchError) as caught:  # noqa: PT011 - callers compare what it says
        resolved(home, name, environment, **options)
    assert "secret" not in name or "was not found" not in str(caught.value)
    return caught.value.code


def test_mesh_file_names_are_resolved_beside_the_robot_file_and_in_its_package(home: Path):
    for name in ("near.stl", "./near.stl", "file://near.stl", "package://arm/robots/near.stl", "../robots/near.stl"):
        assert resolved(home, name) == "ws/arm/robots/near.stl", name
    file = home / "ws/arm/robots/near.stl"
    absolute, uri = file.as_posix(), file.as_uri()  # on Windows C:/..., and file:///C:/...
    with_host = uri.replace("file://", "file://localhost")
    for name in (absolute, f"file://{absolute}", uri, with_host, "MODEL://arm/robots/near.stl"):
        assert resolved(home, name) == "ws/arm/robots/near.stl", name
    assert resolved(home, "package://arm/meshes/link%201.stl") == "ws/arm/meshes/link 1.stl"
    assert resolved(home, "package://arm/meshes/100%25.stl") == "ws/arm/meshes/100%25.stl"
    assert resolved(home, "../meshes/link 1.stl") == "ws/arm/meshes/link 1.stl"  # inside the package


def test_package_of_a_robot_file_is_the_nearest_folder_with_a_package_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The nearest folder with a mark counts, the outermost of Python packages, and never the home directory."""
    folder = tmp_path / "user" / "project" / "pack" / "inner" / "assets" / "urdf"
    folder.mkdir(parents=True)

    def packages() -> list[str]:
        result = resource_paths(folder / "arm.urdf", environment={}).packages
        return [Path(path).relative_to(tmp_path).as_posix() for _, path in result]

    assert packages() == []
    for name in ("meshes", "textures", "private"):
        (folder.parent / name).mkdir()
    os.symlink(tmp_path, folder.parent / "media")  # leads anywhere
    assert packages() == [f"user/project/pack/inner/assets/{name}" for name in ("meshes", "textures")]
    with monkeypatch.context() as at_home:  # nothing is beside a folder in a home directory or in the root
        at_home.setenv("HOME", str(folder.parent))
        assert packages() == []
        at_home.setattr(os.path, "isdir", lambda path: True)
        assert packages_around("/tmp") == []
    (tmp_path / "user" / ".git").mkdir()
    assert packages() == ["user"]
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    assert packages() == [f"user/project/pack/inner/assets/{name}" for name in ("meshes", "textures")]
    for name in ("pack/inner/__init__.py", "pack/__init__.py", "pyproject.toml"):
        (tmp_path / "user" / "project" / name).touch()
    assert packages() == ["user/project/pack"]
    (tmp_path / "user" / "project" / "package.xml").touch()
    assert packages() == ["user/project", "user/project/pack"]


def test_packages_are_searched_in_package_dirs_and_in_folders_of_the_environment(home: Path):
    assert code(home, "model://hand") == "PACKAGE_UNKNOWN"
    for folders in (home / "ws", [home / "ws"], {"hand": home / "ws/hand"}):
        assert resolved(home, "model://hand/model.sdf", package_dirs=folders) == "ws/hand/model.sdf"
    assert resolved(home, "package://other/model.sdf", package_dirs={"other": home / "ws/hand"}) == "ws/hand/model.sdf"
    assert resolved(home, "package://hand", package_dirs=[home / "ws/hand"]) == "ws/hand"
    for variable, inside in ENVIRONMENT.items():
        entries = os.pathsep.join(["relative", "/none", "", str(home / "ws"), str(home / "prefix")])
        if inside:
            assert resolved(home, "package://base/base.sdf", {variable: entries}) == "prefix/share/base/base.sdf"
        else:
            assert resolved(home, "model://hand", {variable: entries}) == "ws/hand"
            assert resolved(home, "hand/model.sdf", {variable: entries}) == "ws/hand/model.sdf"
    search = resource_paths(None, [home / "ws"], {})
    assert search.package("hand") == str(home / "ws" / "hand")
    with pytest.raises(FileSearchError, match=r"package 'hnd' was not found; paths searched"):
        search.package("hnd")
    with pytest.raises(FileSearchError, match=r"'a.stl' was not found: there are no folders to search"):
        resource_paths(None, None, {}).find("a.stl")
    with pytest.raises(ValueError, match=r"load: package_dirs: .* is not a folder"):
        resource_paths(None, [home / "none"], {})


def test_mesh_files_outside_of_the_allowed_folders_are_not_resolved(home: Path):
    os.symlink(home / "secret.stl", home / "ws/arm/robots/link.stl")
    os.symlink(home, home / "ws/arm/robots/up")
    secret = (home / "secret.stl").as_posix()
    for name in (
        *("../../../secret.stl", "./../../../secret.stl", secret, f"file://{secret}", "link.stl", "up/secret.stl"),
        *("package://arm/../../secret.stl", "package://arm/%2e%2e/%2E%2E/secret.stl", "model://../secret.stl"),
        *("file://..%2f..%2f..%2fsecret.stl", "package://arm/robots/up/secret.stl", "package://%2e%2e/secret.stl"),
        *(
            "\\\\server\\share\\secret.stl",
            "//server/secret.stl",
            "C:\\secret.stl",
            "c:/secret.stl",
            "file:///C:/secret.stl",
        ),
    ):
        assert code(home, name) == "PATH_ESCAPE", name
    for name in ("package://arm/%2e%2e/%2e%2e/secret.stl", "../../../secret.stl"):
        assert resolved(home, name, package_dirs=[home]) == "secret.stl"  # a folder that is given
    assert code(home, "package://..\\secret.stl/x") == "PATH_ESCAPE"


def test_unresolved_mesh_file_names_are_errors_with_code_and_hint(home: Path):
    for name in ("http://a/b.stl", "https://a/b.stl", "ftp://a", "x://y", "data://text"):
        assert code(home, name) == "URI_SCHEME", name
    impossible = () if sys.platform == "win32" else ("\ud800",)  # Windows has such names
    for name in ("", "  ", "a\0b", "a%00b", *impossible, "package:///a.stl"):
        assert code(home, name) == "BAD_NAME", name
    with pytest.raises(FileSearchError, match=r"'near.stlx' was not found") as caught:
        resolved(home, "near.stlx", package_dirs=[home / "ws"])
    issue = search_issue(caught.value, Location("arm.sdf", 3), "MESH_MISSING")
    assert issue.code == "MESH_MISSING" and "package_dirs" in str(issue.hint)
    assert str(home / "ws/arm/robots/near.stlx") in issue.message and str(home / "ws/near.stlx") in issue.message
    with pytest.raises(FileSearchError, match="package 'hnad' was not found") as caught:
        resolved(home, "package://hnad/a.stl", package_dirs=[home / "ws"])
    assert caught.value.code == "PACKAGE_UNKNOWN" and caught.value.hint == "did you mean 'hand'?"


def test_missing_mesh_files_are_reported_and_the_robot_loads(tmp_path: Path) -> None:
    """A robot without its meshes loads, also strictly; the note names the places that were searched."""
    names = ("gone.stl", "package://gone/a.stl", "package://gone/b.stl", "http://a/b.stl", "../../out.stl", "here.stl")
    shapes = "".join(f'<visual><geometry><mesh filename="{name}"/></geometry></visual>' for name in names)
    (tmp_path / "here.stl").write_text("not opened")
    path = tmp_path / "arm.urdf"
    path.write_text(f'<robot name="arm"><link name="base">{shapes}</link></robot>')
    (note,) = lw.load(path, strict=True).report.warnings
    assert note.code == "MESH_MISSING" and note.message.startswith(
        "5 of 6 mesh files are not found, such as 'gone.stl'"
    )
    assert str(tmp_path / "gone.stl") in note.message and note.where.element == "robot[arm]/link[base]"
    path.write_text(
        path.read_text().replace(shapes, '<visual><geometry><mesh filename="here.stl"/></geometry></visual>')
    )
    assert not lw.load(path).report.warnings


def test_symbolic_links_in_the_path_of_a_robot_are_followed_in_the_search_of_its_files(tmp_path):
    package = tmp_path / "share" / "arm_description"
    for folder in ("urdf", "meshes"):
        (package / folder).mkdir(parents=True)
    (package / "package.xml").write_text("<package/>")
    (package / "urdf" / "arm.urdf").write_text("")
    mesh = package / "meshes" / "hand.stl"
    mesh.write_text("")
    link = tmp_path / "models"
    link.symlink_to(package / "urdf", target_is_directory=True)
    path = resource_paths(link / "arm.urdf", environment={}).find("package://arm_description/meshes/hand.stl")
    assert os.path.samefile(path, mesh)
    with pytest.raises(FileSearchError, match="arm_description"):
        resource_paths(link / "arm.urdf", environment={}, trusted=False).find(
            "package://arm_description/meshes/hand.stl"
        )
