"""Files of trajectories that are not as `Trajectory.save` writes them, and motions of mechanisms slowed by limits."""

from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork._util.npz_archive import write_archive
from linkwork.joints import Spherical
from linkwork.motion import Trajectory, closed_motion, spline
from linkwork.motion.trajectory import trajectory_files
from linkwork.motion.trajectory.trajectory_files import _FORMAT

STARTS = np.array([0.0, 1.0])
COEFFICIENTS = np.array([[[0.0, 1.0, 0.5]], [[1.5, 2.0, -0.5]]])
ARRAYS = {"0.times": np.array([0.0, 3.0]), "0.starts": STARTS, "0.coefficients": COEFFICIENTS}
HEADER = {"format": _FORMAT, "sections": ["polynomial"], "nq": 1, "nv": 1}
CLOCK = {
    "0.clock.starts": np.array([0.0, 1.0]),
    "0.clock.coefficients": np.array([[0.0, 1.0], [1.0, 1.0]]),
    "0.clock.segments": np.array([0.0, 1.0]),
}


def test_arrays_of_a_stored_trajectory_are_its_curve(tmp_path):
    path = tmp_path / "curve.npz"
    write_archive(path, HEADER, {**ARRAYS, **CLOCK})
    curve = Trajectory.load(path)
    assert (curve.start_time, curve.end_time, curve.robot) == (0.0, 3.0, None)
    ((plain, clock),) = [(section, section.clock) for section in curve.sections]
    assert (plain.arrays["coefficients"] == COEFFICIENTS).all() and clock.segments.tolist() == [0.0, 1.0]
    assert [float(x[0]) for x in plain.on_symbols(1.5, 2)] == [1.5 + 2.0 * 0.5 - 0.5 * 0.25, 1.5, -1.0]


@pytest.mark.light
def test_invalid_arrays_and_headers_of_trajectory_files_are_refused(tmp_path):
    path = tmp_path / "bad.npz"
    for header, arrays, words in (
        ({"sections": []}, {}, "sections: expected at least one"),
        ({"sections": ["cycloid"]}, {}, r"section 0: expected a kind of curve \(polynomial, .*\), got 'cycloid'"),
        ({}, {"0.times": np.array([3.0, 2.9])}, "section 0: expected an end after its start, 3.0 s, got 2.9 s"),
        ({}, {"0.times": np.array([3.0, np.nan])}, "0.times"),
        ({}, {"0.starts": STARTS[:0], "0.coefficients": COEFFICIENTS[:0]}, "section 0: array 'starts' is empty"),
        ({}, {"0.starts": STARTS[::-1].copy()}, "0.starts"),
        ({}, {"0.coefficients": COEFFICIENTS[:1]}, "0.coefficients"),
        ({}, {**CLOCK, "0.clock.coefficients": np.zeros((2, 0))}, "section 0: its time scaling .* is empty"),
        (
            {},
            {**CLOCK, "0.clock.segments": np.array([0.0, 2.0])},
            "section 0: clock.segments: expected indices of segments from 0 to 1",
        ),
        ({}, {**CLOCK, "0.clock.segments": np.array([0.0, 0.5])}, "expected indices of segments from 0 to 1"),
        (
            {"sections": ["polynomial"] * 2},
            {"1.times": np.array([3.1, 4.0]), "1.starts": STARTS, "1.coefficients": COEFFICIENTS},
            "section 1 begins at 3.1 s, but the previous section ends at another time",
        ),
        ({"q_names": ["hinge"], "v_names": ["hinge"]}, {}, "a trajectory of a robot: pass that robot as robot="),
    ):
        write_archive(path, {**HEADER, **header}, {**ARRAYS, **arrays})
        with pytest.raises(ValueError, match=words) as caught:
            Trajectory.load(path)
        assert "bad.npz" in str(caught.value)


def test_trajectory_files_of_another_robot_and_with_invalid_rotations_are_refused(tmp_path):
    joint = lw.Joint.of(Spherical(), name="ball", parent="world", child="rod")
    robot, path = lw.Robot.build("ball", lw.Link("rod", mass=1.0), joint), tmp_path / "rod.npz"
    names = {"q_names": [*robot.q_names], "v_names": [*robot.v_names], "nq": robot.nq, "nv": robot.nv}
    base = np.array([[0.5, 0.5, -0.5, 0.5], [1.0, 0.0, 0.0, 0.0]])
    arrays = {**ARRAYS, "0.base": base, "0.coefficients": np.ones((2, 3, 2))}
    header = {**HEADER, **names, "sections": ["retracted"]}
    write_archive(path, header, arrays)
    assert (Trajectory.load(path, robot=robot).sections[0].arrays["base"] == base).all()
    write_archive(path, header, {**arrays, "0.base": 1.1 * base})
    with pytest.raises(ValueError, match="section 0: array 'base': joint 'ball': expected configurations"):
        Trajectory.load(path, robot=robot)
    write_archive(path, {**header, "q_names": ["a", "b", "c", "d"]}, arrays)
    with pytest.raises(ValueError, match=r"q_names are \['a', .*and those of robot 'ball' are"):
        Trajectory.load(path, robot=robot)
    write_archive(path, {**HEADER, "nq": 2, "nv": 2}, arrays)
    with pytest.raises(ValueError, match="a trajectory of nq 2 and nv 2; robot 'ball' has nq 4 and nv 3"):
        Trajectory.load(path, robot=robot)


