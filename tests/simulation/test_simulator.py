"""`linkwork.Simulator`: stepping by the user, with the steps of `Robot.simulate`."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.errors import SimulationWarning
from linkwork.expr import where
from linkwork.model.random_tree import random_tree
from linkwork.simulation import ContactGround, ContactPoint


@pytest.fixture(scope="module")
def arm():
    return lw.Robot(random_tree(np.random.default_rng(0), 2, types=(joints.Revolute,)))


def test_stepping_a_simulator_gives_the_result_of_simulate(arm):
    """The bits are equal, with forces and a stateful controller, saved and restored in between."""

    class Counting:
        def __init__(self):
            self.start = {"count": 0.0}

        def __call__(self, t, q, v, z, gain):
            return -gain * q, {"count": z["count"] + 1.0}

    controller = Counting()
    rng = np.random.default_rng(1)
    q, gain = arm.random_configuration(rng, size=3), rng.uniform(0.1, 0.2, 3)
    whole = arm.simulate(q, controller=controller, duration=0.02, constants={"gain": gain})
    simulator = lw.Simulator(arm, controller=controller, batch=3)
    simulator.reset(q)
    simulator.step(gain=gain, count=5)
    saved = pickle.loads(pickle.dumps(simulator.state))
    simulator.step(gain=gain, count=5)
    simulator.restore(saved)
    for _ in range(3):
        state = simulator.step(gain=gain, count=5)
    assert np.array_equal(state.q, whole.q[:, -1]) and np.array_equal(state.v, whole.v[:, -1])
    assert np.array_equal(state.controller["count"], [20.0] * 3)
    assert np.abs(simulator.time - 0.02).max() < 1e-15
    alike = lw.Simulator(arm, batch=2)  # as many as there are joints
    assert alike.step().q.shape == alike.step(np.zeros(2)).q.shape == (2, 2)
    pushed = lw.Simulator(arm, batch=3)
    pushed.reset(q)
    for k in range(20):
        pushed.step(-gain[:, None] * whole.q[:, k])
    assert np.abs(pushed.state.q - whole.q[:, -1]).max() < 1e-13
    for simulator_of_kind in (pushed, lw.Simulator(arm, controller=controller)):
        state = simulator_of_kind.state
        with pytest.raises(ValueError, match="read-only"):
            state.q[..., 0] = 1.0


def test_simulator_steps_are_equal_for_arrays_and_lists(arm):
    """One environment with arrays, lists and values that are not finite: same bits, same errors."""

    class Damping:
        def __init__(self):
            self.start = {"sum": 0.0, "last": np.zeros(2)}

        def __call__(self, t, q, v, z, gain):
            return -gain * v + 0.0 * z["sum"], {"sum": z["sum"] + gain[0], "last": q}

    gain = np.array([0.1, 0.2])
    ends = []
    for gains in (gain, gain.tolist()):
        simulator = lw.Simulator(arm, controller=Damping(), parameters={"gravity": [0, 0, -1.62]})
        simulator.reset(arm.neutral() + 0.1)
        for _ in range(4):
            state = simulator.step(gain=gains)
        ends.append(state)
    for a, b in zip(*(pickle.loads(pickle.dumps((*x[:3], *x.controller.values()))) for x in ends), strict=True):
        assert np.array_equal(a, b) and np.asarray(a).shape == np.asarray(b).shape
    assert ends[0].steps == 4.0 and np.isclose(ends[0].controller["sum"], 0.4)
    with pytest.raises(ValueError, match="expected finite"):
        simulator.step(gain=np.array([0.1, np.nan]))
    assert simulator.step(gain=gain, count=2).steps == 6.0


def test_single_environments_of_a_simulator_can_be_reset_and_stopped_environments_state_the_reason(arm):
    """Some environments start again, the others continue; a stopped one states its reason, and restarts at a reset."""

    def controller(t, q, v, bad):
        return where(bad[0] > 0.5, np.nan, 0.0) * np.ones(2)

    simulator = lw.Simulator(
        arm, controller=controller, batch=2, parameters={"gravity": [[0, 0, -9.81], [0, 0, -1.62]]}
    )
    simulator.reset(arm.neutral() + 0.1)
    first = simulator.step(bad=[[0.0], [1.0]])
    assert first.status.tolist() == [0.0, 1.0] and first.steps.tolist() == [1.0, 0.0]
    assert simulator.messages() == [
        "environment 1: controller_failed: the controller returned a non-finite or implausibly large value at 0 s"
    ]
    second = simulator.reset(arm.neutral() + 0.1, where=[False, True])
    assert np.array_equal(second.q[0], first.q[0]) and second.status.tolist() == [0.0, 0.0]
    third = simulator.step(bad=[[0.0], [0.0]])
    assert third.steps.tolist() == [2.0, 1.0]
    alone = lw.Simulator(arm, controller=controller, parameters={"gravity": [0, 0, -1.62]})
    alone.reset(arm.neutral() + 0.1)
    assert np.array_equal(alone.step(bad=[0.0]).q, third.q[1])
    simulator.reset(arm.neutral() + 0.1, where=[False, True], parameters={"gravity": [0, 0, -9.81]})
    assert simulator.parameters["gravity"].tolist() == [[0.0, 0.0, -9.81]] * 2
    fourth = simulator.step(bad=[[0.0], [0.0]])
    assert fourth.steps.tolist() == [3.0, 1.0] and np.array_equal(fourth.q[1], first.q[0])
    alone.reset(arm.neutral() + 0.1, parameters={"gravity": [0, 0, -9.81]})  # of a quick call, too
    assert np.array_equal(alone.step(bad=[0.0]).q, first.q[0])
    for kind, text, wrong in (
        (lw.errors.UnknownNameError, "of its constructor: gravity", {"damping:" + arm.joints[0].name: 0.1}),
        (ValueError, "'gravity'.: expected a shape that broadcasts to \\(2, 3\\), got", {"gravity": [0.0, 0.0]}),
        (ValueError, "expected a shape that broadcasts to", {"gravity": [0.0]}),
        (ValueError, "expected a shape that broadcasts to", {"gravity": np.zeros((3, 3))}),
        (ValueError, "finite", {"gravity": [0.0, np.nan, 0.0]}),
    ):
        with pytest.raises(kind, match=text):
            simulator.reset(arm.neutral(), parameters=wrong)
    assert np.array_equal(simulator.state.q, fourth.q) and simulator.parameters["gravity"].shape == (2, 3)


def test_simulator_has_a_descriptive_repr_and_checks_overlaps_at_resets(arm):
    """Its text; overlaps are checked in the environments that are reset, and in no others."""
    simulator = lw.Simulator(arm, batch=3)
    simulator.step(count=2)
    assert repr(simulator) == f"<Simulator of {arm.name!r}: 3 environments, steps of 0.001 s, at 0.002 s>"
    ball = lw.Robot.build("ball", lw.Link("body", mass=1.0), floating_base=True)
    ground = ContactGround(ContactPoint("body", radius=np.float32(0.125)), friction=np.int64(1), height=np.float32(0))
    assert ground.points[0].radius == 0.125 and type(ground.friction) is float
    simulator, q = lw.Simulator(ball, batch=3, contacts=ground), np.tile(ball.neutral(), (3, 1))
    q[:, -1] = 0.2, 0.1, 0.2
    simulator.reset(q, where=[True, False, True])
    with pytest.warns(SimulationWarning, match="'body' and the ground by 25 mm"):
        simulator.reset(q, where=[True, True, False])


def test_invalid_arguments_of_a_simulator_are_refused(arm):
    simulator = lw.Simulator(arm)
    slow = lw.control.PID(arm, kp=1.0, ki=1.0, kd=0.0, dt=0.01)
    pulled = lw.Simulator(arm, controller=lambda t, q, v, gain: gain * q, batch=2)
    for kind, text, wrong in (
        (TypeError, "expected a robot", lambda: lw.Simulator(3)),
        (ValueError, "dt: expected a finite number > 0", lambda: lw.Simulator(arm, dt=-1.0)),
        (ValueError, "tau: expected joint forces", lambda: simulator.step(np.zeros(3))),
        (ValueError, "expected finite", lambda: simulator.step([np.nan, 0.0])),
        (TypeError, "expected no inputs", lambda: simulator.step(gain=1.0)),
        (ValueError, "count: expected a number of steps", lambda: simulator.step(count=0)),
        (ValueError, r"^Simulator.reset: q\[1\] is NaN", lambda: simulator.reset([0.0, np.nan])),
        (ValueError, "expected shapes that broadcast to the batch \\(\\)", lambda: simulator.reset(np.zeros((2, 2)))),
        (ValueError, "restore: state: expected a finite SimulatorState", lambda: simulator.restore(3)),
        (
            ValueError,
            "state: expected a finite SimulatorState",
            lambda: simulator.restore(simulator.state._replace(v=np.ones(7))),
        ),
        (
            ValueError,
            r"where: expected a bool array of shape \(2,\).*shape \(3,\)",
            lambda: pulled.reset(0.0 * arm.neutral(), where=[True] * 3),
        ),
        (ValueError, "where: expected a bool array of shape.*np.isin", lambda: pulled.reset(arm.neutral(), where=[0])),
        (ValueError, "batch: expected a number", lambda: lw.Simulator(arm, batch=2.5)),
        (
            ValueError,
            "expected one for steps of .* = 0.001 s, got PID for 0.01 s",
            lambda: lw.Simulator(arm, controller=slow),
        ),
        (ValueError, r"gain.*; expected \(2, 1\) for the first", lambda: pulled.step(gain=[1.0, 2.0])),
    ):
        with pytest.raises(kind, match=text):
            wrong()


def test_simulator_warns_of_long_steps_for_new_constants_and_parameters():
    """A controller's damping that grows, and a robot's own that falls, after the kernel is compiled."""
    robot = lw.load("double_pendulum")

    def warns(simulator, **inputs):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            simulator.step(**inputs)
        return any("too long to be stable" in str(warning.message) for warning in caught)

    simulator = lw.Simulator(robot, controller=lambda t, q, v, gain: -gain * v)
    simulator.reset([0.3, 0.2])
    results = [warns(simulator, gain=gain) for gain in (0.1, 0.1, 5e3, 5e3, 0.1)]
    assert results == [False, False, True, False, False]
    simulator.reset([0.3, 0.2])
    assert warns(simulator, gain=np.array(6e3)) and not warns(simulator, gain=np.array(6e3))
    names = {"damping": np.full(2, 1e4)}
    simulator = lw.Simulator(robot, controller=lambda t, q, v: -350.0 * v, parameters=names)
    simulator.reset([0.3, 0.2])
    assert not warns(simulator)
    simulator.reset([0.3, 0.2], parameters={"damping": np.full(2, 1.0)})
    assert warns(simulator)
