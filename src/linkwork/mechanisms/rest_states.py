"""Batches of robots at rest: accelerations, acting forces and their work, stiffness and free motions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.mechanisms.algorithms.constraint_rows import error_scales
from linkwork.mechanisms.assembly.state_inputs import StateInputs

__all__ = ["REST_TOL", "RestStates", "Statics"]

REST_TOL = 1e-14  # acceleration at rest, relative to that in free fall
_CLOSED_TOL = 1e-9  # [rad, characteristic lengths] largest constraint error
_NODES = np.array([0.5 - np.sqrt(0.15), 0.5, 0.5 + np.sqrt(0.15)])  # of Gaussian quadrature with three points
_WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18.0


Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class RestStates:
    """Robots at rest in configurations, with their accelerations, constraint forces and mass matrices."""

    q: Array  # (n, nq)
    error: Array  # (n): largest constraint error [rad, characteristic lengths]
    a: Array
    forces: Array  # constraint forces λ
    M: Array

    def some(self, index: Array) -> RestStates:
        """Return the states at an ascending index: a copy, or this object if the index selects all states."""
        return self if len(index) == len(self.q) else self.copy(index)

    def copy(self, index: Any = slice(None)) -> RestStates:
        """Return a copy of the states of an index."""
        return RestStates(*(np.array(x[index]) for x in vars(self).values()))

    def put(self, index: Array, others: RestStates) -> None:
        """Replace the states at an index by the states of ``others``."""
        rows = slice(None) if len(index) == len(self.q) else index
        for name, x in vars(self).items():
            x[rows] = getattr(others, name)

    @property
    def closed(self) -> Array:
        """True where the constraints are satisfied."""
        return np.asarray(self.error <= _CLOSED_TOL)

    @property
    def merit(self) -> Array:
        """Merit function aᵀ M a of the accelerations, which is 0 in an equilibrium."""
        return np.asarray(np.einsum("ni,nij,nj->n", self.a, self.M, self.a))


@dataclass(frozen=True)
class Statics:
    """Accelerations, forces and work of a batch of robots at rest under constant loads."""

    robot: Any
    passive: bool
    acting: dict[str, Array]  # joint forces "tau", and "gravity"
    pushes: dict[str, Array]  # wrenches by frame
    axes: Any
    inputs: StateInputs
    units: Array  # (nv): unit of each coordinate [rad, m]
    error_scales: Array  # (ne): those of `error_scales`
    scale: Array  # (n): largest acceleration near the start without constraints, in coordinates' units
    size: Array  # (n): sum of the acting forces at the start, times the units of coordinates [J]

    @classmethod
    def of(
        cls,
        robot: Any,
        passive: bool,
        acting: dict[str, Array],
        pushes: dict[str, Array],
        axes: Any,
        inputs: StateInputs,
    ) -> Statics:
        units, scales = np.array(unit_steps(robot.tree)), np.array(error_scales(robot.tree))
        no_forces = np.zeros(len(acting["tau"]))
        return cls(robot, passive, acting, pushes, axes, inputs, units, scales, no_forces, no_forces)

    def some(self, index: Array) -> Statics:
        """Return the statics of the states of an index."""
        return self if len(index) == len(self.scale) else self._of(index)  # indices are in order

    @cached_property
    def _first(self) -> Statics:
        return self._of(0)

    def _of(self, index: Any) -> Statics:
        acting, pushes = ({name: x[index] for name, x in group.items()} for group in (self.acting, self.pushes))
        fields = {"scale": self.scale[index], "size": self.size[index], "inputs": self.inputs[index]}
        return replace(self, acting=acting, pushes=pushes, **fields)

    @property
    def loads(self) -> dict[str, Any]:
        """Gravity and wrenches as keyword arguments of `Robot.forward_dynamics`."""
        gravity = {"gravity": self.acting["gravity"]} if "gravity" in self.acting else {}
        return gravity | ({"wrenches": self.pushes, "expressed_in": self.axes} if self.pushes else {})

    def _call(self, name: str, *states: Array, loaded: bool = False, timed: bool = True, **options: Any) -> Any:
        """Return the results of a function of the robot for arrays (..., n, k).

        With ``loaded``, the function is called with zero velocity and with the joint forces and loads. A call with one
        state is made without its axis, which is faster.
        """
        alone = len(self.scale) == 1
        statics = self._first if alone else self
        states = tuple(x[..., 0, :] for x in states) if alone else states
        options |= statics.inputs.options if timed else statics.inputs.parameters
        if loaded:
            states = *states, np.zeros(self.robot.nv), statics.acting["tau"]
            options |= statics.loads
        results = getattr(self.robot, name)(*states, **options)
        if not alone:
            return results
        axes = (slice(None),) * (states[0].ndim - 1) + (np.newaxis,)
        return results[axes] if isinstance(results, np.ndarray) else [x[axes] for x in results]

    def accelerations(self, q: Array) -> Any:
        """Return the accelerations and constraint forces at rest in configurations q (..., n, nq)."""
        return self._call("constrained_forward_dynamics", q, loaded=True, passive=self.passive)

    def mass_matrix(self, q: Array) -> Array:
        return np.asarray(self._call("mass_matrix", q, timed=False, passive=self.passive))

    def projected(self, q: Array) -> RestStates:
        """Return the states at rest in the configurations that are q projected onto the constraints."""
        closest, errors, *_ = self._call("project_configuration", q)
        lost = ~np.isfinite(closest).all(axis=-1)
        closest = np.where(lost[:, np.newaxis], q, closest)
        errors = np.abs(errors * self.error_scales).max(axis=-1, initial=0.0)
        a, forces = self.accelerations(closest)
        return RestStates(closest, np.where(lost, np.inf, errors), a, forces, self.mass_matrix(closest))

    def largest(self, step: Array) -> Array:
        """Return the largest component of steps or accelerations (..., nv), in radians and characteristic lengths."""
        return np.asarray(np.abs(step / self.units).max(axis=-1, initial=0.0))

    def scaled(self, states: RestStates) -> Statics:
        """Return the statics with the typical sizes of accelerations and forces near these states.

        Tests of equilibrium are relative to these sizes.
        """
        plain = not any(getattr(constraint, "resists", False) for constraint in self.robot.constraints)
        steps = 0.5 * np.vstack([np.zeros(self.robot.nv), np.diag(self.units)])
        around = self.robot.integrate(states.q, steps[:, np.newaxis])  # in equilibrium or not
        v, options = np.zeros(self.robot.nv), self.loads | self.inputs.parameters
        tau = self.acting["tau"] - self.robot.inverse_dynamics(around, v, v, passive=self.passive and plain, **options)
        falling = np.linalg.solve(self.mass_matrix(around), tau[..., np.newaxis])[..., 0]
        size = np.abs(self.force(states.q) * self.units).sum(axis=-1)
        return replace(self, scale=np.maximum(1e-300, self.largest(falling).max(axis=0)), size=size)

    def rests(self, states: RestStates, slack: float = 1.0) -> Array:
        """Return True for equilibria, up to rounding, (n)."""
        return np.asarray(states.closed & (self.largest(states.a) <= slack * REST_TOL * self.scale))

    def rows(self, q: Array) -> Array:
        return np.asarray(self._call("constraint_jacobian", q))

    def stiffness(self, states: RestStates, N: Array) -> Array:
        """Return the stiffness −Nᵀ M ∂a/∂q N along free motions N, at rest.

        M is the mass matrix, and a are the accelerations.
        """
        name = "constrained_forward_dynamics_derivatives"
        by_q, *_ = self._call(name, states.q, loaded=True, passive=self.passive)
        return np.asarray(-np.swapaxes(N, -1, -2) @ states.M @ by_q @ N)

    def work(self, q: Array, delta: Array) -> Array:
        """Return the work [J] of the joint forces of all but the constraints, along the steps δ (..., n, nv)."""
        robot, h = self.robot, 0.1  # on one-parameter subgroups the rate is δ for any h
        shares = np.array([_NODES, _NODES - h, _NODES + h])  # one call for all
        at, before, after = robot.integrate(q, np.multiply.outer(shares, delta))
        power = (robot.difference(before, after) / (2.0 * h) * self.force(at)).sum(axis=-1)
        return np.asarray((power.T * _WEIGHTS).sum(axis=-1).T)

    def force(self, q: Array) -> Array:
        """Return the joint forces F = M a − Gᵀλ of all but the constraints, at rest in configurations q (..., n, nq).

        a are the accelerations and λ the constraint forces.
        """
        a, forces = self.accelerations(q)
        F: Array = np.einsum("...ij,...j->...i", self.mass_matrix(q), a)
        F -= np.einsum("...ij,...i->...j", self.rows(q), forces)
        return F

    def free_motions(self, states: RestStates, flat: float = 1e-9) -> list[tuple[Array, Array]]:
        """Return bases N of the free motions as columns, with the indices of their states.

        G N = 0 and Nᵀ M N = 1, with the constraint Jacobian G and the mass matrix M. States with equally many free
        motions are in one group. Singular values of G up to ``flat``, relative to the largest, count as zero.
        """
        rows, root = self.rows(states.q), np.swapaxes(np.linalg.inv(np.linalg.cholesky(states.M)), -1, -2)
        if not rows.shape[-2]:
            return [(np.arange(len(root)), root)]  # M⁻¹ = root rootᵀ
        _, values, motions = np.linalg.svd(rows @ root)
        ranks = np.sum(values > flat * np.maximum(values[:, :1], 1e-300), axis=-1)
        groups = [(int(rank), np.flatnonzero(ranks == rank)) for rank in np.unique(ranks)]
        return [(group, root[group] @ np.swapaxes(motions[group, rank:], -1, -2)) for rank, group in groups]