@pytest.mark.light
def test_invalid_tables_of_trajectories_are_refused_with_the_line(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    head = "t,q:a,v:a,a:a\n"
    for text, words in (
        ("", r"expected columns t or length, q:..., v:..., a:..., got $"),
        ("time,q:a,v:a,a:a\n", "expected columns t or length"),
        ("t,q:a,v:a\n0,1,2\n", "expected columns t or length"),
        (f"{head}0,1,2,x\n", "table.csv: expected 4 numbers in each line"),
        (f"{head}0,1,2,3\n1,2,3\n", "table.csv: expected 4 numbers in each line"),
        (f"{head}0,1,2,3\n", "expected at least two lines of finite numbers below the header"),
        (f"{head}0,1,2,3\n1,2,nan,3\n", "expected at least two lines of finite numbers below the header"),
        (f"{head}0,1,2,3\n1,2,3,4\n0.5,2,3,4\n", "line 4: expected times that increase, got t = 0.5 after 1"),
        (
            f"{head}0,1,2,3\n1,2,3,4\n1,2,5,4\n1,2,3,4\n2,2,3,4\n",
            "line 4: expected times that increase, got t = 1 after",
        ),
        ("t,q:a,q:b,v:a,a:a\n0,1,2,3,4\n1,1,2,3,4\n", "nq = 2 and nv = 1: pass the trajectory's robot as robot="),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=words):
            Trajectory.load(path)
    path.write_bytes(b"t,q:\xff\n")
    with pytest.raises(ValueError, match=r"table.csv: expected a table of text \(csv\)"):
        Trajectory.load(path)
    path.write_text(f"{head}0,1,2,3\n2,2,3,4\n")
    with pytest.raises(ValueError, match=r"table.csv: .*q_names are \['a'\], and those of robot"):
        Trajectory.load(path, robot=lw.load("double_pendulum"))
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(trajectory_files, "_MAX_CSV", path.stat().st_size - 1)
    with pytest.raises(ValueError, match="more bytes than the limit of"):
        Trajectory.load(path)
    monkeypatch.setattr(trajectory_files, "_MAX_CSV", path.stat().st_size)
    assert Trajectory.load(path).duration == 2.0
    for options, words in (
        ({"rate": 10.0}, "rate and degrees are for the log of a robot: pass robot="),
        ({"degrees": True}, "rate and degrees are for the log of a robot: pass robot="),
    ):
        with pytest.raises(ValueError, match=words):
            Trajectory.load(path, **options)
    curve = spline([0.0, 1.0], [[0.0], [1.0]], "linear")
    with pytest.raises(ValueError, match=r"path: expected a file named .npz, .csv, .yaml or .json"):
        curve.save(tmp_path / "curve.txt")


def test_motions_of_mechanisms_are_slowed_by_the_joint_that_exceeds_its_limits_most():
    robot = lw.load("double_pendulum")
    extremes = {1: ([-3.0, -1.0], [1.0, 2.0]), 2: ([-1.0, -8.0], [4.0, 1.0]), 3: ([0.0, 0.0], [30.0, 64.0])}
    trajectory = SimpleNamespace(robot=robot, extremes=lambda k: tuple(np.array(x) for x in extremes[k]))
    wide = np.full(2, np.inf)
    for limits, expected in (
        ((wide, wide, wide, wide, wide, wide), (1.0, "")),
        (([2.0, 9.0], [2.0, 9.0], wide, wide, wide, wide), (1.5, robot.v_names[0])),
        ((wide, wide, wide, [9.0, 0.5], wide, wide), (4.0, robot.v_names[1])),
        ((wide, wide, wide, wide, [9.0, 8.0], wide), (2.0, robot.v_names[1])),
        (([2.0, 9.0], [2.0, 9.0], wide, wide, [9.0, 8.0], wide), (2.0, robot.v_names[1])),
        (([4.0, 9.0], [4.0, 9.0], [4.0, 1.0], wide, wide, wide), (1.0, robot.v_names[0])),
    ):
        arrays = tuple(np.array(x, dtype=float) for x in limits)
        longer, name = closed_motion._stretch(trajectory, arrays)
        assert (longer, name) == (pytest.approx(expected[0]), expected[1])
