"""Random numbers, clocks, files and counters in traced functions: each is reported with its name, line and remedy."""

from __future__ import annotations

import datetime
import itertools
import os
import random
import sys
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from io import StringIO
from random import gauss
from time import perf_counter
from typing import Any, cast

import numpy as np
import pytest
from numpy.random import normal

import linkwork as lw
from linkwork.compiler.trace import side_effects
from linkwork.compiler.trace.side_effects import SideEffects
from linkwork.compiler.trace.trace import trace
from linkwork.errors import TraceWarning
from linkwork.model.friction_laws import FrictionLaw
from linkwork.simulation import Event

GENERATOR, OLD, PLAIN = np.random.default_rng(0), np.random.RandomState(0), random.Random(0)
COUNTER, VALUES, LIST_VALUES = itertools.count(), iter([1.0, 2.0, 3.0]), [0.0]
TABLE, LOG, WEIGHTS = np.zeros(3), StringIO(), np.arange(3.0)
ARM = lw.load("arm6")
CALLS = 0


class Noise:
    def __init__(self) -> None:
        self.rng, self.scale = np.random.default_rng(1), 2.0


class Law:
    """A controller with noise, a count and a table that it fills at its first call."""

    def __init__(self) -> None:
        self.noise, self.calls = Noise(), 0
        self.matrix: Any = None

    def noisy(self, q: Any) -> Any:
        return q + self.noise.rng.normal()

    def counting(self, q: Any) -> Any:
        self.calls += 1
        return q

    def filled(self, q: Any) -> Any:
        if self.matrix is None:
            self.matrix = 2.0 * np.eye(3)
        return self.matrix @ q

    def reset(self) -> float:
        """Return a number that the traced functions do not use."""
        print(time.time())
        return float(self.noise.rng.normal() + np.random.normal())


def counted(q: Any) -> Any:
    global CALLS
    CALLS += 1
    return q


def changed(q: Any) -> Any:
    TABLE[0] += 1.0
    return q


def listed(q: Any) -> Any:
    LIST_VALUES[0] += 1.0
    return q


def imported(q: Any) -> Any:
    import numpy

    return q + numpy.random.normal()


def helped(q: Any) -> Any:
    return q * helper()


def helper() -> Any:
    return np.random.uniform()


def squares() -> Iterator[int]:
    for k in range(99):
        yield k * k


def printed(q: Any) -> Any:
    print("traced", end="")
    return q


def opened(q: Any) -> Any:
    with open(os.devnull) as file:
        return q + len(file.name)


SQUARES = squares()
RANDOM, CLOCK, FILE, NO_REMEDY = "pass random numbers as", "pass the time as", "read and write outside", ""
REPORTED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "np.random draws": (lambda q: q + np.random.normal(), RANDOM),
    "normal draws": (lambda q: q + normal(), RANDOM),
    "numpy.random draws": (imported, RANDOM),
    "np.random draws random numbers": (helped, RANDOM),
    "GENERATOR draws": (lambda q: q + GENERATOR.normal(size=3), RANDOM),
    "OLD draws": (lambda q: q + OLD.normal(), RANDOM),
    "random draws": (lambda q: q + random.random(), RANDOM),
    "gauss draws": (lambda q: q + gauss(0.0, 1.0), RANDOM),
    "PLAIN draws": (lambda q: q + PLAIN.random(), RANDOM),
    "self.noise.rng draws": (Law().noisy, RANDOM),
    "random numbers are drawn from the system": (lambda q: q + np.random.default_rng().normal(), RANDOM),
    "random numbers are drawn from": (lambda q: q + np.random.RandomState().normal(), RANDOM),
    "random numbers are drawn": (lambda q: q + ARM.random_configuration()[:3], RANDOM),
    "random numbers are": (lambda q: q + uuid.uuid4().int % 7, RANDOM),
    "time() is called": (lambda q: q + time.time(), CLOCK),
    "perf_counter() is called": (lambda q: q + perf_counter(), CLOCK),
    "now() is called": (lambda q: q + datetime.datetime.now().timestamp(), CLOCK),
    "open() is called": (opened, FILE),
    "print() is called": (printed, FILE),
    "write() is called": (lambda q: (LOG.write("a"), q)[1], FILE),
    "COUNTER has advanced": (lambda q: q + next(COUNTER), "pass its values"),
    "VALUES has advanced": (lambda q: q + next(VALUES), "pass its values"),
    "SQUARES has advanced": (lambda q: q + next(SQUARES), "pass its values"),
    "self.calls has changed": (Law().counting, "return the computed"),
    "CALLS has changed": (counted, "return the computed"),
    "TABLE has changed": (changed, "return the computed"),
    "LIST_VALUES[0] has changed": (listed, "return the computed"),
}


