"""Proofs of infeasibility for motions by forward dynamics: their constraints cannot hold together nearby.

Controls are the unknowns, within the limits of the motors, and the constraints' values are functions of them.  The
search's own kernel minimises ½ |r|² of the scaled violations r: costs have weight 0, multipliers stay 0, and the
penalty stays 1.  An iteration from controls u gives the decrement

    δ = gᵀ (JᵀJ + ν D)⁻¹ g,    g = Jᵀ r,    D = diag JᵀJ,

of the free controls (controls pushed against a limit are excluded).  Without damping ν, δ is the linearised decrease
of |r|² by a change of the controls.  Every change d that satisfies all linearised constraints has rᵀ (r + J d) ≤ 0,
hence |r|² ≤ −gᵀ d ≤ √δ |J d|.  So d changes the constraints by at least |r|/√δ times their violation.  If this factor
is a thousand, violations are stationary and r are the multipliers of the conflict.  For linear dynamics and
constraints this is a Farkas certificate; otherwise it is local, as in `infeasibility_proof`.

A direction that changes the constraints by σ times the largest possible change decreases |r|² by the fraction
σ²/(σ² + ν).  So a small δ with damping proves only that directions that decrease |r|² have σ² ≤ ν δ/|r|²; this bound
must be small, too.  If time steps are too long to resolve a motion, one direction changes all constraints together, and
other directions change them 10⁵ times less; damping hides these.

Source: Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, sections 10.3 and 12.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.optimal.algorithms.shooting.search_state import SHOOTING_SCALARS, initial_scalars
from linkwork.optimal.infeasibility_proof import ConflictProof, conflict_of

__all__ = ["motion_conflict_proof"]

_MAX_ITERATIONS = 200
_STATIONARY = 1e-6  # decrement relative to |r|²: a thousandth of the violations
_HIDDEN = 1e-14  # ν δ/|r|²: damping hides directions that move constraints by 1e-7 of the largest movement
_MAX_GAP = 1e-9  # defects of the states of a valid motion
_MIN_VIOLATION = 10.0  # tolerances: smaller violations are no conflict

Array = np.ndarray[Any, Any]


def motion_conflict_proof(result: Any, index: int) -> ConflictProof | None:
    """Return the proof that a problem by forward dynamics is infeasible near its motion, or None.

    ``index`` is the flat index of the problem in a batch.
    """
    return _ViolationSearch(result, index).proof()


class _ViolationSearch:
    """Search that minimises the violations of one problem of a batch, from the end of its own search."""

    def __init__(self, result: Any, index: int) -> None:
        self.result, self.program = result, result._prepared.program
        self.kernel = result._kernel
        lead = result._state["scalars"].shape[:-1]
        own_index = np.unravel_index(index, lead) if lead else ()

        def own(x: Any, shape: tuple[int, ...]) -> Array:
            return np.array(np.broadcast_to(np.asarray(x, dtype=float), (*lead, *shape))[own_index])

        shapes = {port.name: port.shape for port in self.kernel.inputs}
        self.first = {name: own(result._kernel_inputs[name], shape) for name, shape in shapes.items()}
        ended = {name: own(result._search[name], shapes[name]) for name in ("x", "u")}
        self.split = result._split
        terms, kinds = self.program.terms, {}
        for name, indices in zip(("moving", "reached"), self.split, strict=True):
            kinds[name] = [terms[k].hard for k in indices for _ in range(terms[k].count * _columns(terms[k]))]
            for port in (f"{name}_weights", f"{name}_forces"):
                if port in self.first:
                    self.first[port] = (
                        self.first[port] * np.array(kinds[name]) if "weights" in port else 0.0 * self.first[port]
                    )
        self.inputs = self.first | ended
        self.tolerances = dict(zip(self.program.hard, result._tolerances[1:], strict=True))
        weights = own(result._inputs["weights"], (self.program.steps, len(terms)))
        scales = own(result._prepared.scaled_constants["scales"], (self.program.rows,))
        self.scales = np.zeros((self.program.steps, self.program.rows))
        searched = [k for indices in self.split for k in indices if terms[k].hard]
        for k in searched:
            rows = self.program.rows_of[k]
            self.scales[:, rows] = weights[:, k, None] * scales[rows]
            for t in range(self.program.steps):
                self.scales[t, rows.start + self.program.counted(k, t) : rows.stop] = 0.0
        self.searched = searched

    def proof(self) -> ConflictProof | None:
        """Return the proof, or None if all constraints hold nearby or violations can decrease."""
        first = self._called(self.first, 0)
        if first["gap"] < _MAX_GAP and self._satisfied(self._beyond(first), 1.0):
            return None
        inputs, outputs = self.inputs, self._called(self.inputs, 0)
        damping = 0.0
        for _ in range(_MAX_ITERATIONS):
            beyond = self._beyond(outputs)
            if not np.isfinite(beyond).all() or self._satisfied(beyond, _MIN_VIOLATION):
                return None
            new = self._called(inputs, 1, damping)
            size = float(((beyond * self.scales) ** 2).sum())
            share, used = new["decrement"] / size, damping
            regular = new["decrement"] < 1e29
            if regular and share <= _STATIONARY and used * share <= _HIDDEN and outputs["gap"] < _MAX_GAP:
                return self._certificate(beyond, outputs["u"], 1.0 / np.sqrt(max(share, 1e-32)))
            if new["status"] != 0.0 and not np.isfinite(new["values"]).all():
                return None
            if new["damping"] > 1e12:
                return None
            damping = new["damping"]
            inputs, outputs = inputs | {"x": new["x"], "u": new["u"]}, new
        return None

    def _called(self, inputs: Mapping[str, Array], iterations: int, damping: float = 0.0) -> dict[str, Any]:
        """Return the outputs of the search kernel after ``iterations`` in which only the violations are minimised."""
        scalars = np.array(initial_scalars(float(inputs["ends"][0]), 1.0, True))
        scalars[SHOOTING_SCALARS.index("target")], scalars[SHOOTING_SCALARS.index("damping")] = 1e-300, damping
        ends = np.array([*inputs["ends"][:2], float(iterations)])
        arrays = {**inputs, "scalars": scalars, "ends": ends}
        result = self.kernel(**{port.name: arrays[port.name] for port in self.kernel.inputs})
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
        """Return the violations (T, rows) of the constraints that the dynamics do not enforce, in units of features."""
        values = result["values"]
        beyond = np.zeros_like(values)
        for k in self.searched:
            rows = self.program.rows_of[k]
            beyond[:, rows] = self.result._prepared.beyond(k, values[:, rows])
        return np.where(self.scales != 0.0, beyond, 0.0)

    def _satisfied(self, beyond: Array, times: float) -> bool:
        """Return True if each violation is at most ``times`` the tolerance of its constraint."""
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
        involved = sorted((k for k, x in violations.items() if x > self.tolerances[k]), key=lambda k: -violations[k])
        names = {program.terms[k].name: violations[k] for k in involved}
        return conflict_of(reach, everywhere, alone, names, self._pressing(u))

    def _pressing(self, u: Array) -> tuple[str, ...]:
        """Return texts that name the active motor limits, one for each joint at a limit in any step."""
        if "low" not in self.inputs:
            return ()
        at: Array = np.any((u <= self.inputs["low"]) | (u >= self.inputs["high"]), axis=0, keepdims=True)[0]
        names, actuated = self.result.problem.robot.v_names, self.result._recipe.actuated
        return tuple(f"control_limits of {names[k]!r}" for k, is_active in zip(actuated, at, strict=True) if is_active)


def _columns(term: Any) -> int:
    """Return the number of search components for a component of a term: 2 for a constraint with bounds, else 1."""
    return 2 if term.bounded and term.hard else 1
