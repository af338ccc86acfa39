"""`python -m benchmarks.mechanism_energy`: energy of undamped mechanisms over a minute, by method, step and speed.

Bundled robots with constraints, and random mechanisms with loops: planar chains of three to five links pinned at both
ends, slider-cranks, and spatial four-bars with ball joints.  Each starts at a random velocity that its constraints
allow, scaled so that its fastest joint turns at a speed.  Of each run the table has the largest error of the energy,
what of it is gained at most, and its drift from the first tenth to the last, as parts of the largest kinetic energy;
and how far the fastest joint turned in a step at most.  Symplectic methods are bounded by the square of that in what
they gain; what passes a singular configuration may lose more.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import linkwork as lw
from linkwork.errors import SimulationWarning

__all__ = ["BUNDLED", "METHODS", "EnergyRun", "bundled_mechanism", "energy_runs", "main", "random_mechanism"]

BUNDLED = ("fourbar", "delta", "stewart", "leg", "bicycle", "differential_drive")
METHODS = ("semi_implicit_euler", "variational", "implicit_midpoint", "implicit_euler", "rk4", "dormand_prince")
SYMPLECTIC = ("semi_implicit_euler", "variational")
STEPS, SPEEDS, DURATION = (1e-3, 2e-3), (3.0, 10.0), 60.0
BOUND = 2.0  # times the square of the largest turn in a step: the gain of symplectic methods, by kinetic energy
HINGE = lw.joints.Revolute((0, 1, 0))


@dataclass(frozen=True)
class EnergyRun:
    """A mechanism's motion: its largest error of energy, gain and drift, by kinetic energy, and the largest turn in a
    step [rad]; ``reason`` is why it stopped, empty where it did not."""

    robot: str
    method: str
    step: float
    speed: float
    error: float
    gain: float
    drift: float
    turn: float
    reason: str


def bundled_mechanism(name: str) -> tuple[lw.Robot, np.ndarray]:
    """A bundled robot without damping and friction, and a configuration in which it is assembled."""
    robot = lw.load(name).with_joint_dynamics(damping=0.0, friction=0.0)
    return robot, robot.project(robot.neutral())


def random_mechanism(rng: np.random.Generator) -> tuple[lw.Robot, np.ndarray]:
    """A mechanism with a loop, of random lengths and inertias, and a configuration in which it is assembled."""
    kind = rng.choice(["chain", "slider", "spatial"])
    if kind == "spatial":
        return _spatial(rng)
    pins = np.zeros((int(rng.integers(4, 7)) if kind == "chain" else 3, 3))
    for k in range(1, len(pins)):
        angle = rng.uniform(0.3, 2.6) * (1.0 if k % 2 else -1.0)
        pins[k] = pins[k - 1] + rng.uniform(0.15, 0.4) * np.array([np.cos(angle), 0.0, np.sin(angle)])
    parts: list[object] = []
    parent, before = "world", np.zeros(3)
    for k in range(len(pins) - 1):
        parts += [
            _link(rng, f"link{k}", pins[k + 1] - pins[k]),
            lw.Joint.of(HINGE, name=f"pin{k}", parent=parent, child=f"link{k}", placement=lw.pose(pins[k] - before)),
        ]
        parent, before = f"link{k}", pins[k]
    base = "world"
    if kind == "slider":
        rail = lw.joints.Prismatic((1, 0, 0))
        parts += [
            lw.Link("slider", mass=rng.uniform(0.2, 2.0), inertia=(1e-3,) * 3),
            lw.Joint.of(rail, name="rail", parent="world", child="slider", placement=lw.pose(pins[-1])),
        ]
        base = "slider"
    robot = lw.Robot.build(f"{kind} of {len(pins) - 1}", *parts)
    robot = robot.with_frame("end", parent, lw.pose(pins[-1] - before))
    robot = robot.with_frame("ground", base, lw.pose(pins[-1] if base == "world" else np.zeros(3)))
    return robot.with_loop("closure", HINGE, "end", "ground"), np.zeros(robot.nq)


def _spatial(rng: np.random.Generator) -> tuple[lw.Robot, np.ndarray]:
    """Two hinges about random axes, and a rod between their arms on two balls."""
    first, last = rng.normal(size=(2, 3))
    begin, end = np.zeros(3), np.array([0.5, 0.1, 0.1])
    ways = 0.2 * np.array([np.cross(first, rng.normal(size=3)), np.cross(last, rng.normal(size=3))])
    rod = end + ways[1] - (begin + ways[0])
    robot = lw.Robot.build(
        "spatial four-bar",
        _link(rng, "crank", ways[0]),
        lw.Joint.of(lw.joints.Revolute(first), name="pin0", parent="world", child="crank", placement=lw.pose(begin)),
        _link(rng, "rod", rod),
        lw.Joint.of(lw.joints.Spherical(), name="ball", parent="crank", child="rod", placement=lw.pose(ways[0])),
        _link(rng, "rocker", ways[1]),
        lw.Joint.of(lw.joints.Revolute(last), name="pin1", parent="world", child="rocker", placement=lw.pose(end)),
    )
    robot = robot.with_frame("rod end", "rod", lw.pose(rod)).with_frame("tip", "rocker", lw.pose(ways[1]))
    return robot.with_loop("closure", lw.joints.Spherical(), "rod end", "tip"), robot.neutral()


def _link(rng: np.random.Generator, name: str, way: np.ndarray) -> lw.Link:
    """A link of random mass along a way from its frame's origin."""
    mass, size = rng.uniform(0.2, 2.0), float(np.linalg.norm(way))
    moment = mass * size**2 * rng.uniform(0.05, 0.2)
    return lw.Link(name, mass=mass, com=way * rng.uniform(0.2, 0.8), inertia=(moment, moment, moment))


