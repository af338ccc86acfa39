"""Options of loading robots, and warnings about repairs."""

from __future__ import annotations

import inspect
import os
import pickle
import typing
import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning
from linkwork.robot.construction.robot_loading import LoadOptions, Options
from urdf_texts import INERTIAL, LIMIT, joint, link, robot

IMPOSSIBLE = INERTIAL.replace('izz="1"', 'izz="4"')
NEGATIVE = INERTIAL.replace('izz="1"', 'izz="-0.2"')
FAR = INERTIAL.replace('="1"', '="-1"')


def arm(inertial: str = INERTIAL, more: str = "") -> str:
    return robot(link("a"), link("b", inertial), joint("j", "a", "b", inner='<origin xyz="0 0 1"/>' + LIMIT + more))


SUSPICIOUS = arm(more='<axis xyz="0 0 2"/>')


def loaded(text: str, **options: typing.Any) -> lw.Robot:
    return lw.Robot.from_urdf_string(text, **options)


# -- options


def test_all_loading_functions_accept_the_same_options():
    parameters = [p for p in list(inspect.signature(lw.load).parameters.values())[1:] if p.name != "format"]
    assert {p.name: p.default for p in parameters} == {name: getattr(Options(), name) for name in Options.__slots__}
    hints = typing.get_type_hints(LoadOptions)
    assert hints == typing.get_type_hints(Options)
    assert hints.items() <= typing.get_type_hints(lw.load).items()
    assert sorted(hints) == sorted(p.name for p in parameters)


def test_unknown_loading_options_are_refused_with_a_hint(tmp_path: Path):
    for function in (lw.Robot.from_urdf_string, lw.Robot.from_urdf):
        with pytest.raises(TypeError, match=r"from_urdf.*no option named 'floting_base'; did you mean 'floating_base'"):
            function(arm(), floting_base=True)
    for name in ("floating_base", "strict", "multi_root"):
        with pytest.raises(TypeError, match=f"{name}: expected True or False, got 'no'"):
            loaded(arm(), **{name: "no"})
    for name, words in (("inertia", "'given', 'nearest' or 'ignore'"), ("continuous", "'angle' or 'sincos'")):
        with pytest.raises(ValueError, match=f"{name}: expected {words}, got 'x'"):
            loaded(arm(), **{name: "x"})


def test_tilde_in_paths_of_robot_files_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "arm.urdf").write_text(arm(), encoding="utf-8")
    (tmp_path / "~").write_text(arm().replace('"r"', '"tilde"'), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for path in ("~/arm.urdf", Path("~/arm.urdf")):
        assert lw.load(path) == lw.Robot.from_urdf(path) == loaded(arm())
        assert Path(lw.load(path).tree.source) == tmp_path / "arm.urdf"
    assert lw.load("./~").name == "tilde"
    with pytest.raises(ModelError, match="directory"):
        lw.load("~")


def test_robot_file_paths_with_invalid_characters_are_refused():
    surrogates = () if os.name == "nt" else ("a\ud800.urdf", "\ud800", Path("a\ud800"))  # Windows has such names
    for path in (*surrogates, "arm\0.urdf"):
        for read in (lw.load, lw.Robot.from_urdf):
            with pytest.raises(ModelError, match="a path cannot contain") as caught:
                read(path)
            assert caught.value.code == "NOT_A_FILE"
            assert str(caught.value).isascii()


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes")
def test_robot_files_with_names_that_are_not_unicode_can_be_opened(tmp_path: Path):
    file = os.fsencode(tmp_path) + b"/arm\xff.urdf"
    try:
        with open(file, "w", encoding="utf-8") as out:
            out.write(arm())
    except OSError:
        pytest.skip("this file system does not take such names")
    assert lw.load(os.fsdecode(file)) == loaded(arm())


# -- what is told


def test_repairs_of_a_robot_file_give_one_warning_at_the_call(tmp_path: Path):
    file = tmp_path / "odd.urdf"
    file.write_text(SUSPICIOUS, encoding="utf-8")
    for load in (lambda: lw.load(file), lambda: lw.Robot.from_urdf(file), lambda: loaded(SUSPICIOUS)):
        with pytest.warns(ModelWarning, match=r"reading robot 'r' found 1 issue; print\(robot.report\)") as caught:
            result = load()
        (warning,) = caught
        assert warning.filename == __file__
        assert "line 4, robot[r]/joint[j]/axis: the axis has length 2" in str(warning.message)
        assert "[AXIS_NORM]" in str(warning.message)
        assert str(result.report) == "\n".join(map(str, result.report.warnings))
        assert result.report.repairs == result.report.warnings


def test_warning_about_a_robot_file_points_to_the_users_line():
    def user() -> lw.Robot:
        return lw.Robot.from_urdf_string(SUSPICIOUS)

    with pytest.warns(ModelWarning) as caught:
        user()
    assert (caught[0].filename, caught[0].lineno) == (__file__, user.__code__.co_firstlineno + 1)


def test_many_repairs_of_a_robot_file_are_summarised_in_one_warning():
    joints = [joint(f"j{k}", "a", f"b{k}", inner='<axis xyz="0 0 2"/>' + LIMIT) for k in range(50)]
    with pytest.warns(ModelWarning) as caught:
        loaded_robot = loaded(robot(link("a"), *(link(f"b{k}") for k in range(50)), *joints))
    text = str(caught[0].message)
    assert "found 50 issues" in text and "... and 47 more" in text and len(text) < 1000
    assert len(loaded_robot.report.repairs) == 50


def test_notes_about_a_robot_file_cause_no_warning():
    noted = arm(more='<safety_controller k_velocity="1"/>').replace("</robot>", "<gazebo/></robot>")
    loaded_robot = loaded(noted)
    assert {issue.code for issue in loaded_robot.report.warnings} == {"IGNORED"} and loaded_robot.report.repairs == ()
    assert loaded(noted, strict=True) == loaded_robot
    assert str(loaded(arm()).report) == "no findings"


def test_warnings_about_robot_files_can_be_filtered():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=ModelWarning)
        loaded(SUSPICIOUS)
    assert not caught
    with pytest.raises(ModelError, match="AXIS_NORM"):
        loaded(SUSPICIOUS, strict=True)


