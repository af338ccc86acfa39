"""Selection of independent coordinates: a check of named ones, or a choice by pivoting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.mechanisms.mobility.configuration_sampling import Mechanism
from linkwork.mechanisms.mobility.length_scaling import Ranked, chosen_rows, motion_text, motions_of, ranked
from linkwork.mechanisms.mobility.minimal_coordinates import MinimalCoordinates
from linkwork.model.coordinate_names import names_of

__all__ = ["assembled_at", "minimal_of"]


def minimal_of(
    mechanism: Mechanism,
    q: np.ndarray,
    independent: Sequence[str] | None,
    speeds: Sequence[str] | None,
    min_margin: float,
) -> MinimalCoordinates:
    """Return minimal coordinates at an assembled configuration.

    Raises ValueError if the named coordinates are too few, too many, dependent or nearly dependent.
    """
    robot = mechanism.robot
    G, errors = mechanism.rows(q), mechanism.scales.errors
    of_velocities, of_positions = ranked(G), ranked(G[errors])
    chooser = _Chooser(mechanism, min_margin)
    same = of_velocities.rank == of_positions.rank
    if independent is None:
        first = None if speeds is None else chooser.named("speeds", speeds, G, of_velocities)
        u = chooser.chosen(of_velocities, range(robot.nv)) if first is None else first
        order = [*u, *(k for k in range(robot.nv) if k not in u)]
        y = u if same else chooser.chosen(of_positions, order)
    else:
        y = chooser.named("independent", independent, G[errors], of_positions)
        u = y if same else chooser.chosen(of_velocities, [*y, *(k for k in range(robot.nv) if k not in y)])
        u = u if speeds is None else chooser.named("speeds", speeds, G, of_velocities)
    margins = [chooser.margin("independent", G[errors], y), chooser.margin("speeds", G, u)]
    names = names_of(robot.tree, "v")
    y_names, u_names = ([names[k] for k in indices] for indices in (y, u))
    return MinimalCoordinates._make(robot, y_names, u_names, np.array(q), min(margins), mechanism.time)


class _Chooser:
    """Choice of independent velocity components, or a check of named ones."""

    def __init__(self, mechanism: Mechanism, min_margin: float) -> None:
        self.mechanism, self.min_margin = mechanism, min_margin
        self.tree = mechanism.robot.tree
        self.names = names_of(self.tree, "v")

    def chosen(self, result: Ranked, order: Sequence[int]) -> list[int]:
        """Return the indices of independent velocity components, as many as there are free motions.

        Pivoting prefers components in this order.
        """
        return chosen_rows(result.right, result.right.shape[1], order)

    def named(self, argument: str, names: Sequence[str], G: np.ndarray, result: Ranked) -> list[int]:
        """Return the indices of named components.  Raises ValueError if they are dependent or do not suffice."""
        requested = (names,) if isinstance(names, str) else tuple(names)
        indices: list[int] = self.mechanism.robot.v_index(requested).tolist()
        count = result.right.shape[1]
        listed_names = ", ".join(map(repr, requested)) or "none"
        moving = ranked(result.right[indices]) if indices else None
        within = 0 if moving is None else int(np.sum(moving.values > self.min_margin))
        problems = []
        if within < len(indices):
            problems += self._too_many(indices, result)
        if within < count:
            dependent = [k for k in range(self.tree.nv) if k not in indices]
            free = ranked(G[:, dependent])
            null = np.zeros((self.tree.nv, free.right.shape[1]))
            null[dependent] = free.right
            _, motions = motions_of(self.tree, null, self.mechanism.scales)
            listed = "; ".join(motion_text(motion) for motion in motions[:6])
            problems.append(f"they leave {_many(count - within)} undetermined" + (f": {listed}" if listed else ""))
        if problems:
            freedom = f"the mechanism has {count} degree{'' if count == 1 else 's'} of freedom here"
            raise ValueError(
                f"minimal_coordinates: {argument}: {listed_names}: {'; '.join(problems)} ({freedom}); None chooses them"
            )
        return indices

    def _too_many(self, indices: Sequence[int], result: Ranked) -> list[str]:
        """Return an explanation for each named component that depends on those before it."""
        basis_indices: list[int] = []
        problems = []
        scales = self.mechanism.scales.velocities
        for k in indices:
            row = result.right[k] / scales[k]
            basis = result.right[basis_indices] / scales[basis_indices][:, None]
            factors = np.linalg.lstsq(basis.T, row, rcond=1e-9)[0] if basis_indices else np.zeros(0)
            left = row - factors @ basis if basis_indices else row
            if np.linalg.norm(left) * scales[k] > self.min_margin:
                basis_indices.append(k)
                continue
            terms = {self.names[j]: float(x) for j, x in zip(basis_indices, factors, strict=True) if abs(x) > 1e-9}
            on = " + ".join(f"{x:.4g} {name}" for name, x in terms.items())
            problems.append(f"{self.names[k]!r} " + (f"is {on}" if on else "cannot move"))
        return problems

    def margin(self, argument: str, G: np.ndarray, indices: Sequence[int]) -> float:
        """Return the smallest singular value of the constraint Jacobian's columns of the dependent velocities.

        Raises ValueError if it is too small.
        """
        dependent = [k for k in range(self.tree.nv) if k not in indices]
        if not dependent:
            return 1.0
        values = np.linalg.svd(G[:, dependent], compute_uv=False)
        margin = float(values[-1]) if len(values) == len(dependent) else 0.0
        if not margin >= self.min_margin:
            listed_names = ", ".join(repr(self.names[k]) for k in indices)
            raise ValueError(
                f"minimal_coordinates: {argument}: {listed_names}: they hardly determine the others: margin "
                f"{margin:.3g}, the smallest singular value of the dependent block, is below {self.min_margin:g}; name "
                f"others, or None chooses them"
            )
        return margin


def _many(count: int) -> str:
    return f"{count} motion{'' if count == 1 else 's'}"


def assembled_at(mechanism: Mechanism, q: Any, value: np.ndarray | None) -> np.ndarray:
    """Return an assembled configuration: ``value`` projected onto the constraints, or if None the configuration of q.

    q is the result of an assembly.  Raises ValueError if the configuration is not assembled.
    """
    assembled = q
    if value is not None:
        error = mechanism.error(value)
        if not np.abs(error).max(initial=0.0) <= 1e-6 * mechanism.scales.length:
            rows = [name for c in mechanism.robot.tree.constraints if c.holonomic for name in c.component_names]
            worst = int(np.argmax(np.abs(error)))
            left = error[worst] / mechanism.scales.rows[mechanism.scales.errors][worst]
            raise ValueError(
                f"minimal_coordinates: q: not assembled: error {left:.3g} of {rows[worst]!r}: pass a configuration "
                f"that satisfies the constraints"
            )
        assembled = mechanism.projected(value[np.newaxis])
    if not assembled.closed.all():
        raise ValueError(
            "minimal_coordinates: no configuration that satisfies the constraints was found: see robot.mobility()"
        )
    result: np.ndarray = assembled.q[0]
    return result
