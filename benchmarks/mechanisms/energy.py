"""Energy of undamped mechanisms over a minute, by method, step and speed: `python -m benchmarks.mechanisms.energy`.

The mechanisms are bundled robots with constraints, and random mechanisms with loops: planar chains of three to five
links pinned at both ends, slider-cranks, and spatial four-bars with ball joints.  Each run starts at a random velocity
consistent with the constraints, scaled to a prescribed speed of the fastest joint.  The table lists the maximum energy
error, the maximum gain and loss, and the drift from the first to the last tenth, relative to the maximum kinetic
energy.  It also lists the maximum rotation of the fastest joint in a step; the square of this bounds the energy gain of
symplectic methods.

A sweep can be interrupted: ``--resume FILE`` stores a line of JSON for each run, computes only missing runs, and prints
the tables of all runs in the file.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

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
    """A mechanism's motion over a duration [s].

    Error, gain, loss and drift of the energy are maxima relative to the kinetic energy.  The rotation is the maximum
    in a step [rad].  ``reason`` says why the run stopped early; empty for a complete run.
    """

    robot: str
    method: str
    step: float
    speed: float
    duration: float
    error: float
    gain: float
    loss: float
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
    return robot.with_loop("closure", "end", "ground", HINGE), np.zeros(robot.nq)


def _spatial(rng: np.random.Generator) -> tuple[lw.Robot, np.ndarray]:
    """Two hinges about random axes, and a rod between their arms on two balls."""
    first, last = rng.normal(size=(2, 3))
    begin, end = np.zeros(3), np.array([0.5, 0.1, 0.1])
    directions = 0.2 * np.array([np.cross(first, rng.normal(size=3)), np.cross(last, rng.normal(size=3))])
    rod = end + directions[1] - (begin + directions[0])
    robot = lw.Robot.build(
        "spatial four-bar",
        _link(rng, "crank", directions[0]),
        lw.Joint.of(lw.joints.Revolute(first), name="pin0", parent="world", child="crank", placement=lw.pose(begin)),
        _link(rng, "rod", rod),
        lw.Joint.of(lw.joints.Spherical(), name="ball", parent="crank", child="rod", placement=lw.pose(directions[0])),
        _link(rng, "rocker", directions[1]),
        lw.Joint.of(lw.joints.Revolute(last), name="pin1", parent="world", child="rocker", placement=lw.pose(end)),
    )
    robot = robot.with_frame("rod end", "rod", lw.pose(rod)).with_frame("tip", "rocker", lw.pose(directions[1]))
    return robot.with_loop("closure", "rod end", "tip", lw.joints.Spherical()), robot.neutral()


def _link(rng: np.random.Generator, name: str, direction: np.ndarray) -> lw.Link:
    """A link of random mass along a way from its frame's origin."""
    mass, size = rng.uniform(0.2, 2.0), float(np.linalg.norm(direction))
    moment = mass * size**2 * rng.uniform(0.05, 0.2)
    return lw.Link(name, mass=mass, com=direction * rng.uniform(0.2, 0.8), inertia=(moment, moment, moment))


def energy_runs(
    robot: lw.Robot,
    q: np.ndarray,
    method: str,
    steps: Sequence[float] = STEPS,
    speeds: Sequence[float] = SPEEDS,
    duration: float = DURATION,
    name: str = "",
) -> Iterator[EnergyRun]:
    """Simulate by a method from q, at each step and speed; ``name`` stands in the runs, by default the robot's."""
    v = robot.project_velocity(q, np.random.default_rng(1).normal(size=robot.nv))
    v = np.asarray(speeds)[:, None] * v / np.abs(v).max()

    def energies(t: object, q: object, v: object, tau: object) -> object:
        return [robot.kinetic_energy(q, v, passive=True), robot.potential_energy(q, passive=True)]

    for h in steps:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimulationWarning)
            result = robot.simulate(
                np.tile(q, (len(speeds), 1)),
                v,
                duration=duration,
                dt=h,
                method=method,
                record_every=5,
                joint_limit_mode="ignored",
                record={"energies": energies},
            )
        for k, speed in enumerate(speeds):
            kinetic, potential = result.records["energies"][k].T
            error = (kinetic + potential - kinetic[0] - potential[0]) / kinetic.max()
            tenth = len(error) // 10
            drift = float(error[-tenth:].mean() - error[:tenth].mean())
            turn = h * float(np.abs(result.v[k]).max())
            reason = "" if result.success[k] else result.explain(k)
            gain, loss = float(error.max()), float(-error.min())
            run = (method, h, speed, duration, max(gain, loss), gain, loss, drift, turn, reason)
            yield EnergyRun(name or robot.name, *run)


