"""Events within steps, jumps, and the motion between records, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.expr import array, where
from linkwork.model.random_tree import random_tree
from linkwork.simulation import Event

G = 9.81


@pytest.fixture(scope="module")
def falling():
    """A mass that slides up and down."""
    return lw.Robot.build(
        "falling",
        lw.Link("mass", mass=1.0),
        lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="rail", parent="world", child="mass"),
    )


def bounce(restitution):
    return Event("floor", lambda t, q, v: q[0], direction=-1, jump=lambda t, q, v: (q, -restitution * v))


@pytest.mark.slow(every=5)
def test_simulated_bouncing_times_and_heights_equal_closed_forms(falling):
    """A body keeps a fraction of its speed at each impact, in long steps."""
    e, top = 0.8, 0.5 * G * 0.3**2
    events = [bounce(e), Event("top", lambda t, q, v: v[0], direction=-1)]
    v = np.array([[0.0], [1.0]])
    q = np.array([[top], [top]])
    for method in ("rk4", "dormand_prince"):
        result = falling.simulate(q, v, duration=2.0, dt=0.05, method=method, events=events, passive=False)
        hits = [x for x in result.events if x.name == "floor" and x.environment == (0,)]
        speeds = 0.3 * G * e ** np.arange(len(hits) + 1)
        times = 0.3 + np.concatenate([[0.0], np.cumsum(2.0 * speeds[1:] / G)])[: len(hits)]
        assert len(hits) == 6 and np.abs([x.time - t for x, t in zip(hits, times, strict=True)]).max() < 1e-12
        assert np.abs([x.next_v[0] - s for x, s in zip(hits, speeds[1:], strict=True)]).max() < 1e-11
        tops = [x.q[0] for x in result.events if x.name == "top" and x.environment == (0,)]
        assert np.abs(np.array(tops) - 0.5 * speeds[: len(tops)] ** 2 / G).max() < 1e-12
        trajectory = result.trajectory(0)
        for t in (0.3 + 0.013, 0.29, times[2] + 0.01, 1.99):
            k = int(np.searchsorted(times, t))
            u = t - times[k - 1] if k else t
            height = speeds[k] * u - 0.5 * G * u * u if k else top - 0.5 * G * u * u
            assert abs(trajectory(t).q[0] - height) < 1e-11, (method, t)
        alone = falling.simulate(q[1], v[1], duration=2.0, dt=0.05, method=method, events=events, passive=False)
        assert np.array_equal(alone.q, result.q[1])
        assert [x.time for x in alone.events] == [x.time for x in result.events if x.environment == (1,)]
    at_rest = falling.simulate(q, v, duration=10.0, dt=0.05, method="rk4", events=[bounce(0.5)], passive=False)
    assert (
        at_rest.status.tolist() == ["too_many_events"] * 2 and not at_rest.success.any()
    )  # it comes to rest in ever shorter bounces
    assert abs(at_rest.stopped_at[0] - 0.9) < 0.05 and "events happened between two records" in at_rest.explain(0)


def test_simulator_reports_the_events_of_simulate(falling):
    """Events belong to the step in which they happen; ended environments stay, and can be restored and reset."""
    how = {"dt": 0.05, "method": "rk4", "passive": False}
    events = [bounce(0.8), Event("late", lambda t, q, v: t - 1.02, stop=True)]
    q = np.array([[0.5], [0.3]])
    whole = falling.simulate(q, duration=1.5, events=events, **how)
    simulator = lw.Simulator(falling, batch=2, events=events, **how)
    simulator.reset(q)
    events_of_steps = []
    for k in range(15):
        state = simulator.step(count=2)
        events_of_steps += simulator.events
        assert np.array_equal(state.q, whole.q[:, 2 * k + 2])
    events_of_steps.sort(key=lambda event: (event.environment, event.time))
    assert len(events_of_steps) == len(whole.events) > 5
    assert all(
        np.array_equal(a, b)
        for actual, expected in zip(events_of_steps, whole.events, strict=True)
        for a, b in zip(actual, expected, strict=True)
    )
    simulator.restore(state)
    assert np.array_equal(simulator.time, whole.stopped_at) and np.abs(simulator.time - 1.02).max() < 1e-12
    assert simulator.messages()[1] == "environment 1: ended_by_event: ended by an event at 1.02 s"
    assert simulator.status.tolist() == ["ended_by_event"] * len(simulator.status)
    simulator.reset(q[0], where=[False, True])
    assert simulator.time[1] == 0.0 and np.array_equal(simulator.step(count=2).q[1], whole.q[0, 2])
    alone = lw.Simulator(falling, events=events, **how)
    alone.reset(q[1])
    assert np.array_equal(alone.step(count=40).q, whole.q[1, -1])
    assert alone.messages() == ["ended_by_event: ended by the event 'late' at 1.02 s"]


@pytest.mark.slow(every=3)
def test_derivatives_through_simulation_events_equal_closed_forms(falling):
    """Jumps and ends in a kernel have the derivatives of closed forms, also of times."""
    watching = Event("top", lambda t, q, v: v[0], direction=-1)
    landed = Event("landed", lambda t, q, v: q[0], direction=-1, stop=True)
    how = {"duration": 0.75, "dt": 0.05, "method": "rk4", "passive": False}

    def motion(q, v, e):
        floor = Event("floor", lambda t, q, v: q[0], direction=-1, jump=lambda t, q, v: (q, -e * v))
        bounced = falling.simulate(q, v, events=[watching, floor], record_every=5, **how)
        ended = falling.simulate(q, v, events=landed, **how)
        return np.concatenate([bounced.q[-1], bounced.v[-1], ended.v[-1], array([ended.stopped_at])])

    kernel = lw.compile(motion, q=1, v=1, e=())
    q, v, e = np.array([0.5]), np.array([0.3]), 0.8
    end = kernel(q, v, e)
    plain = falling.simulate(q, v, events=[watching, bounce(e)], **how)
    assert [event.name for event in plain.events] == ["top", "floor", "top"]
    assert np.abs(end[:2] - [*plain.q[-1], *plain.v[-1]]).max() < 1e-13
    u = np.sqrt(v[0] ** 2 + 2.0 * G * q[0])  # the speed at T = (v + u) / g
    T, left = (v[0] + u) / G, 0.75 - (v[0] + u) / G
    d_u, d_T = np.array([G / u, v[0] / u, 0.0]), np.array([1.0 / u, (1.0 + v[0] / u) / G, 0.0])
    d_v = e * d_u + G * d_T + [0.0, 0.0, u]
    d_q = e * d_u * left + [0.0, 0.0, u * left] - (e * u - G * left) * d_T
    assert np.allclose(end, [e * u * left - 0.5 * G * left**2, e * u - G * left, -u, T], atol=1e-12)
    for mode in ("forward", "reverse"):
        slopes = np.concatenate([np.reshape(x, (4, 1)) for x in kernel.jacobian(mode=mode)(q, v, e)], axis=1)
        assert np.abs(slopes - [d_q, d_v, -d_u, d_T]).max() < 1e-11, mode


@pytest.mark.slow(every=5)
def test_events_that_do_not_jump_or_end_leave_the_motion_unchanged():
    """An event that stops ends the motion where its guard is zero."""
    rng = np.random.default_rng(0)
    arm = lw.Robot(random_tree(rng, 2, types=(joints.Revolute,)))
    q, v = arm.random_configuration(rng), rng.normal(size=2)
    how = {"duration": 1.0, "dt": 0.01, "passive": False, "controller": lambda t, q, v, push: push}
    how |= {"time_inputs": {"push": 0.01 * rng.normal(size=(100, 2))}}
    plain = arm.simulate(q, v, **how)
    fast, far = np.median(plain.v[:, 0]) + 1e-3, plain.q[30, 1] + 1e-3
    watched = [Event("first", lambda t, q, v: v[0] - fast), Event("second", lambda t, q, v: q[1] - far)]
    result = arm.simulate(q, v, events=watched, **how)
    assert np.abs(result.q - plain.q).max() < 1e-12 and np.abs(result.v - plain.v).max() < 1e-12
    for name, left, x in (("first", lambda e: e.v[0] - fast, plain.v[:, 0] - fast),
                          ("second", lambda e: e.q[1] - far, plain.q[:, 1] - far)):  # fmt: skip
        mine = [event for event in result.events if event.name == name]
        assert len(mine) == np.count_nonzero(x[1:] * x[:-1] < 0) > 0
        assert all(abs(left(event)) < 1e-12 for event in mine)
    how |= {"events": [*watched, Event("end", lambda t, q, v: t - 0.503, stop=True)]}
    cut = arm.simulate(q, v, **how)
    assert cut.success and abs(cut.stopped_at - 0.503) < 1e-12
    assert cut.message == "ended by the event 'end' at 0.503 s"
    assert np.array_equal(cut.q[-1], cut.events[-1].q) and np.abs(cut.q[50] - plain.q[50]).max() < 1e-12
    assert cut.trajectory().duration == cut.stopped_at
    # a guard that is NaN from some time on ends what it watches there, and says so
    lost = Event("lost", lambda t, q, v: where(t > 0.305, np.nan, 1.0) + 0.0 * q[0])
    stopped = arm.simulate(q, v, **{**how, "events": [watched[0], lost]})
    assert not stopped.success and stopped.status == "guard_not_finite"
    assert stopped.message == "the guard of 'lost' is NaN at 0.3 s"
    assert np.array_equal(stopped.q[-1], stopped.q[30]) and not np.array_equal(stopped.q[30], stopped.q[29])


@pytest.mark.slow(every=5)
def test_simulated_motion_between_records_follows_the_interpolant():
    """Dormand–Prince steps far apart, on rotations, with parameters."""
    rng = np.random.default_rng(3)
    robot = lw.Robot(random_tree(rng, 1, types=(joints.Spherical,)))
    q, v = robot.random_configuration(rng, size=2), 3.0 * rng.normal(size=(2, 3))
    how = {"duration": 1.0, "passive": False, "parameters": {"gravity": [[0.0, 0.0, -9.81], [1.0, 0.0, 0.0]]}}
    result = robot.simulate(q, v, dt=0.25, method="dormand_prince", **how)
    best = robot.simulate(q, v, dt=1e-3, method="rk4", record_every=25, **how)
    for k in (0, 1):
        trajectory = result.trajectory(k)
        at = trajectory(best.t)
        assert np.abs(robot.difference(at.q, best.q[k])).max() < 2e-8
        assert np.abs(at.v - best.v[k]).max() < 1e-6
        assert np.abs(trajectory(result.t).q - result.q[k]).max() < 1e-15


def test_invalid_events_of_simulations_are_refused(falling):

    def run(*events):
        return falling.simulate([0.1], duration=0.1, dt=0.05, events=events)

    for kind, text, wrong in (
        (ValueError, "direction: expected -1, 0 or 1", lambda: Event("x", len, direction=2)),
        (TypeError, "guard: expected a function of t, q and v", lambda: Event("x", 3)),
        (ValueError, "name: expected a non-empty string", lambda: Event("", len)),
        (TypeError, "expected linkwork.simulation.Event", lambda: run(3)),
        (ValueError, "expected distinct names", lambda: run(bounce(0.5), bounce(0.6))),
        (ValueError, "guard: expected one value, got 2", lambda: run(Event("x", lambda t, q, v: [*q, *v]))),
        (
            ValueError,
            r"jump: expected v \(1,\), got 2 values",
            lambda: run(Event("x", lambda t, q, v: q[0], jump=lambda t, q, v: (q, [*v, *v]))),
        ),
        (
            ValueError,
            "expected a method of linkwork in compiled functions",
            lambda: lw.compile(lambda q: falling.simulate(q, duration=0.1, dt=0.1, method="scipy:RK45").q, q=1),
        ),
    ):
        with pytest.raises(kind, match=text):
            wrong()