def reports(call: Callable[[], Any]) -> list[str]:
    """Return the trace warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(x.message) for x in caught if issubclass(x.category, TraceWarning)]


@pytest.mark.parametrize("effect", REPORTED)
def test_side_effects_of_a_traced_function_are_reported_once(effect: str, capsys: pytest.CaptureFixture[str]) -> None:
    function, remedy = REPORTED[effect]
    reported = reports(lambda: trace(function, "f", {"q": 3}))
    assert len(reported) == 1, reported
    assert (
        reported[0].startswith(f"f: {effect}")
        and f"compiled, and not at each call of the kernel: {remedy}" in reported[0]
    )
    assert "test_side_effects.py:" in reported[0]


def seeded(q: Any) -> Any:
    return q + np.random.default_rng(0).normal(size=3) + random.Random(3).random()


def first(q: Any) -> Any:
    return q * next(iter([2.0])) + next(k for k in range(3)) + len(list(WEIGHTS))


def loaded(q: Any) -> Any:
    return lw.load("arm6").gravity_force(np.zeros(6))[:3] + ARM.random_configuration(seed=0)[:3] + q


class Proxy:
    """An object without a subject, as those of web frameworks outside of a request."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("outside of a request")


class Unreadable(float):
    def __repr__(self) -> str:
        raise ValueError("no text")


PROXY, UNREADABLE = Proxy(), Unreadable(2.0)


def unread(q: Any) -> Any:
    return q * UNREADABLE if UNREADABLE > 1.0 else PROXY.factor


def test_all_variables_that_a_traced_function_changes_are_reported() -> None:
    first, second = 0, 0

    def counting(q: Any) -> Any:
        nonlocal first, second
        first, second = first + 1, second + 1
        return q

    reported = reports(lambda: trace(counting, "f", {"q": 3}))
    assert [x for x in reported if "first" in x] and [x for x in reported if "second" in x], reported


def test_constants_read_by_a_traced_function_are_not_reported_as_side_effects() -> None:
    law = Law()
    drawn = GENERATOR.normal(size=3)

    def chosen(q: Any) -> Any:
        if False:
            print(time.time(), np.random.normal(), next(COUNTER))
        return q * drawn * LIST_VALUES[0] + TABLE

    def weighed(q: Any) -> Any:
        return WEIGHTS * q

    for function in (seeded, first, loaded, chosen, law.filled, weighed, unread):
        assert not reports(partial(trace, function, "f", {"q": 3})), function
    assert not reports(lambda: trace(lambda q: lw.scan(lambda c, x: (c + x, c), q[0], q)[1], "f", {"q": 3}))
    assert law.matrix is not None


def test_profiler_set_by_the_user_stays_active_after_tracing() -> None:
    events: list[str] = []

    def profiler(frame: Any, event: str, argument: Any) -> None:
        events.append(event)

    sys.setprofile(profiler)
    try:
        reported = reports(lambda: trace(lambda q: q + time.time(), "f", {"q": 3}))
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)
    assert "c_call" in events and not reported
    with SideEffects(opened).noted():
        assert isinstance(getattr(sys.getprofile(), "__self__", None), SideEffects)
    assert sys.getprofile() is None


@pytest.mark.slow(every=5)
def test_side_effects_in_controllers_and_control_laws_are_reported() -> None:
    rng, robot = np.random.default_rng(3), lw.load("double_pendulum")
    q, zero_velocity = robot.neutral(), np.zeros(ARM.nv)

    class Noisy(FrictionLaw):
        name, uses = "noisy", ("sliding",)

        def resistance(self, v: Any, friction: Any) -> Any:
            return v * rng.normal()

    for call in (
        lambda: robot.simulate(q, duration=0.02, dt=0.01, controller=lambda t, q, v: -q + rng.normal()),
        lambda: robot.simulate(q, duration=0.02, dt=0.01, events=Event("end", lambda t, q, v: q[0] - rng.normal())),
        lambda: ARM.inverse_dynamics(zero_velocity, zero_velocity, zero_velocity, passive=True, friction=Noisy()),
    ):
        reported = reports(call)
        assert reported and all(
            ": rng draws random numbers (" in x and "test_side_effects.py:" in x for x in reported
        ), reported


@pytest.mark.slow(every=9)
def test_side_effects_in_rewards_and_observations_of_environments_are_reported() -> None:
    pytest.importorskip("gymnasium")
    from linkwork.environments import TASKS, VectorEnvironment

    rng, task = np.random.default_rng(3), cast(Any, TASKS["reacher"]())
    noisy: dict[str, Callable[..., Any]] = {
        "reward": lambda q, v, action, goal: q[0] + rng.normal(),
        "observe": lambda q, v, goal: np.concatenate([q, v]) * rng.normal(),
    }

    def run(name: str) -> None:
        envs: Any = VectorEnvironment(replace(task, **{name: noisy[name]}), num_envs=2)
        envs.reset(seed=0)
        envs.step(np.zeros(envs.action_space.shape))

    for name in noisy:
        reported = reports(partial(run, name))
        assert reported and all(": rng draws random numbers (" in x for x in reported), reported


def test_modules_of_installed_packages_are_not_the_users() -> None:
    assert not side_effects._is_of_user_module(np)
    assert side_effects._is_of_user_module(sys.modules[__name__])
