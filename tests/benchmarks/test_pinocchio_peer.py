"""The translation between linkwork's conventions and Pinocchio's."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.peers.pinocchio_peer import COUNTERPARTS, CannotCompare, Pinocchio, agreement, disagreement

import linkwork as lw
from linkwork.cli.arguments import random_states
from linkwork.cli.function_timings import FUNCTIONS
from linkwork.robot.robot_table import ROBOT

pytest.importorskip("pinocchio")

INERTIAL = (
    '<inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/>'
    '<inertia ixx="1" iyy="1.5" izz="2" ixy="0.1" ixz="0" iyz="0"/></inertial>'
)
JOINTS = (("z", "continuous", "a", "b"), ("y", "prismatic", "a", "c"), ("x", "continuous", "b", "d"))
MIXED = (
    '<robot name="mixed">'
    + "".join(f'<link name="{link}">{INERTIAL}</link>' for link in "abcd")
    + "".join(
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        '<origin xyz="0.3 0 0.1" rpy="0.4 0 0"/><axis xyz="0 0.6 0.8"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        for name, kind, parent, child in JOINTS
    )
    + "</robot>"
)


@pytest.fixture
def urdf(tmp_path):
    """Write a URDF's text to a file; returns its path."""

    def write(text: str) -> str:
        path = tmp_path / "robot.urdf"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.fixture(params=["mixed", "humanoid", "arm7"])
def peer(request, urdf):
    source = urdf(MIXED) if request.param == "mixed" else request.param
    return Pinocchio(lw.load(source, floating_base=request.param != "arm7", gravity=(1.0, -2.0, -9.0)))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_pinocchio_adapter_of_the_benchmarks_computes_linkworks_results(peer, function):
    error, bound = agreement(peer.robot, peer, function)
    assert error <= bound < 1e-6


@pytest.mark.slow(every=9)
def test_every_pinocchio_counterpart_of_a_benchmarked_function_agrees(urdf):
    """A robot with joints in another order in Pinocchio, with links fixed to the world or not."""
    for floating in (True, False):
        robot = lw.load(urdf(MIXED), floating_base=floating, gravity=(1.0, -2.0, -9.0))
        assert floating or robot.tree.fixed_inertia.mass > 0.0
        peer = Pinocchio(robot)
        for function in sorted(set(COUNTERPARTS) - set(FUNCTIONS)):
            frames = ("d",) if ROBOT[function].requires_frame else ()
            error, bound = agreement(robot, peer, function, *frames, samples=3)
            assert error <= bound < 1e-6, function
            states = random_states(robot, function, 0, 2)
            call = peer.batch(function, states, *frames)
            exec(call.statement, dict(call.names))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_timed_pinocchio_calls_compute_the_compared_results(peer, function):
    states = random_states(peer.robot, function, 0, 5)
    expected = peer.results(function, states)
    call = peer.batch(function, states)
    names = dict(call.names)
    exec(call.statement, names)
    if "out" in names:
        np.testing.assert_allclose(peer.ours(names["out"].T), expected, rtol=1e-8)
    single = peer.single(function, {name: x[0] for name, x in states.items()})
    result = eval(single.statement, dict(single.names))
    if function.endswith("dynamics"):
        np.testing.assert_array_equal(peer.ours(result), expected[0])


def test_states_are_converted_to_pinocchios_conventions_for_benchmarks(urdf):
    peer = Pinocchio(lw.load(urdf(MIXED), floating_base=True))
    q = np.array([0.5, -0.5, 0.5, 0.5, 1.0, 2.0, 3.0, 0.1, 0.2, 0.3])  # w x y z, position, z, x, y
    v = np.arange(1.0, 10.0)
    order = [joint.name for joint in peer.robot.joints]
    assert order == ["floating_base", "z", "x", "y"]
    result = peer.states({"q": q, "v": v})
    np.testing.assert_allclose(result["q"][:7], [1.0, 2.0, 3.0, -0.5, 0.5, 0.5, 0.5])
    assert sorted(result["q"][7:]) == pytest.approx(sorted([np.cos(0.1), np.sin(0.1), np.cos(0.2), np.sin(0.2), 0.3]))
    np.testing.assert_allclose(result["v"], [4, 5, 6, 1, 2, 3, 9, 7, 8])  # there: y before z and what it carries


def test_benchmark_detects_results_that_differ_from_pinocchio():
    reference = np.array([[100.0, 1.0], [0.1, 0.2]])
    assert disagreement(reference, reference) == 0.0
    assert disagreement(np.array([[101.0, 1.0], [0.1, 0.2]]), reference) == pytest.approx(0.01)
    assert disagreement(np.array([[100.0, 1.0], [0.1, 0.7]]), reference) == pytest.approx(0.5)
    assert disagreement(reference * np.nan, reference) == np.inf
    assert disagreement(reference[:1], reference) == np.inf


def test_robots_without_a_pinocchio_counterpart_are_refused_by_the_benchmark(urdf, monkeypatch):
    robot = lw.load(urdf(MIXED))
    with pytest.raises(CannotCompare, match="no counterpart"):
        Pinocchio(robot).results("gravity_force", {"q": np.zeros((1, robot.nq))})
    text_only = lw.Robot.from_urdf_string(MIXED)
    with pytest.raises(CannotCompare, match="not read from a file"):
        Pinocchio(text_only)
    monkeypatch.setattr("linkwork.compare.pinocchio_model.pinocchio_version", lambda: None)
    with pytest.raises(CannotCompare, match="not installed"):
        Pinocchio(robot)