def sweep(
    mechanisms: Sequence[str],
    methods: Sequence[str],
    steps: Sequence[float],
    speeds: Sequence[float],
    duration: float,
    known: Iterable[EnergyRun] = (),
) -> Iterator[EnergyRun]:
    """Simulate mechanisms by name, "random 7" being that of the seed 7, but for the runs that are ``known``."""
    done = {_which(run) for run in known}
    for name in mechanisms:
        mechanism = None
        for method in methods:
            for h in steps:
                pending = [x for x in speeds if (name, method, h, x, duration) not in done]
                if not pending:
                    continue
                mechanism = _mechanism(name) if mechanism is None else mechanism
                yield from energy_runs(*mechanism, method, (h,), pending, duration, name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; returns 1 where a symplectic method is beyond its bound."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mechanisms.energy", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--bundled", nargs="*", default=BUNDLED, choices=BUNDLED, help="robots (all)")
    parser.add_argument("--random", type=int, default=100, help="how many random mechanisms (100)")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first of them (0)")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--steps", nargs="+", type=float, default=STEPS, help="[s]")
    parser.add_argument("--speeds", nargs="+", type=float, default=SPEEDS, help="of the fastest joint [rad/s or m/s]")
    parser.add_argument("--duration", type=float, default=DURATION, help="[s]")
    parser.add_argument("--resume", type=Path, help="file of runs: existing runs are skipped, new ones added")
    parser.add_argument("--json", type=Path, help="file for all runs")
    chosen = parser.parse_args(arguments)
    runs: list[EnergyRun] = []
    if chosen.resume and chosen.resume.exists():
        runs = [EnergyRun(**json.loads(line)) for line in chosen.resume.read_text(encoding="utf-8").splitlines()]
    names = [*chosen.bundled, *(f"random {seed}" for seed in range(chosen.first, chosen.first + chosen.random))]
    for run in sweep(names, chosen.methods, chosen.steps, chosen.speeds, chosen.duration, list(runs)):
        runs.append(run)
        if chosen.resume:
            with chosen.resume.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(run)) + "\n")
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n", encoding="utf-8")
    print(*tables(runs), sep="\n")
    return int(any(map(_beyond, runs)))


def tables(runs: Iterable[EnergyRun]) -> Iterator[str]:
    """The lines of two tables: bundled robots and whatever is beyond the bound, and the random mechanisms together."""
    values = f"{'error':>8} {'gain':>8} {'loss':>8} {'drift':>9} {'turn':>8}"
    yield f"{'mechanism':20} {'method':20} {'step':>6} {'speed':>5} {'time':>5} {values}"
    together: dict[tuple[str, float, float, float], list[EnergyRun]] = {}
    for run in runs:
        if run.robot.startswith("random"):
            together.setdefault((run.method, run.step, run.speed, run.duration), []).append(run)
            if not _beyond(run):
                continue
        yield (
            f"{run.robot[:20]:20} {run.method:20} {run.step:6g} {run.speed:5g} {run.duration:5g} {run.error:8.1e} "
            f"{max(run.gain, 0.0):8.1e} {max(run.loss, 0.0):8.1e} {run.drift:+9.1e} {run.turn:8.3f}"
            f"{'  beyond the bound' if _beyond(run) else ''} {run.reason}"
        ).rstrip()
    if not together:
        return
    yield f"\n{'random mechanisms':17} {'step':>6} {'speed':>5} {'time':>5} {'median':>8} {'95 %':>8} {'worst':>8} " + (
        f"{'gain':>8} {'drift':>17} {'turn':>5} {'stopped':>7} {'beyond':>6}"
    )
    for (method, step, speed, duration), group in together.items():
        errors, drifts = (np.array([getattr(run, name) for run in group]) for name in ("error", "drift"))
        gain, turn = (max(getattr(run, name) for run in group) for name in ("gain", "turn"))
        yield (
            f"{len(group):3} {method[:13]:13} {step:6g} {speed:5g} {duration:5g} {np.median(errors):8.1e} "
            f"{np.quantile(errors, 0.95):8.1e} {errors.max():8.1e} {gain:8.1e} {drifts.min():+8.1e} "
            f"{drifts.max():+8.1e} {turn:5.2f} {sum(bool(run.reason) for run in group):7} "
            f"{sum(map(_beyond, group)):6}"
        )


def _mechanism(name: str) -> tuple[lw.Robot, np.ndarray]:
    kind, _, seed = name.partition(" ")
    return random_mechanism(np.random.default_rng(int(seed))) if kind == "random" else bundled_mechanism(name)


def _which(run: EnergyRun) -> tuple[str, str, float, float, float]:
    return run.robot, run.method, run.step, run.speed, run.duration


def _beyond(run: EnergyRun) -> bool:
    return run.method in SYMPLECTIC and (bool(run.reason) or run.gain > BOUND * run.turn**2 + 1e-9)


if __name__ == "__main__":
    sys.exit(main())
