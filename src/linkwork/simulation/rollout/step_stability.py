"""Warnings of unstable steps, by the eigenvalues of a step, and of compliant contacts that are too stiff for a step.

A step maps deviations of (q, v) linearly to first order.  A step does not resolve a motion whose deviation it
multiplies by more than 1.5, or by less than −1.  This includes stiffness and damping of joints, feedback of
controllers, and the method.  At the start deviations are tiny.  Friction at rest damps these, and limits of forces cut
feedback far from a target, so feedback is examined again at the end, for velocities of the size that occurred.

Source: Hairer and Wanner, Solving Ordinary Differential Equations II, 2nd ed. 1996, section IV.2.

Compliant contacts are checked before bodies touch: at a depth δ a contact is a spring of K = 3/2 k √δ on the effective
inertia m = 1/(n M⁻¹ nᵀ) along its normal n.  It carries at least the weight of that mass; a mass with impact speed u
penetrates until ½ m u² = 2/5 k δ^(5/2).

Source: Hunt and Crossley, Journal of Applied Mechanics 42, 1975; Hairer, Lubich and Wanner, Geometric Numerical
Integration, 2nd ed. 2006, section I.5 (the steps of explicit methods).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from linkwork._util.fork_safe_lock import BoundedCache
from linkwork._util.user_frames import levels_up
from linkwork.errors import SimulationWarning
from linkwork.expr.arrays.pytree import tree_map
from linkwork.kinematics.algorithms.coordinates import characteristic_length, unit_steps
from linkwork.model.tree import Tree
from linkwork.simulation.algorithms import METHODS
from linkwork.simulation.algorithms.contact.contact_terms import StepScale
from linkwork.simulation.algorithms.free_body import FreeBody, free_bodies
from linkwork.simulation.algorithms.inertial_forces import has_free_rotation, rotates_freely
from linkwork.simulation.contacts.contact_candidates import velocity_rows
from linkwork.simulation.simulation_spec import SimulationSetup, moving_robot

__all__ = ["CheckedValues", "check_step_stability", "warn_of_fast_turns"]


EXPLICIT = ("semi_implicit_euler", "rk4")
_MOST, _BACK = 1.5, 1e-3  # accepted growth of a deviation in a step, and accepted excess of −1
_DEVIATION = 1e-5  # [rad, characteristic lengths] of configurations from which a step's matrix is computed
_BESIDE_CONTACTS = 1e-8  # the same with rigid contacts, so small that none starts or ends by it
_HALVINGS = 12
_TURN, _FINE = 0.3, 0.1  # [rad] rotation in a step: reported, and with an energy error of some 1e-3
_BALANCED = 1e-6  # relative change of the mass matrix by a rotation, below which a rotor counts as balanced
_PRINCIPAL = 1e-2  # [rad] angle of momentum and angular velocity of a body that spins about a principal axis
_ENVIRONMENTS = 16  # the fastest ones, which are examined one by one
_CHECKED: BoundedCache[Any, tuple[CheckedValues, CheckedValues]] = BoundedCache(256)  # inputs, stable ones and others
Step = Callable[[Any, Any, float], tuple[Any, Any]]


def check_step_stability(
    setup: SimulationSetup,
    h: float,
    kernel: Callable[..., Any],
    state: Mapping[str, Any],
    groups: Mapping[str, Mapping[str, Any]],
    signals: Mapping[str, Any],
    leading: tuple[int, ...],
    duration: float,
    speeds: np.ndarray | None = None,
) -> bool:
    """Warn if a step of h [s] is too long for the first environment to be stable, once for a setup and its values.

    Returns True if it warned, now or before.  Parameters of nearly the same magnitudes are checked once, and so are
    inputs within the range of those whose steps were all stable, or all unstable, such as targets in a workspace.

    ``kernel`` computes steps.  ``state`` and ``groups`` (inputs and parameters by name) are those of a batch of shape
    ``leading``.  ``signals`` are the time inputs of its first environment, and ``duration`` [s] is that of the
    simulation.  ``speeds`` (nv) are those of its first environment, if the state is that at the end.
    """
    if 0 in leading or not _may_be_unstable(setup):
        return False
    if speeds is not None and (not setup.is_fed_back or setup.contacts is not None):
        return False
    n = len(leading)

    def first(x: Any) -> Any:
        x = np.asarray(x, dtype=float)
        return x[(0,) * n] if n and x.shape[:n] == leading else x

    cores = {"inputs": dict(setup.inputs), "parameters": dict(setup.parameters)}
    first_values = tree_map(first, dict(state))
    for group, values in groups.items():
        whole = {name: np.broadcast_to(x, (*leading, *cores[group][name])) for name, x in values.items()}
        first_values[group] = {name: x[(0,) * n] for name, x in whole.items()}
    inputs = {"inputs": first_values["inputs"]} if "inputs" in groups else {}
    about = (
        replace(setup, every=1),
        h,
        speeds is None,
        *(_magnitudes(first_values[x]) for x in groups if x not in inputs),
    )
    stable, unstable = _CHECKED.get(about) or _CHECKED.keep(about, (CheckedValues(), CheckedValues()))
    if stable.holds(inputs, None, ()) or unstable.holds(inputs, None, ()):
        return not stable.holds(inputs, None, ())
    if signals:
        first_values["signals"] = signals
    last = float(first_values["steps"]) + 1.0

    def step(q: Any, v: Any, h: float) -> tuple[Any, Any]:
        if n:
            end = kernel(**{**first_values, "q": q, "v": v}, h=h, last=last)["end"]
            return end["q"], end["v"]
        ends = [kernel(**{**first_values, "q": a, "v": b}, h=h, last=last)["end"] for a, b in zip(q, v, strict=True)]
        return np.array([end["q"] for end in ends]), np.array([end["v"] for end in ends])

    v = first_values["v"] if speeds is None else np.zeros_like(speeds)
    warned = _warn_of_long_step(setup, step, first_values["q"], v, h, speeds)
    (unstable if warned else stable).grows(inputs, None, ())
    if not warned and setup.is_compliant and setup.method in EXPLICIT:
        warn_of_stiff_contacts(
            setup, h, first_values["q"], first_values["v"], first_values.get("parameters", {}), duration
        )
    return warned


class CheckedValues:
    """Range of the values of the first environment for which the steps of a `Simulator` were checked."""

    def __init__(self) -> None:
        self._ranges: dict[Any, tuple[np.ndarray, np.ndarray]] = {}

    def grows(self, groups: Mapping[str, Mapping[str, Any]], shapes: Any, leading: tuple[int, ...]) -> bool:
        """Return True, and extend the range, if values exceed it by a tenth of it or have new ``shapes``.

        ``groups`` are inputs and parameters by name, of a batch of shape ``leading``.
        """
        if self.holds(groups, shapes, leading):
            return False
        now = _flat(groups, leading)
        low, high = self._ranges.get(shapes, (now, now))
        fits = low.shape == now.shape
        self._ranges[shapes] = (np.minimum(low, now), np.maximum(high, now)) if fits else (now, now)
        return True

    def holds(self, groups: Mapping[str, Mapping[str, Any]], shapes: Any, leading: tuple[int, ...]) -> bool:
        """Return True if values are within the range of their ``shapes``, or beyond it by less than a tenth of it."""
        now = _flat(groups, leading)
        low, high = self._ranges.get(shapes, (None, None))
        return low is not None and high is not None and low.shape == now.shape and _is_within(now, low, high)

    def holds_parameters(self, parameters: Mapping[str, Any], leading: tuple[int, ...]) -> bool:
        """Return True if parameters, which are the last values of each range, are within it as in `holds`."""
        now = _flat({"parameters": parameters}, leading)
        ends = [(low[low.size - now.size :], high[low.size - now.size :]) for low, high in self._ranges.values()]
        return all(_is_within(now, low, high) for low, high in ends)


def _flat(groups: Mapping[str, Mapping[str, Any]], leading: tuple[int, ...]) -> np.ndarray:
    """Return the values of the first environment in one array."""
    n = len(leading)
    every = [np.asarray(x, dtype=float) for values in groups.values() for x in values.values()]
    first = [np.ravel(x[(0,) * n] if n and x.size and x.shape[:n] == leading else x) for x in every]
    return np.concatenate(first) if first else np.zeros(0)


def _is_within(now: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
    return not ((now < low - 0.1 * np.abs(low)) | (now > high + 0.1 * np.abs(high))).any()


def _magnitudes(values: Any) -> bytes:
    """Return the signs and the magnitudes of values by name, in eighths of an octave."""
    x = (
        np.concatenate([np.ravel(x) for x in values.values()])
        if isinstance(values, Mapping) and values
        else np.zeros(0)
    )
    with np.errstate(divide="ignore"):
        return bytes(np.stack([np.sign(x), np.round(8.0 * np.log2(np.abs(x)))]).tobytes())


@lru_cache(64)
def _rotations(tree: Tree) -> tuple[np.ndarray, tuple[FreeBody, ...]]:
    """Return the mask (nv,) of velocities that are rotations, and the floating bodies."""
    rotates = [unit == "rad/s" for _, body in tree.stacked() for unit in body.joint.v_units]
    return np.array(rotates), tuple(free_bodies(tree))


def warn_of_fast_turns(robot: Any, method: str, h: float, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
    """Warn of the joint that is first to rotate too far for the method in a step of h [s].

    Records are q (..., n, nq) and v (..., n, nv) at times t (n,).  Joints that limits bound are expected to be slow, so
    only larger rotations of them count.  Single free bodies may spin about a principal axis by any angle.
    """
    loops = any(constraint.holonomic for constraint in robot.tree.constraints)
    if not v.size or not (loops or METHODS[method].damped_within):
        return
    rotates, flying = _rotations(robot.tree)
    flying = () if loops or METHODS[method].as_mujoco else flying
    alone = {body.joint_slice.name for body in flying if body.inertia is not None}
    turned = np.where(rotates, np.abs(v) * h, 0.0)
    if not turned.max() > _FINE:
        return
    if loops:
        most, problem = _TURN, "for the constraints"
    elif METHODS[method].as_mujoco or not rotates_freely(robot.tree):
        most, problem = _FINE, "for inertial forces of the step's start, which add energy"
        turned = turned * _at_fastest(_has_inertial_forces, robot, q, v, turned)
    else:
        most, problem = _TURN, "for a body that is not balanced about its axis"
        turned = turned * _at_fastest(_gains_energy, robot, q, v, turned)

    for body in flying:  # their momentum is exact, also that of a spin about a principal axis
        if body.inertia is not None:
            spin = v[..., body.joint_slice.v : body.joint_slice.v + 3]
            turned[..., body.joint_slice.v : body.joint_slice.v + 3] = h * np.abs(spin) * _tumbles(body.inertia, spin)
    free = [
        loops or (has_free_rotation(body) and body.joint_name not in alone)
        for _, body in robot.tree.stacked()
        for _ in body.joint.v_units
    ]
    beyond = turned > np.where(free, most, _TURN)
    if not beyond.any():
        return
    k = int(np.argmax(beyond.any(axis=tuple(axis for axis in range(beyond.ndim) if axis != beyond.ndim - 2))))
    first = np.where(beyond[..., k, :], turned[..., k, :], 0.0)
    *where, joint = (int(x) for x in np.unravel_index(int(np.argmax(first)), first.shape))
    index = (*where, k, joint)
    of = f" in environment {', '.join(map(str, where))}" if where else ""
    further_method = "" if loops else ", or method='variational'"
    tumbling = any(
        body.joint_slice.v <= index[-1] < body.joint_slice.v + 6 for body in flying if body.inertia is not None
    )
    problem = "for a body that tumbles" if tumbling else problem
    warnings.warn(
        f"simulate: dt: {robot.v_names[index[-1]]!r} rotates by {turned[index]:.2g} rad in a step of {h:g} s at "
        f"{t[index[-2]]:g} s{of}, too far {problem}; use a step of {h * _FINE / turned[index]:.2g} s{further_method}",
        SimulationWarning,
        stacklevel=levels_up(),
    )


def _tumbles(inertia: Any, spin: np.ndarray) -> np.ndarray:
    """Return True for angular velocities (..., 3) that are not about a principal axis of a body (..., 1)."""
    about = inertia.shifted(inertia.moment * (-1.0 / inertia.mass)).about
    momentum = spin @ np.array([[*row] for row in (about.x, about.y, about.z)], dtype=float)
    turning = np.linalg.norm(np.cross(spin, momentum), axis=-1, keepdims=True)
    sizes = (np.linalg.norm(x, axis=-1, keepdims=True) for x in (spin, momentum))
    return np.asarray(turning > _PRINCIPAL * math.prod(sizes))


def _at_fastest(check: Callable[..., Any], robot: Any, q: np.ndarray, v: np.ndarray, turned: np.ndarray) -> np.ndarray:
    """Return the flags of ``check`` (..., 1, nv) at the first fast record of the fastest environments.

    All other environments get the union of these flags.
    """
    far = turned.max(axis=-1).reshape(-1, turned.shape[-2])
    k = np.argmax(np.where(far.max(axis=-1, keepdims=True) > _TURN, far > _TURN, far), axis=-1)
    fastest = np.argsort(-far.max(axis=-1), kind="stable")[:_ENVIRONMENTS]
    Q, V = (x.reshape(*far.shape, x.shape[-1]) for x in (q, v))
    flags = np.array([np.broadcast_to(check(robot, Q[i, k[i]], V[i, k[i]]), V.shape[-1]) for i in fastest])
    result = np.tile(flags.any(axis=0), (len(far), 1))
    result[fastest] = flags
    return np.asarray(result.reshape(*turned.shape[:-2], 1, turned.shape[-1]))


def _gains_energy(robot: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return True for each velocity (nv) along which a rotation in a step changes the energy."""
    return np.asarray(_is_unbalanced(robot, q, v) | _are_tumbling(robot, q, v))