# -- inertias that no body has, and joints that follow none


def test_load_uses_the_nearest_physical_inertia_on_request():
    with pytest.raises(ModelError, match="INERTIA_NOT_PSD"):
        loaded(arm(NEGATIVE))
    for bad in (NEGATIVE, IMPOSSIBLE):
        with pytest.warns(ModelWarning, match="is replaced by the nearest possible inertia"):
            loaded_robot = loaded(arm(bad), inertia="nearest")
        assert loaded_robot.report.repairs[0].code == "INERTIA_NEAREST"
        assert "link[b]" in str(loaded_robot.report.repairs[0].where.element)
        with pytest.raises(ModelError, match="INERTIA_NEAREST"):
            loaded(arm(bad), inertia="nearest", strict=True)
    assert loaded_robot.tree.frame("b").inertia.about.xx == 2.0  # second moments 2, 2, -1 of 1, 1, 4 become 2, 2, 0
    assert loaded_robot.mass_matrix(loaded_robot.neutral()) == pytest.approx(2.0)
    with pytest.raises(ModelError, match="INERTIA_FAR"):
        loaded(arm(FAR), inertia="nearest")
    assert loaded(arm(), inertia="nearest") == loaded(arm())


def test_multiples_of_the_robots_own_inertias_are_accepted_and_others_checked():
    with pytest.warns(ModelWarning, match="the largest exceeds the sum of the others"):
        impossible = loaded(arm(IMPOSSIBLE))
    (nominal,) = impossible.parameters("inertia:b").values()
    heavier = impossible.with_parameters({"inertia:b": 1.2 * nominal})
    np.testing.assert_allclose(heavier.mass_matrix([0.3]), 1.2 * impossible.mass_matrix([0.3]), rtol=1e-12)
    changed = nominal + np.eye(10)[9]
    with pytest.raises(ValueError, match=r"own, which load\(path, inertia=\"nearest\"\) repairs"):
        impossible.with_parameters({"inertia:b": changed})
    with pytest.raises(ValueError, match="unphysical inertial parameters"):
        impossible.with_parameters({"inertia:b": -nominal})


