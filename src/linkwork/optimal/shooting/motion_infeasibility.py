"""Proofs that the constraints of a motion by forward dynamics cannot hold together near it.

Controls are the unknowns, within the limits of the motors, and the constraints' values are functions of them.  The
search's own kernel minimises ½ |r|² of the scaled violations r alone: costs have weight 0, multipliers stay 0, and the
penalty stays 1.  An iteration from controls u tells the decrement

    δ = gᵀ (JᵀJ + ν D)⁻¹ g,    g = Jᵀ r,    D = diag JᵀJ,

of the controls that are free, those at a limit being pushed beyond it.  With ν small, δ is the part of |r|² that some
linearised change of the controls removes.  Every change d that meets all linearised constraints has
rᵀ (r + J d) ≤ 0, hence |r|² ≤ −gᵀ d ≤ √δ √(|J d|² + ν |d|²_D), so that it moves the constraints by at least |r|/√δ
times what violates them, or controls as far as the damping counts.  Where that is a thousand times, violations are
stationary and r are the multipliers of the conflict.  Where dynamics and constraints are linear this is a Farkas
certificate; else it is local, as in `infeasibility_proof`.

Source: Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, sections 10.3 and 12.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.optimal.algorithms.shooting.search_state import SHOOTING_SCALARS, begun
from linkwork.optimal.infeasibility_proof import ConflictProof, conflict_of

__all__ = ["motion_conflict_proof"]

_AT_MOST = 200  # iterations
_STATIONARY = 1e-6  # of |r|²: a decrement of a thousandth of the violations
_MILD = 1e-3  # damping, relative to the diagonal: with more the decrement says nothing
_GAP = 1e-9  # of states: with more the motion is none
_WELL_ABOVE = 10.0  # tolerances: less is no conflict

Array = np.ndarray[Any, Any]


def motion_conflict_proof(result: Any, place: int) -> ConflictProof | None:
    """Return the proof that a problem of a batch is infeasible near its motion, or None where there is none."""
    return _LeastViolation(result, place).proof()


class _LeastViolation:
    """Minimise the violations of one problem of a batch from where its search ended."""

    def __init__(self, result: Any, place: int) -> None:
        self.result, self.program = result, result._prepared.program
        self.kernel = result._kernel
        lead = result._state["scalars"].shape[:-1]
        index = np.unravel_index(place, lead) if lead else ()

        def own(x: Any, shape: tuple[int, ...]) -> Array:
            return np.array(np.broadcast_to(np.asarray(x, dtype=float), (*lead, *shape))[index])

        shapes = {port.name: port.shape for port in self.kernel.inputs}
        self.first = {name: own(result._kernel_inputs[name], shape) for name, shape in shapes.items()}
        ended = {name: own(result._search[name], shapes[name]) for name in ("x", "u")}
        self.split = result._split
        terms, kinds = self.program.terms, {}
        for name, some in zip(("moving", "reached"), self.split, strict=True):
            kinds[name] = [terms[k].hard for k in some for _ in range(terms[k].count * _columns(terms[k]))]
            for part in (f"{name}_weights", f"{name}_forces"):
                if part in self.first:
                    self.first[part] = (
                        self.first[part] * np.array(kinds[name]) if "weights" in part else 0.0 * self.first[part]
                    )
        self.inputs = self.first | ended
        self.tolerances = dict(zip(self.program.hard, result._tolerances[1:], strict=True))
        weights = own(result._inputs["weights"], (self.program.steps, len(terms)))
        scales = own(result._prepared.scaled_constants["scales"], (self.program.rows,))
        self.scales = np.zeros((self.program.steps, self.program.rows))
        searched = [k for some in self.split for k in some if terms[k].hard]
        for k in searched:
            rows = self.program.rows_of[k]
            self.scales[:, rows] = weights[:, k, None] * scales[rows]
            for t in range(self.program.steps):
                self.scales[t, rows.start + self.program.counted(k, t) : rows.stop] = 0.0
        self.searched = searched

    def proof(self) -> ConflictProof | None:
        """The proof, or None where all constraints hold somewhere near, or violations could be less."""
        first = self._called(self.first, 0)
        if first["gap"] < _GAP and self._kept(self._beyond(first), 1.0):
            return None
        given, here = self.inputs, self._called(self.inputs, 0)
        damping = 0.0
        for _ in range(_AT_MOST):
            beyond = self._beyond(here)
            if not np.isfinite(beyond).all() or self._kept(beyond, _WELL_ABOVE):
                return None
            new = self._called(given, 1, damping)
            size = float(((beyond * self.scales) ** 2).sum())
            share, used = new["decrement"] / size, damping
            regular = new["decrement"] < 1e29
            if regular and share <= _STATIONARY and used <= _MILD and here["gap"] < _GAP:
                return self._certificate(beyond, here["u"], 1.0 / np.sqrt(max(share, 1e-32)))
            if new["status"] != 0.0 and not np.isfinite(new["values"]).all():
                return None
            if new["damping"] > 1e12:
                return None
            damping = new["damping"]
            given, here = given | {"x": new["x"], "u": new["u"]}, new
        return None

    def _called(self, given: Mapping[str, Array], iterations: int, damping: float = 0.0) -> dict[str, Any]:
        """The kernel's result after so many iterations on violations alone."""
        kept = np.array(begun(float(given["ends"][0]), 1.0, True))
        kept[SHOOTING_SCALARS.index("target")], kept[SHOOTING_SCALARS.index("damping")] = 1e-300, damping
        ends = np.array([*given["ends"][:2], float(iterations)])
        own = {**given, "scalars": kept, "ends": ends}
        result = self.kernel(**{port.name: own[port.name] for port in self.kernel.inputs})
        status, _, _, _, gap, decrement, *_ = np.asarray(result.diagnostics).tolist()
        return {
            "x": np.asarray(result.x),
            "u": np.asarray(result.u),
            "values": np.asarray(result.values),
            "damping": float(np.asarray(result.scalars)[SHOOTING_SCALARS.index("damping")]),
            "status": status,
            "gap": gap,
            "decrement": decrement,
        }

    def _beyond(self, result: Mapping[str, Any]) -> Array:
        """Violations (T, rows) of what the search can change, as features measure them."""
        values = result["values"]
        beyond = np.zeros_like(values)
        for k in self.searched:
            rows = self.program.rows_of[k]
            beyond[:, rows] = self.result._prepared.beyond(k, values[:, rows])
        return np.where(self.scales != 0.0, beyond, 0.0)

    def _kept(self, beyond: Array, times: float) -> bool:
        """Whether all constraints hold within so many times their tolerances."""
        return all(
            np.abs(beyond[:, self.program.rows_of[k]]).max(initial=0.0) <= times * self.tolerances[k]
            for k in self.searched
        )

    def _certificate(self, beyond: Array, u: Array, reach: float) -> ConflictProof | None:
        program, multipliers = self.program, beyond * self.scales**2
        everywhere = np.zeros((program.steps, program.force_count(program.everywhere)))
        alone = np.zeros(program.force_count(program.alone))
        for k, columns in program.forces_of(program.everywhere).items():
            everywhere[:, columns] = multipliers[:, program.rows_of[k]]
        for k, columns in program.forces_of(program.alone).items():
            alone[columns] = multipliers[program.terms[k].at, program.rows_of[k]]
        violations = {k: float(np.abs(beyond[:, program.rows_of[k]]).max(initial=0.0)) for k in self.searched}
        part = sorted((k for k, x in violations.items() if x > self.tolerances[k]), key=lambda k: -violations[k])
        names = {program.terms[k].name: violations[k] for k in part}
        return conflict_of(reach, everywhere, alone, names, self._pressing(u))

    def _pressing(self, u: Array) -> tuple[str, ...]:
        """Motors at their limits, by joints."""
        if "low" not in self.inputs:
            return ()
        at: Array = np.any((u <= self.inputs["low"]) | (u >= self.inputs["high"]), axis=0, keepdims=True)[0]
        names, actuated = self.result.problem.robot.v_names, self.result._recipe.actuated
        return tuple(f"control_limits of {names[k]!r}" for k, it_is in zip(actuated, at, strict=True) if it_is)


def _columns(term: Any) -> int:
    """Rows of the search per row of a term: two of a constraint within bounds."""
    return 2 if term.bounded and term.hard else 1