def _has_inertial_forces(robot: Any, q: np.ndarray, v: np.ndarray) -> bool:
    """Return True if inertial forces at q change with v; those of a body that turns about a fixed axis do not."""
    change, units = robot.inverse_dynamics_derivatives(q, v, np.zeros_like(v))[1], np.array(unit_steps(robot.tree))
    changes, M = (np.abs(x * np.outer(units, units)).max() for x in (change, robot.mass_matrix(q)))
    return bool(changes > _BALANCED * M * np.abs(v / units).max())


def _is_unbalanced(robot: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return True for each velocity (nv) along which the momentum M v changes with q."""
    units = np.array(unit_steps(robot.tree))
    moved = robot.integrate(np.tile(q, (robot.nv, 1)), np.diag(units))
    before, after = (robot.mass_matrix(x) * np.outer(units, units) for x in (q, moved))
    changes = np.abs((after - before) @ (v / units)).max(axis=-1)
    result: np.ndarray = changes > _BALANCED * np.abs(before).max() * np.abs(v / units).max()
    return result


def _are_tumbling(robot: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return True for each velocity (nv) that rotates the carried bodies about no principal axis."""
    units = [unit == "rad/s" for _, body in robot.tree.stacked() for unit in body.joint.v_units]
    owner = [k for k, (_, body) in enumerate(robot.tree.stacked()) for _ in body.joint.v_units]
    of_joint = np.equal.outer(np.unique(owner), owner) & units
    spin = np.where(of_joint, v, 0.0)
    turning = robot.inverse_dynamics(q, spin, np.zeros_like(spin), gravity=np.zeros(3))
    sizes = [np.linalg.norm(np.where(of_joint, x, 0.0), axis=-1) for x in (turning, spin, spin @ robot.mass_matrix(q))]
    return np.asarray((sizes[0] > _PRINCIPAL * sizes[1] * sizes[2]) @ of_joint)


def _may_be_unstable(setup: SimulationSetup) -> bool:
    """Return True if a step may be unstable, because a force is constant at its value of the step's start.

    Every method does so with controllers.  Rigid contacts have no stiffness and are evaluated at the end of the step.
    """
    robot: Any = setup.robot
    if not robot.nv:
        return False
    if any(event.jump is not None for event in setup.events):
        return False
    if setup.is_fed_back:
        return True
    return setup.method in EXPLICIT and (setup.contacts is None or setup.is_compliant)


def _warn_of_long_step(
    setup: SimulationSetup, step: Step, q: np.ndarray, v: np.ndarray, h: float, speeds: np.ndarray | None
) -> bool:
    """Warn if a step of h from q (nq,) and v (nv,) is not stable, with eigenvalue, joint and a stable step.

    ``step(q, v, h)`` takes states (n, nq), (n, nv).  Velocities deviate by at least half of ``speeds``.  Returns True
    if it warned.
    """
    rigid = setup.contacts is not None and not setup.is_compliant
    deviation = _BESIDE_CONTACTS if rigid else _DEVIATION
    worst = _worst(setup.robot, step, q, v, h, deviation, speeds)
    if worst is None:
        return False
    shorter = h
    for _ in range(_HALVINGS):
        shorter *= 0.5
        if _worst(setup.robot, step, q, v, shorter, deviation, speeds) is None:
            advice = f"use {shorter:.2g} s"
            break
    else:
        advice = f"{shorter:.2g} s is also too long"
    remedy = "or an implicit method"
    if setup.is_fed_back:
        remedy = (
            "lower gains, or linkwork.simulation.ServoActuators, which are stable with any gain; the forces of other "
            "controllers are constant over a step with every method"
        )
    value, joint = worst
    when = "at the start" if speeds is None else "at the end"
    factor = f"{value.real:.3g}" if abs(value.imag) < 1e-9 * abs(value) else f"{value:.3g}"
    warnings.warn(
        f"simulate: dt: {h:g} s is too long to be stable: {when} each step multiplies a deviation of {joint!r} "
        f"by the eigenvalue {factor}; {advice}, {remedy}",
        SimulationWarning,
        stacklevel=levels_up(),
    )
    return True


def _worst(
    robot: Any, step: Step, q: np.ndarray, v: np.ndarray, h: float, deviation: float, speeds: np.ndarray | None
) -> tuple[complex, str] | None:
    """Return the largest unstable eigenvalue of a step and the coordinate of v that deviates most; None if stable.

    ``deviation`` is the size of the differences from which the step's matrix is computed, in `unit_steps`; those of
    velocities are at least half of ``speeds`` (nv).
    """
    n = robot.nv
    units, pace = np.array(unit_steps(robot.tree)), float(StepScale.of(robot.tree, robot.gravity, h).pace)
    size = deviation * np.concatenate([units, units * (pace + float(np.abs(v / units).max(initial=0.0)))])
    if speeds is not None and not robot.constraints:  # which large deviations would violate
        size[n:] = np.maximum(size[n:], 0.5 * speeds)
    moved = np.concatenate([np.diag(size), -np.diag(size)])
    qs = robot.integrate(np.broadcast_to(q, (4 * n, robot.nq)), moved[:, :n])
    ends, rates = step(qs, v + moved[:, n:], h)
    change = np.concatenate([robot.difference(ends[2 * n :], ends[: 2 * n]), rates[: 2 * n] - rates[2 * n :]], axis=1)
    A = (change / (2.0 * size[:, None])).T
    if not np.isfinite(A).all():
        return None
    result, vectors = np.linalg.eig(A)
    unstable = (np.abs(result) > _MOST) | ((np.abs(result) > 1.0 + _BACK) & (result.real < 0.0))
    if not unstable.any():
        return None
    k = int(np.argmax(np.where(unstable, np.abs(result), 0.0)))
    return complex(result[k]), robot.v_names[int(np.argmax(np.abs(vectors[n:, k]) / units))]


_FAR = 100.0  # [characteristic lengths] gap beyond which bodies are not expected to meet
_ABOVE = 1e-3  # accepted excess of an eigenvalue's size above 1


def warn_of_stiff_contacts(
    setup: SimulationSetup, h: float, q: np.ndarray, v: np.ndarray, parameters: Mapping[str, Any], duration: float
) -> None:
    """Warn of the stiffest contact for which steps of h [s] are unstable, from q (nq) and v (nv)."""
    contacts = setup.touched(parameters)
    assert contacts is not None
    robot: Any = moving_robot(setup.robot, setup.own(parameters))
    yielding = robot.mass_matrix_inverse(q, passive=setup.passive)
    weight, length = float(np.linalg.norm(robot.gravity)), characteristic_length(robot.tree)
    worst: tuple[float, float, str] | None = None
    for candidate in contacts.candidates(robot, q):
        gap, k = float(candidate.gap), float(candidate.material.stiffness or 0.0)
        n = np.array(velocity_rows(robot, q, candidate)[2], dtype=float)
        yields = float(n @ yielding @ n)
        if gap > _FAR * length or not yields > 0.0:
            continue
        fall = 0.0 if setup.is_fed_back else min(max(gap, 0.0), 0.5 * weight * duration**2)
        square = min(float(n @ v), 0.0) ** 2 + 2.0 * weight * fall
        depths = (weight / (yields * k)) ** (2.0 / 3.0), (1.25 * square / (yields * k)) ** 0.4
        depth = max(*depths, -gap)
        stiff = 1.5 * k * math.sqrt(depth) * yields
        if worst is None or stiff > worst[0]:
            worst = stiff, depth, candidate.name
    if worst is None or abs(_factor(setup.method, h * h * worst[0])) <= 1.0 + _ABOVE:
        return
    stiff, depth, name = worst
    shorter = h
    while abs(_factor(setup.method, shorter * shorter * stiff)) > 1.0 + _ABOVE:
        shorter *= 0.5
    factor = _factor(setup.method, h * h * stiff)
    text = f"{factor.real:.3g}" if not factor.imag else f"{factor:.3g}"
    warnings.warn(
        f"simulate: dt: {h:g} s is too long to be stable: where {name} overlap by {1e3 * depth:.2g} mm, as they may, "
        f"each step multiplies some deviation by the eigenvalue {text}; use {shorter:.2g} s, an implicit method, or "
        "less stiffness",
        SimulationWarning,
        stacklevel=levels_up(),
    )


def _factor(method: str, x: float) -> complex:
    """Return the larger eigenvalue of a step of ``method`` for a mass on a spring, with x = h² K/m."""
    if method == "rk4":
        z = 1j * math.sqrt(x)
        return 1.0 + z + z**2 / 2.0 + z**3 / 6.0 + z**4 / 24.0
    return complex(1.0 - 0.5 * x - math.sqrt(max(0.25 * x * x - x, 0.0))) if x > 4.0 else 1.0