def energy_runs(
    robot: lw.Robot,
    q: np.ndarray,
    method: str,
    steps: Sequence[float] = STEPS,
    speeds: Sequence[float] = SPEEDS,
    duration: float = DURATION,
) -> Iterator[EnergyRun]:
    """Simulate by a method from q, at each step and speed."""
    v = robot.project_velocity(q, np.random.default_rng(1).normal(size=robot.nv))
    v = np.asarray(speeds)[:, None] * v / np.abs(v).max()

    def energies(t: object, q: object, v: object, tau: object) -> object:
        return [robot.kinetic_energy(q, v, passive=True), robot.potential_energy(q, passive=True)]

    for h in steps:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimulationWarning)
            found = robot.simulate(
                np.tile(q, (len(speeds), 1)),
                v,
                duration=duration,
                step=h,
                method=method,
                every=5,
                limits="ignored",
                record={"energies": energies},
            )
        for k, speed in enumerate(speeds):
            kinetic, potential = found.records["energies"][k].T
            error = (kinetic + potential - kinetic[0] - potential[0]) / kinetic.max()
            tenth = len(error) // 10
            drift = error[-tenth:].mean() - error[:tenth].mean()
            turn = h * float(np.abs(found.v[k]).max())
            reason = "" if found.status[k] == 0 else found.reasons()[k]
            size, gain = float(np.abs(error).max()), float(error.max())
            yield EnergyRun(robot.name, method, h, speed, size, gain, float(drift), turn, reason)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; returns 1 where a symplectic method is beyond its bound."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mechanism_energy", description=__doc__)
    parser.add_argument("--random", type=int, default=100, help="how many random mechanisms")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--bundled", nargs="*", default=BUNDLED, choices=BUNDLED)
    parser.add_argument("--duration", type=float, default=DURATION)
    chosen = parser.parse_args(arguments)
    mechanisms = [bundled_mechanism(name) for name in chosen.bundled]
    mechanisms += [random_mechanism(np.random.default_rng(seed)) for seed in range(chosen.random)]
    failed = 0
    heads = f"{'step':>7} {'speed':>6} {'error':>9} {'gain':>9} {'drift':>10} {'turn':>8}"
    print(f"{'mechanism':24} {'method':20} {heads}")
    worst: dict[tuple[str, str, float, float], list[EnergyRun]] = {}
    for count, (robot, q) in enumerate(mechanisms):
        for method in chosen.methods:
            for run in energy_runs(robot, q, method, duration=chosen.duration):
                if count < len(chosen.bundled):
                    failed += _printed(run)
                else:
                    if _beyond(run):
                        _printed(run)
                    worst.setdefault(("random", method, run.step, run.speed), []).append(run)
        sys.stdout.flush()
    for (_, method, step, speed), runs in worst.items():
        errors, drifts = (np.array([getattr(run, name) for run in runs]) for name in ("error", "drift"))
        gain, turn = (max(getattr(run, name) for run in runs) for name in ("gain", "turn"))
        stopped, over = sum(bool(run.reason) for run in runs), sum(map(_beyond, runs))
        failed += over
        print(
            f"{len(runs)} random: {method:20} {step:7g} {speed:6g}: error median {np.median(errors):.1e}, 95 % "
            f"{np.quantile(errors, 0.95):.1e}, worst {errors.max():.1e}; largest gain {gain:.1e}; drift from "
            f"{drifts.min():+.1e} to {drifts.max():+.1e}; stopped {stopped}; beyond the bound {over}; largest turn "
            f"{turn:.2f}"
        )
    return int(failed > 0)


def _beyond(run: EnergyRun) -> bool:
    return run.method in SYMPLECTIC and (bool(run.reason) or run.gain > BOUND * run.turn**2 + 1e-9)


def _printed(run: EnergyRun) -> bool:
    beyond = _beyond(run)
    print(
        f"{run.robot[:24]:24} {run.method:20} {run.step:7g} {run.speed:6g} {run.error:9.1e} {run.gain:9.1e} "
        f"{run.drift:+10.1e} {run.turn:8.3f}{'  beyond the bound' if beyond else ''} {run.reason}"
    )
    return beyond


if __name__ == "__main__":
    sys.exit(main())