def test_factors_of_a_bodys_inertia_scale_all_its_links_and_other_changes_its_own_link():
    """A dummy link with an impossible inertia, and a heavy link that is welded to it, as many legged robots have."""
    heavy = '<link name="w"><inertial><origin xyz="0.1 0 0.2"/><mass value="16"/><inertia ixx="0.3" ixy="0.01" ixz="0" '
    heavy += 'iyy="0.4" iyz="0" izz="0.5"/></inertial></link><joint name="k" type="fixed"><parent link="b"/>'
    heavy += '<child link="w"/><origin xyz="0.3 0 0" rpy="0.1 0.2 0.3"/></joint></robot>'
    dummy = arm(IMPOSSIBLE)
    for number in ('"1"', '"2"', '"4"'):
        dummy = dummy.replace(number, f'{number[:2]}e-6"')
    with pytest.warns(ModelWarning, match="the largest exceeds the sum of the others"):
        impossible = loaded(dummy.replace("</robot>", heavy))
    whole, names = impossible.parameters("inertia")["inertia"], ("b", "w")
    lighter = impossible.with_parameters({"inertia": 0.8 * whole})
    for name in names:
        expected = 0.8 * impossible.parameters(f"inertia:{name}")[f"inertia_{name}"]
        np.testing.assert_allclose(lighter.parameters(f"inertia:{name}")[f"inertia_{name}"], expected, rtol=1e-12)
    np.testing.assert_allclose(lighter.parameters("inertia")["inertia"], 0.8 * whole, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(lighter.mass_matrix([0.3]), 0.8 * impossible.mass_matrix([0.3]), rtol=1e-12)
    assert impossible.with_parameters({"inertia": whole}) == impossible
    load = np.array([2.0, 0.2, 0.0, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0, 0.1])
    loaded_robot = impossible.with_parameters({"inertia": whole + load})
    assert loaded_robot.link("b").mass == pytest.approx(2.0 + 2e-6) and loaded_robot.link("w").mass == 16.0
    with pytest.raises(ValueError, match=r"link 'b' is unphysical: .*set the links' own, as inertia:b"):
        impossible.with_parameters({"inertia": 0.8 * whole + 0.01 * load})
    moved = impossible.with_parameters({"inertia": 3.0 * whole, "frame:w": [0.0, 0.01, 0.0, 0.01, 0.0, 0.0]})
    assert moved.link("w").mass == 16.0 and moved.link("b").mass == pytest.approx(32.0 + 6e-6)
    np.testing.assert_allclose(moved.parameters("inertia")["inertia"], 3.0 * whole, rtol=1e-12, atol=1e-15)


def test_robots_can_be_loaded_without_inertias_for_kinematics():
    loaded_robot = loaded(arm(FAR), inertia="ignore")
    assert loaded_robot.tree.inertias_ignored and loaded_robot.report.repairs == ()
    assert [issue.code for issue in loaded_robot.report.warnings] == ["INERTIA_IGNORED"]
    assert "2 times, here first" in loaded_robot.report.warnings[0].message
    q = np.array([0.3])
    robot_of_file = loaded(arm())
    assert np.array_equal(loaded_robot.pose(q, "b"), robot_of_file.pose(q, "b"))
    assert np.array_equal(loaded_robot.jacobian(q, "b"), robot_of_file.jacobian(q, "b"))
    for robot_ in (
        loaded_robot,
        loaded_robot.with_root("b"),
        loaded_robot.with_joint(loaded_robot.joint("j")),
        pickle.loads(pickle.dumps(loaded_robot)),
    ):
        for call in (
            lambda robot_=robot_: robot_.mass_matrix(q),
            lambda robot_=robot_: robot_.inverse_dynamics(q, q, q),
            lambda robot_=robot_: robot_.forward_dynamics(q, q, q),
            lambda robot_=robot_: robot_.gravity_force(q),
            lambda robot_=robot_: robot_.bias_force(q, q),
            lambda robot_=robot_: robot_.compile([("pose", "b"), "mass_matrix"]),
            lambda robot_=robot_: robot_.precompile(["mass_matrix"]),
            lambda robot_=robot_: robot_.mass,
            lambda robot_=robot_: robot_.with_inertia("b", mass=1.0),
            lambda robot_=robot_: robot_.with_payload("payload", "b", 1.0),
        ):
            with pytest.raises(ValueError, match=r'robot \'r\' was loaded without inertias \(inertia="ignore"\)'):
                call()
    assert loaded_robot != loaded(arm("").replace(INERTIAL, ""))  # a robot of no mass is another
    assert loaded(arm(INERTIAL.replace('"2"', '"heavy"')), inertia="ignore") == loaded_robot
    assert loaded(arm(), inertia="ignore", strict=True) == loaded_robot


def test_load_ignores_mimic_relations_on_request():
    text = arm(more='<mimic joint="other"/>')
    with pytest.raises(ModelError, match="MIMIC_UNKNOWN") as caught:
        loaded(text)
    assert 'mimic="ignore"' in str(caught.value.hint)
    loaded_robot = loaded(text, mimic="ignore", strict=True)
    assert loaded_robot == loaded(arm()) and loaded_robot.joint("j").mimic is None
    assert [issue.code for issue in loaded_robot.report.warnings] == ["IGNORED"]
