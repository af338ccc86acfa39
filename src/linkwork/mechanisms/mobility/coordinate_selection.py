"""Which coordinates are independent: named ones, if they are, or chosen ones."""

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
    least: float,
) -> MinimalCoordinates:
    """Minimal coordinates at an assembled configuration.

    Raises ValueError for named ones that are too few, too many or dependent, or nearly so.
    """
    robot = mechanism.robot
    G, errors = mechanism.rows(q), mechanism.scales.errors
    of_velocities, of_positions = ranked(G), ranked(G[errors])
    chooser = _Chooser(mechanism, least)
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
    y_names, u_names = ([names[k] for k in places] for places in (y, u))
    return MinimalCoordinates._make(robot, y_names, u_names, np.array(q), min(margins), mechanism.time)


class _Chooser:
    def __init__(self, mechanism: Mechanism, least: float) -> None:
        self.mechanism, self.least = mechanism, least
        self.tree = mechanism.robot.tree
        self.names = names_of(self.tree, "v")

    def chosen(self, result: Ranked, order: Sequence[int]) -> list[int]:
        """As many as there are motions, of which each moves nearly as much by itself as any."""
        return chosen_rows(result.right, result.right.shape[1], order)

    def named(self, what: str, names: Sequence[str], G: np.ndarray, result: Ranked) -> list[int]:
        """The places of named numbers, where they are independent and tell all others."""
        asked = (names,) if isinstance(names, str) else tuple(names)
        places: list[int] = self.mechanism.robot.v_index(asked).tolist()
        count = result.right.shape[1]
        said = ", ".join(map(repr, asked)) or "none"
        moving = ranked(result.right[places]) if places else None
        within = 0 if moving is None else int(np.sum(moving.values > self.least))
        problems = []
        if within < len(places):
            problems += self._too_many(places, result)
        if within < count:
            rest = [k for k in range(self.tree.nv) if k not in places]
            free = ranked(G[:, rest])
            null = np.zeros((self.tree.nv, free.right.shape[1]))
            null[rest] = free.right
            _, motions = motions_of(self.tree, null, self.mechanism.scales)
            listed = "; ".join(motion_text(motion) for motion in motions[:6])
            problems.append(f"they leave {_many(count - within)} undetermined" + (f": {listed}" if listed else ""))
        if problems:
            freedom = f"the mechanism has {count} degree{'' if count == 1 else 's'} of freedom here"
            raise ValueError(
                f"minimal_coordinates: {what}: {said}: {'; '.join(problems)} ({freedom}); None chooses some"
            )
        return places

    def _too_many(self, places: Sequence[int], result: Ranked) -> list[str]:
        """What of named numbers depends on those before it, and how."""
        kept: list[int] = []
        problems = []
        scales = self.mechanism.scales.velocities
        for k in places:
            row = result.right[k] / scales[k]
            basis = result.right[kept] / scales[kept][:, None]
            factors = np.linalg.lstsq(basis.T, row, rcond=1e-9)[0] if kept else np.zeros(0)
            left = row - factors @ basis if kept else row
            if np.linalg.norm(left) * scales[k] > self.least:
                kept.append(k)
                continue
            terms = {self.names[j]: float(x) for j, x in zip(kept, factors, strict=True) if abs(x) > 1e-9}
            on = " + ".join(f"{x:.4g} {name}" for name, x in terms.items())
            problems.append(f"{self.names[k]!r} " + (f"is {on}" if on else "cannot move"))
        return problems

    def margin(self, what: str, G: np.ndarray, places: Sequence[int]) -> float:
        """The smallest singular value of the dependent block.  Raises ValueError where it is too small."""
        dependent = [k for k in range(self.tree.nv) if k not in places]
        if not dependent:
            return 1.0
        values = np.linalg.svd(G[:, dependent], compute_uv=False)
        margin = float(values[-1]) if len(values) == len(dependent) else 0.0
        if not margin >= self.least:
            said = ", ".join(repr(self.names[k]) for k in places)
            raise ValueError(
                f"minimal_coordinates: {what}: {said}: with them the others are nearly undetermined: margin "
                f"{margin:.3g}, the "
                f"smallest singular value of the dependent block, is below {self.least:g}; name others, or None "
                f"chooses some"
            )
        return margin


def _many(count: int) -> str:
    return f"{count} motion{'' if count == 1 else 's'}"


def assembled_at(mechanism: Mechanism, q: Any, value: np.ndarray | None) -> np.ndarray:
    """An assembled configuration: the one given, made exact.  Raises ValueError where it is none, or none was found."""
    found = q
    if value is not None:
        error = mechanism.error(value)
        if not np.abs(error).max(initial=0.0) <= 1e-6 * mechanism.scales.length:
            rows = [name for c in mechanism.robot.tree.constraints if c.holonomic for name in c.component_names]
            worst = int(np.argmax(np.abs(error)))
            left = error[worst] / mechanism.scales.rows[mechanism.scales.errors][worst]
            raise ValueError(
                f"minimal_coordinates: q: it is not assembled: {left:.3g} is left of {rows[worst]!r}: give a "
                "configuration that "
                f"obeys the constraints"
            )
        found = mechanism.projected(value)
    if not found.closed:
        raise ValueError(
            "minimal_coordinates: no configuration that obeys the constraints was found: robot.mobility() explains"
        )
    result: np.ndarray = found.q
    return result
