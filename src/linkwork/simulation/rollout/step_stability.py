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
from functools import partial
from typing import Any

import numpy as np

from linkwork._util.thread_safety import BoundedCache
from linkwork._util.user_frames import levels_up
from linkwork.errors import SimulationWarning
from linkwork.expr.arrays.pytree import tree_map
from linkwork.kinematics.algorithms.coordinates import characteristic_length, unit_steps
from linkwork.simulation.algorithms.contact.contact_terms import StepScale
from linkwork.simulation.contacts.contact_candidates import velocity_rows
from linkwork.simulation.initial_state_check import permitted_deviations
from linkwork.simulation.simulation_spec import SimulationSetup, moving_robot

__all__ = ["CheckedValues", "check_step_stability"]


EXPLICIT = ("semi_implicit_euler", "rk4")
_MOST, _BACK = 1.5, 1e-3  # accepted growth of a deviation in a step, and accepted excess of −1
_DEVIATION = 1e-5  # [rad, characteristic lengths] of configurations from which a step's matrix is computed
_BESIDE_CONTACTS = 1e-8  # the same with rigid contacts, so small that none starts or ends by it
_LARGER = 512.0  # factor of deviations beside contacts that confirm an eigenvalue, for controllers whose solvers err
_HALVINGS = 12
_CHECKED: BoundedCache[Any, tuple[CheckedValues, CheckedValues]] = BoundedCache(256)  # stable inputs, and unstable ones
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

    ``kernel`` computes steps.  ``state`` and ``groups`` (inputs and parameters by name) belong to a batch of shape
    ``leading``. ``signals`` are the time inputs of its first environment, and ``duration`` [s] is the duration of the
    simulation. ``speeds`` (nv) are the speeds of the first environment, if ``state`` is the final state.
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

    v = np.asarray(first_values["v"])
    if speeds is not None or setup.robot.tree.constraints:  # loops turn the permitted deviations of fast mechanisms
        v = np.zeros_like(v)
    permitted = partial(
        permitted_deviations,
        setup.robot,
        first_values["q"],
        names=setup.parameter_names,
        sizes=dict(setup.parameters),
        parameters=first_values.get("parameters"),
        time=h * float(first_values["steps"]),
    )
    warned = _warn_of_long_step(setup, step, permitted, first_values["q"], v, h, speeds)
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


def _may_be_unstable(setup: SimulationSetup) -> bool:
    """Return True if a step may be unstable, because a force is constant at its value of the step's start.

    Every method holds the forces of controllers constant.  Rigid contacts have no stiffness and are evaluated at the
    end of the step.
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
    setup: SimulationSetup,
    step: Step,
    permitted: Callable[[np.ndarray], np.ndarray],
    q: np.ndarray,
    v: np.ndarray,
    h: float,
    speeds: np.ndarray | None,
) -> bool:
    """Warn if a step of h from q (nq,) and v (nv,) is not stable, with eigenvalue, joint and a stable step.

    ``step(q, v, h)`` takes states (n, nq), (n, nv).  ``permitted`` returns the basis of the deviations that constraints
    permit from their sizes (2 nv).  Velocities deviate by at least half of ``speeds``.  Returns True if it warned.
    """

    def worst_of(h: float) -> tuple[complex, str] | None:
        size = _sizes(setup, v, h, speeds)
        worst = _worst(setup.robot, step, q, v, size, permitted(size), h)
        if worst is None or not _has_rigid_contacts(setup):
            return worst
        return _worst(setup.robot, step, q, v, _LARGER * size, permitted(_LARGER * size), h)

    worst = worst_of(h)
    if worst is None:
        return False
    shorter = h
    for _ in range(_HALVINGS):
        shorter *= 0.5
        if worst_of(shorter) is None:
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
    robot: Any, step: Step, q: np.ndarray, v: np.ndarray, size: np.ndarray, basis: np.ndarray, h: float
) -> tuple[complex, str] | None:
    """Return the largest unstable eigenvalue of a step of h and the coordinate of v that deviates most; None if stable.

    Deviations from q (nq) and v (nv) are the columns of ``basis`` (2 nv, k), in units of ``size`` (2 nv).
    """
    n, k = robot.nv, basis.shape[1]
    if not k:
        return None
    moved = np.concatenate([basis.T, -basis.T]) * size
    qs = robot.integrate(np.broadcast_to(q, (2 * k, robot.nq)), moved[:, :n])
    ends, rates = step(qs, v + moved[:, n:], h)
    change = np.concatenate([robot.difference(ends[k:], ends[:k]), rates[:k] - rates[k:]], axis=1)
    A = np.linalg.pinv(basis) @ (0.5 * change / size).T
    if not np.isfinite(A).all():
        return None
    result, vectors = np.linalg.eig(A)
    unstable = (np.abs(result) > _MOST) | ((np.abs(result) > 1.0 + _BACK) & (result.real < 0.0))
    if not unstable.any():
        return None
    largest = int(np.argmax(np.where(unstable, np.abs(result), 0.0)))
    deviation = np.abs((basis @ vectors[:, largest])[n:] * size[n:] / unit_steps(robot.tree))
    return complex(result[largest]), robot.v_names[int(np.argmax(deviation))]


def _has_rigid_contacts(setup: SimulationSetup) -> bool:
    return setup.contacts is not None and not setup.is_compliant


def _sizes(setup: SimulationSetup, v: np.ndarray, h: float, speeds: np.ndarray | None) -> np.ndarray:
    """Return the sizes (2 nv) of the deviations of q and v, relative to `unit_steps` and the pace of `StepScale`.

    Deviations of v are at least half of ``speeds`` (nv).
    """
    robot: Any = setup.robot
    deviation = _BESIDE_CONTACTS if _has_rigid_contacts(setup) else _DEVIATION
    units, pace = np.array(unit_steps(robot.tree)), float(StepScale.of(robot.tree, robot.gravity, h).pace)
    rates = deviation * units * (pace + float(np.abs(v / units).max(initial=0.0)))
    if speeds is not None and not robot.constraints:  # which large deviations would violate
        rates = np.maximum(rates, 0.5 * speeds)
    return np.concatenate([deviation * units, rates])


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
