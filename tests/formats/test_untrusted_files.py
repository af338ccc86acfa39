"""Untrusted files: read in another process with equal results, and refused within limits in both modes."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.fuzz.hostile_files import FILES
from benchmarks.fuzz.hostile_run import opened_outside, read

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning
from linkwork.formats import Budget, Format
from linkwork.shapes import load_mesh

pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")

READ = {  # cases within the limits, which are read; or are long without being refused
    *("glb_materials_of_one_picture", "obj_of_materials", "obj_of_named_materials", "obj_of_groups", "ply_of_a_list"),
}
PATIENT = Budget(max_seconds=60.0)  # the machine may be busy
MESHES = {"glb", "obj", "ply", "dae"}


def tetrahedron(path: Path, kind: str) -> Path:
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((1.0, 2.0, 3.0)).export(path.with_suffix(f".{kind}"))
    return path.with_suffix(f".{kind}")


def model_with_mesh(folder: Path) -> Path:
    pytest.importorskip("mujoco")
    tetrahedron(folder / "part", "stl")
    path = folder / "model.xml"
    path.write_text(
        '<mujoco model="m"><asset><mesh name="part" file="part.stl"/></asset><worldbody><body name="a" pos="0 0 1">'
        '<joint name="j" range="-1 1" limited="true"/><geom type="mesh" mesh="part"/><body name="b"><joint name="k" '
        'type="ball"/><geom size="0.1" pos="0.1 0 0"/></body></body></worldbody><actuator><motor joint="j"/></actuator>'
        '<keyframe><key name="home" qpos="0.5 1 0 0 0"/></keyframe></mujoco>'
    )
    return path


def both(path: Path, **options: Any) -> tuple[lw.Robot, lw.Robot]:
    """The robot of a file as a trusted and as an untrusted file, which have the same warnings."""
    results = []
    robots = []
    for trusted in (True, False):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            robots.append(lw.load(path, trusted=trusted, budget=PATIENT, **options))
        results.append([str(warning.message) for warning in caught if issubclass(warning.category, ModelWarning)])
    assert results[0] == results[1]
    return robots[0], robots[1]


def require_equal(first: lw.Robot, second: lw.Robot) -> None:
    assert first == second and first.report == second.report and first.tree.source == second.tree.source
    assert first.tree.trusted and not second.tree.trusted


@pytest.mark.slow(every=9)
def test_untrusted_model_read_in_another_process_is_the_same_robot(tmp_path: Path) -> None:
    path = model_with_mesh(tmp_path)
    loops = tmp_path / "more.yaml"
    loops.write_text("version: 1\nframes:\n- {name: end, on: b, placement: {xyz: [0, 0, 0.1]}}\n")
    for options in ({}, {"floating_base": False, "gravity": (0.0, 1.0, -9.0)}, {"loops": loops}):
        require_equal(*both(path, **options))


@pytest.mark.slow(every=9)
def test_untrusted_usd_stage_read_in_another_process_is_the_same_robot(tmp_path: Path) -> None:
    Sdf = pytest.importorskip("pxr.Sdf")
    from usd_texts import body, joint, stage

    text = stage(body("a"), body("b"), joint("Revolute", "j", "a", "b", 'uniform token physics:axis = "X"'))
    path = tmp_path / "robot.usda"
    path.write_text(text)
    Sdf.Layer.FindOrOpen(str(path)).Export(str(tmp_path / "robot.usdc"))
    for name in ("robot.usda", "robot.usdc"):
        require_equal(*both(tmp_path / name))


def test_reading_untrusted_files_with_linkworks_own_readers_starts_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import linkwork.robot.construction.isolated_loading as isolated

    monkeypatch.setattr(isolated, "read_in_process", None)
    robot = lw.load("double_pendulum")
    theirs = Format("theirs", "a file", lambda path, **_: robot.tree, package="numpy")  # known to this process alone
    assert lw.load(lw.robots.path("double_pendulum"), format=theirs, trusted=False) == robot
    robot.save(tmp_path / "robot.json")
    robot.to_sdf(tmp_path / "robot.sdf")
    for name in ("robot.json", "robot.sdf"):
        require_equal(*both(tmp_path / name))
    text = Path(lw.robots.path("double_pendulum")).read_text(encoding="utf-8")
    assert lw.Robot.from_urdf_string(text, trusted=False) == lw.Robot.from_urdf_string(text)
    with pytest.raises(TypeError, match=r"xacro: expected False with trusted=False.*is a program"):
        lw.load(tmp_path / "robot.xacro", xacro=True, trusted=False)
    with pytest.raises(TypeError, match=r"budget: expected a linkwork.formats.Budget"):
        lw.load("double_pendulum", budget=10)


@pytest.mark.slow(every=9)
def test_errors_of_untrusted_files_equal_those_of_trusted_files(tmp_path: Path) -> None:
    path = model_with_mesh(tmp_path)
    text = path.read_text()
    for old, new in (("part.stl", "gone.stl"), ("-1 1", "1 -1"), ('mesh="part"', 'mesh="none"'), ("</mujoco>", "")):
        path.write_text(text.replace(old, new, 1))
        errors = []
        for trusted in (True, False):
            with pytest.raises(ModelError, match=r"\[[A-Z_]+\]") as caught:
                lw.load(path, trusted=trusted, budget=PATIENT)
            errors.append(caught.value.issues)
        assert errors[0] == errors[1]
    with pytest.raises(FileNotFoundError, match=r"gone.xml"):
        lw.load(tmp_path / "gone.xml", trusted=False, format="mjcf")


@pytest.mark.slow(every=9)
def test_untrusted_mesh_file_has_the_same_triangles(tmp_path: Path) -> None:
    from linkwork._util.file_search import FileSearch
    from linkwork.shapes import Mesh
    from linkwork.viewer.mesh_surfaces import mesh_surfaces

    for kind in ("obj", "glb"):
        path = tetrahedron(tmp_path / "part", kind)
        first, second = (load_mesh(path.name, tmp_path, trusted=trusted, budget=PATIENT) for trusted in (True, False))
        assert np.array_equal(first.vertices, second.vertices) and np.array_equal(first.triangles, second.triangles)
        drawn = []
        for trusted in (True, False):
            path.touch()  # the results of another file's time are not in the cache
            drawn.append(mesh_surfaces(Mesh(path.name), FileSearch((str(tmp_path),), (), trusted)))
        for (a, color), (b, color_b) in zip(drawn[0].surfaces, drawn[1].surfaces, strict=True):
            assert (
                color == color_b and np.array_equal(a.vertices, b.vertices) and np.array_equal(a.triangles, b.triangles)
            )
    urdf = (
        '<robot name="r"><link name="a"><collision><geometry><mesh filename="part.obj"/></geometry></collision></link>'
    )
    (tmp_path / "robot.urdf").write_text(f"{urdf}</robot>")
    first, second = both(tmp_path / "robot.urdf")
    assert not second.tree.trusted and first.with_collision_hulls() == second.with_collision_hulls()
    pytest.importorskip("trimesh").creation.icosphere(subdivisions=5).export(tmp_path / "ball.obj")
    with pytest.raises(ValueError, match=r"process that reads the file failed.*max_memory="):
        load_mesh("ball.obj", tmp_path, trusted=False, budget=Budget(max_memory=1 << 20))


@pytest.mark.slow(every=5)
def test_malicious_files_are_refused_in_this_and_in_a_separate_process(tmp_path: Path, drawn: Any) -> None:
    """`python -m benchmarks.fuzz.hostile_run` measures time and memory of all of them, in both modes."""
    for package in ("mujoco", "pxr", "trimesh", "collada", "zarr"):
        pytest.importorskip(package)
    slow = {"many_bodies", "many_geoms_without_bodies", "memory_of_a_size"}
    for name in drawn([name for name in FILES if name not in slow]):
        folder = tmp_path / name
        folder.mkdir()
        path = FILES[name](folder)
        outcome = read(path, True)
        kind = "ValueError" if path.suffix[1:] in MESHES | {"zarr"} else "ModelError"
        assert outcome.startswith(("ok", "picture")) if name in READ else outcome.startswith(kind), (name, outcome)
        assert "TOO_LARGE" not in outcome or "linkwork.formats.Budget(" in outcome, (name, outcome)
        assert not (folder / "code_ran").exists(), name


@pytest.mark.slow(every=9)
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_no_reader_opens_a_file_outside_of_the_models_folder() -> None:
    for package in ("mujoco", "pxr", "trimesh"):
        pytest.importorskip(package)
    number, opened = opened_outside(True)
    assert number > 200 and not opened, opened
    number, opened = opened_outside(False, 3)
    assert number == 3 and not opened, opened


def test_error_of_a_file_beyond_its_budget_names_the_option_of_the_budget(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "model.xml"
    texture = '<texture name="t" type="2d" builtin="flat" width="{0}" height="{0}"/>'
    body = '<worldbody><body><joint/><geom size=".1"/></body></worldbody>'
    path.write_text(f"<mujoco><asset>{texture.format(200)}</asset>{body}</mujoco>")
    small = Budget(max_pixels=10_000)
    with pytest.raises(ModelError, match=r"more than 10000 pixels \[TOO_LARGE\]\n.*Budget\(max_pixels=\.\.\.\)"):
        lw.load(path, budget=small)
    assert lw.load(path).nv == lw.load(path, budget=Budget(max_pixels=40_000)).nv == 1


def test_reports_escape_control_characters_of_file_names(tmp_path: Path) -> None:
    """Names of files are shown with escapes in reports, warnings and errors."""
    name = "a\x9b31m\u202eb\u2028"
    urdf = f'<robot name="{name}"><link name="{name}" extra="1"/><{"x" * 3} name="{name}"/><link name="c"/></robot>'
    texts = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = lw.Robot.from_urdf_string(urdf, multi_root=True)
    texts += [str(robot.report), repr(robot), str(robot), *(str(message.message) for message in caught)]
    with pytest.raises(ModelError, match="UNKNOWN_TAG") as error:
        lw.Robot.from_urdf_string(urdf, strict=True, multi_root=True)
    texts.append(str(error.value))
    assert robot.report.warnings and caught
    for text in texts:
        assert text.replace("\n", "").isprintable(), ascii(text)
