"""Benchmarks of inverse kinematics: criteria of success, and a table of the measured values."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks.compiler.operation_counts import written
from benchmarks.ik import __main__ as command
from benchmarks.ik.cases import Linkwork, Size, measured, out_of_reach, status_of
from benchmarks.ik.page import PAGE, tables
from benchmarks.ik.peers import PEERS, Peer
from benchmarks.ik.protocol import brought_in, configurations, errors, near_limits, path, reached, within
from benchmarks.ik.report import misses, protocol_rows, protocol_table
from benchmarks.ik.robots import ARMS, Arm, chain
from benchmarks.measurement.robots import NotInstalled
from benchmarks.peers.pinocchio_peer import CannotCompare
from benchmarks.tables.targets import INVERSE_KINEMATICS

import linkwork as lw

pytest.importorskip("pinocchio")
ARM = ARMS["arm7"]
TURNING = """<robot name="turning"><link name="a"/><link name="b"/><link name="c"/><link name="d"/><link name="side"/>
<joint name="aside" type="revolute"><parent link="b"/><child link="side"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="j" type="continuous"><origin xyz="0 0 1"/><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
<joint name="k" type="revolute"><origin xyz="1 0 0" rpy="0.3 0 0"/><parent link="b"/><child link="c"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="3" effort="1" velocity="1"/></joint>
<joint name="s" type="prismatic"><origin xyz="0 0 0.2"/><parent link="c"/><child link="d"/><axis xyz="1 0 0"/>
<limit lower="0" upper="0.5" effort="1" velocity="1"/></joint></robot>"""


def turning() -> Arm:
    return Arm("turning", "", "a", "d", chain(TURNING, "a", "d"))


def test_extracted_benchmark_arm_has_the_kinematics_of_the_whole_robot():
    whole = lw.load("arm7_gripper")
    arm = Arm("arm", "arm7_gripper", "base", "hand")
    assert arm.n == 7 < whole.nq
    q = configurations(arm, 5)
    full = np.zeros((5, whole.nq))
    full[:, [whole.q_names.index(name) for name in arm.robot.q_names]] = q
    np.testing.assert_allclose(arm.robot.pose(q, "hand"), whole.pose(full, "hand"), atol=1e-15)
    np.testing.assert_allclose(arm.reference.pose(q), whole.pose(full, "hand"), atol=1e-14)
    assert "side" not in turning().text and turning().n == 3


@pytest.mark.slow(every=5)
def test_ik_benchmark_recognises_unreachable_poses() -> None:
    result = out_of_reach(ARM, Linkwork(ARM), Size(far=2, restarts=5))
    assert result.far == result.claimed == result.near == 2 <= result.total
    assert sum(result.statuses.values()) == 2 and result.worst < 1.01
    with pytest.raises(ValueError, match="OUT_OF_REACH"):
        status_of("OUT_OF_REACH")


@pytest.mark.slow(every=5)
def test_ik_benchmark_arms_have_the_kinematics_of_pinocchio():
    for arm in ARMS.values():
        try:
            q = configurations(arm, 3)
        except NotInstalled:
            continue
        np.testing.assert_allclose(arm.robot.pose(q, arm.tip), arm.reference.pose(q), atol=1e-14)
        assert within(arm, q).all() and within(arm, arm.middle)
        own_configurations = [arm.reference.here(arm.reference.pinocchio.q(row)) for row in q]
        np.testing.assert_allclose(own_configurations, q, atol=1e-14)


def test_ik_benchmark_counts_success_only_within_tolerances_and_joint_limits():
    arm = turning()
    q = configurations(arm, 50)
    X = arm.reference.pose(q)
    assert reached(arm, q, X).all() and not errors(X, X).any()
    for axis in range(6):
        off = np.zeros(6)
        for size, counts in ((0.9e-5, True), (1.1e-5, False)):
            off[axis] = size
            moved = X @ _small(off)
            np.testing.assert_allclose(errors(moved, X), np.tile(off, (50, 1)), atol=1e-12)
            assert reached(arm, q, moved).all() == counts and reached(arm, q, moved).any() == counts
    half = X @ np.diag([1.0, -1.0, -1.0, 1.0])
    assert np.abs(errors(half, X)).max() > 3.0 and not reached(arm, q, half).any()
    beyond = q.copy()
    beyond[:, 1] = np.nextafter(3.0, 4.0)
    assert not within(arm, beyond).any() and not reached(arm, beyond, arm.reference.pose(beyond)).any()
    beyond[:, 1] = 3.0
    assert within(arm, beyond).all()
    assert not reached(arm, np.full_like(q, np.nan), X).any()


def _small(off: np.ndarray) -> np.ndarray:
    """A motion whose position and rotation vector are these, one of which is small and the others zero."""
    X = np.eye(4)
    X[:3, 3] = off[:3]
    x, y, z = off[3:]
    X[:3, :3] += np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return X


def test_ik_benchmark_shifts_angles_by_full_turns_to_satisfy_limits():
    arm = turning()
    q = np.array([[9.0, 2.5 - 2 * np.pi, 0.2], [0.0, -2.0 - 1e-7, 0.1], [0.0, 3.1, 0.1], [0.0, 1.0, 0.5 + 0.1]])
    got = brought_in(arm, q)
    np.testing.assert_allclose(got[:2], [[9.0, 2.5, 0.2], [0.0, -2.0, 0.1]], atol=1e-12)
    assert within(arm, got).tolist() == [True, True, False, False]


def test_ik_benchmark_targets_lie_near_joint_limits_or_on_smooth_paths():
    for arm in (ARM, turning()):
        low, high = arm.ranges
        edge = near_limits(arm, 200)
        share = np.minimum(edge - low, high - edge) / (high - low)
        bounded = np.isfinite(arm.limits[0])
        assert share[:, bounded].max() <= 0.02 and within(arm, edge).all()
        poses = path(arm, 300)
        left = np.abs(errors(arm.robot.pose(poses[1:], arm.tip), arm.robot.pose(poses[:-1], arm.tip)))
        assert within(arm, poses).all() and left[:, :3].max() < 1.05e-3 and left[:, 3:].max() < 1.05 * np.pi / 180
        moved = np.maximum(
            np.linalg.norm(left[:, :3], axis=1) / 1e-3, np.linalg.norm(left[:, 3:], axis=1) * 180 / np.pi
        )
        assert np.median(moved) > 0.95


class Knowing(Peer):
    """Answers every second pose, and lies about the others."""

    name, package, settings = "knowing", "nothing", "made up"

    def solve(self, X, q_init):
        k, self.k = getattr(self, "k", 0), getattr(self, "k", 0) + 1
        return self.known[(k - 1) % len(self.known)] if k % 2 else q_init


def test_ik_benchmark_verifies_successes_reported_by_solvers():
    solver, Q = Knowing(ARM), configurations(ARM, 10)
    solver.known = Q
    figures = measured(ARM, solver, Q)  # it was asked once before
    assert figures.reached.tolist() == [True, False] * 5 and figures.success == 0.5 and len(figures.seconds) == 10
    lines = protocol_table([figures])
    assert lines[-1].split()[:5] == ["arm7", "knowing", "-", "10", "50.00"] and not list(protocol_rows([figures]))


def test_every_installed_ik_library_solves_a_pose_near_its_seed():
    """The solution is a little off the seed."""
    q = ARM.middle + 0.05
    X = ARM.reference.pose(q)
    for kind in PEERS:
        try:
            peer = kind(ARM)
        except CannotCompare:
            continue
        answers = (peer.solve(X, ARM.middle.copy()) for _ in range(50))  # one of them gives up after some milliseconds
        answer = next((q for q in answers if q is not None), None)
        assert answer is not None, kind.name
        assert reached(ARM, brought_in(ARM, answer[None]), X[None]).all(), kind.name


def test_ik_benchmark_command_prints_and_saves_tables(tmp_path, capsys):
    file = tmp_path / "found.json"
    code = command.main(
        ["--robot", "arm7", "--poses", "20", "--peers", "none", "--parts", "protocol", "--json", str(file)]
    )
    data, out = json.loads(file.read_text(encoding="utf-8")), capsys.readouterr().out
    assert code == 0 and "targets are poses of configurations" in out and data["machine"]["linkwork"] == lw.__version__
    if not hasattr(lw.Robot, "inverse_kinematics"):
        assert "left out: linkwork" in out
        return
    page = PAGE.read_text(encoding="utf-8")
    assert written(page, tables(data)).count("| arm7 | 20 | 100.00 % |") == 1
    (result,) = data["protocol"]
    assert (
        result["library"] == "linkwork" and result["success"] == 1.0 and result["poses"] == 20 and not result["misses"]
    )
    assert {x["what"] for x in data["targets"]} <= set(INVERSE_KINEMATICS)


def test_ik_benchmark_lists_the_poses_that_a_solver_misses():
    if not hasattr(lw.Robot, "inverse_kinematics"):
        pytest.skip("no inverse kinematics")

    class Wrong(Linkwork):
        def result(self, X, seed):
            X = X.copy()
            X[..., 0, 3] += 5.0
            return super().result(X, seed)

    figures = measured(ARM, Wrong(ARM), configurations(ARM, 3))
    assert (
        figures.success == 0.0 and len(figures.misses) == 3 and not any(miss["said solved"] for miss in figures.misses)
    )
    assert all("within limits" in miss and miss["within limits"] for miss in figures.misses)
    assert len(misses([figures])) == 3 and "arm7, pose 0: " in misses([figures])[0]
    assert Size.quick().poses < Size().poses
