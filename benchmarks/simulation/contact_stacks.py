"""Stacks of boxes and rows of balls with masses far apart: `python -m benchmarks.simulation.contact_stacks`.

Stacks stand for half a second at steps of 1 and 10 ms, their masses up to a million times those of others, in many
orders: how far contacts sink, how far forces are from the weights that they carry, and how fast boxes still move.
Rows of five elastic balls of masses 1 to 100, some of which touch, meet each other: the energy that is lost or made.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence

import numpy as np

import linkwork as lw
from linkwork.errors import SimulationWarning
from linkwork.simulation import ContactMaterial, ContactPair, ContactScene

__all__ = ["main", "row_energies", "stack_figures"]

_G = 9.81
_STEPS = (1e-3, 1e-2)
_RATIOS = (1.0, 1e2, 1e4, 1e6)


def stack_figures(count: int, step: float) -> tuple[float, float, float]:
    """Return the greatest depth by h² [m/s²], relative error of a force, and last speed [m/s, rad/s] of all stacks."""
    parts: list[lw.Link | lw.Joint] = []
    for k in range(count):
        parts.append(lw.Link(f"box{k}", lw.shapes.Box((0.2, 0.2, 0.2)), mass=1.0))
        parts.append(lw.Joint.of(lw.joints.Floating(), name=f"free{k}", parent="world", child=f"box{k}"))
    boxes = lw.Robot.build("boxes", *parts)
    floor = ContactScene(lw.Scene().with_half_space("floor"), ("box0",))
    contacts = [floor, *(ContactPair(f"box{k}", f"box{k + 1}") for k in range(count - 1))]
    q = boxes.neutral().reshape(count, 7)
    q[:, 6] = 0.1 + 0.2 * np.arange(count)
    rows = [np.eye(count), np.arange(count) % 2, np.arange(1, count + 1) % 2, np.linspace(0.0, 1.0, count)]
    rows += [np.linspace(1.0, 0.0, count), np.random.default_rng(0).random((8, count))]
    masses = np.concatenate([ratio ** np.concatenate([np.atleast_2d(x) for x in rows]) for ratio in _RATIOS])
    names = boxes.parameters([f"inertia:box{k}" for k in range(count)])
    loads = {f"inertia:box{k}": masses[:, k, None] * names[f"inertia_box{k}"] for k in range(count)}
    run = boxes.simulate(q.ravel(), duration=0.5, dt=step, contacts=contacts, parameters=loads, record=["contact_gap"])
    forces, off = run.records["contact_forces"][:, -1, :, 2], 0.0
    for k in range(count):
        points = slice(0, 4) if k == 0 else slice(12 * k - 8, 12 * k + 4)
        carried = forces[:, points].sum(axis=1) / (_G * masses[:, k:].sum(axis=1))
        off = max(off, float(np.abs(carried - 1.0).max()))
    return float(-run.records["contact_gap"].min() / step**2), off, float(np.abs(run.v[:, -1]).max())


def row_energies(step: float, rows: int = 600, count: int = 5) -> tuple[float, float]:
    """Return the greatest share of the energy that a row of elastic balls loses, and gains."""
    along = lw.joints.Prismatic((1, 0, 0))
    parts: list[lw.Link | lw.Joint] = []
    for k in range(count):
        parts.append(lw.Link(f"ball{k}", lw.shapes.Sphere(0.05), mass=1.0))
        parts.append(lw.Joint.of(along, name=f"rail{k}", parent="world", child=f"ball{k}"))
    row = lw.Robot.build("row", *parts).with_gravity((0, 0, 0))
    steel = ContactMaterial(friction=0.0, restitution=1.0)
    contacts = [ContactPair(f"ball{k}", f"ball{k + 1}", steel) for k in range(count - 1)]
    rng, kind = np.random.default_rng(0), np.arange(rows)
    gaps = np.where(rng.random((rows, count - 1)) < 0.25, 0.0, 10.0 ** rng.uniform(-7, -2, (rows, count - 1)))
    q = np.concatenate([np.zeros((rows, 1)), np.cumsum(0.1 + gaps, axis=1)], axis=1)
    v = np.where((kind % 3 == 2)[:, None], rng.normal(size=(rows, count)), np.eye(count)[0])
    v[kind % 3 == 1, -1] = -1.0
    masses = np.where((kind % 2)[:, None], 10.0 ** rng.uniform(-1, 1, (rows, count)), 1.0)
    names = row.parameters([f"inertia:ball{k}" for k in range(count)])
    loads = {f"inertia:ball{k}": masses[:, k, None] * names[f"inertia_ball{k}"] for k in range(count)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        run = row.simulate(q, v, duration=0.5, dt=step, contacts=contacts, parameters=loads)
    energy = (masses[:, None] * run.v**2).sum(axis=-1)
    energy /= energy[:, :1]
    return float(1.0 - energy[:, -1].min()), float(energy.max() - 1.0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.simulation.contact_stacks", description=__doc__.split(":")[0]
    )
    parser.add_argument("--quick", action="store_true", help="stacks of two boxes, few rows, long steps")
    quick = parser.parse_args(arguments).quick
    for step in _STEPS[1:] if quick else _STEPS:
        for count in (2,) if quick else (2, 3, 4, 5):
            depth, off, speed = stack_figures(count, step)
            print(f"{count} boxes, {step:g} s: depth {depth:.3g} m/s² h², forces off by {off:.1e}, speed {speed:.1e}")
        lost, row_count = row_energies(step, 30 if quick else 600)
        print(f"rows of balls, {step:g} s: energy lost {lost:.2e}, made {row_count:.2e}")


if __name__ == "__main__":
    main()
