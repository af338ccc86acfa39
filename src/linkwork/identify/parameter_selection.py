"""Which parameters are estimated: those of some bodies and of some kinds in the joints; the others are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.dynamics.algorithms.regressors import JOINT_PARAMETERS
from linkwork.dynamics.base_parameters import BaseParameters, base_parameters_of
from linkwork.errors import UnknownNameError
from linkwork.model.friction_laws import Friction, FrictionLaw, read_friction
from linkwork.robot import Robot

__all__ = ["Columns", "Passive", "columns_of", "structural"]

Passive = bool | Sequence[str]

_APART = (
    1e-5  # of a column's length: what others leave of it is less where forces do not tell it from theirs in practice
)


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a regressor: those that are estimated, and what the others add at the robot's own numbers."""

    names: tuple[str, ...]  # of all
    pi: np.ndarray  # (npi,): the robot's own
    estimated: np.ndarray  # (p,) places of those that are
    bodies: tuple[int, ...]  # bodies whose ten are estimated, in their order: first in ``estimated``
    passive: bool  # whether the regressor has the joints' too
    friction: str | FrictionLaw

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names of those that are estimated."""
        return tuple(self.names[k] for k in self.estimated)

    @property
    def known(self) -> np.ndarray:
        """π with zeros for what is estimated."""
        result = self.pi.copy()
        result[self.estimated] = 0.0
        return result

    @property
    def options(self) -> dict[str, Any]:
        """What inverse dynamics with these parameters is called with."""
        return {"passive": True, "friction": self.friction} if self.passive else {}


def columns_of(
    caller: str, robot: Robot, bodies: Iterable[str] | None, passive: Passive, friction: Friction
) -> Columns:
    """The columns of what was asked for.  Raises UnknownNameError and ValueError for what there is not."""
    if len(robot.constraints):
        raise ValueError(
            f"{caller}: robot {robot.name!r} has constraints, whose forces are not among what is measured: identify "
            f"robot.without_constraints(), from motions in which nothing is closed"
        )
    if len(robot.force_elements):
        raise ValueError(
            f"{caller}: robot {robot.name!r} has force elements, whose forces are not among what is measured: identify "
            f"robot.without_force_elements(), from motions in which they are taken off"
        )
    kinds = _kinds(caller, passive)
    law = read_friction(caller, friction)
    names = robot.parameter_names(passive=bool(kinds))
    chosen = _bodies(caller, robot, bodies)
    places = [10 * i + k for i in chosen for k in range(10)]
    first = 10 * len(robot.bodies)
    places += [k for k in range(first, len(names)) if names[k].rpartition(".")[2] in kinds]
    if not places:
        raise ValueError(
            f"{caller}: bodies and passive: nothing is to be estimated: no bodies, and no kind of `passive` parameters"
        )
    pi = robot.inertial_parameters(passive=bool(kinds))
    return Columns(names, pi, np.array(places), chosen, bool(kinds), law)


def structural(robot: Robot, columns: Columns, measured: np.ndarray) -> tuple[BaseParameters, np.ndarray]:
    """The base parameters that the measured joint forces (nv,) show at random states, and how long columns are there.

    Axes that are parallel but for a file's last digit (1.5708 for π/2) count as parallel: what tells parameters apart
    there no measurement does.

    The second (p,) are root mean squares by row [N·m, N by π], a scale that tells a column that is zero in
    measurements from a small one.
    """
    rows = int(measured.sum())
    count = max(20, -(-3 * len(columns.estimated) // max(rows, 1)))
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, size=count)
    v, a = rng.normal(size=(2, count, robot.nv))
    Y = robot.inverse_dynamics_regressor(q, v, a, **columns.options)[:, measured][..., columns.estimated]
    Y = Y.reshape(-1, len(columns.estimated))
    return base_parameters_of(Y, columns.chosen, 1e-9, _APART), np.sqrt((Y * Y).mean(axis=0))


def _kinds(caller: str, passive: Any) -> tuple[str, ...]:
    if isinstance(passive, (bool, np.bool_)):
        return JOINT_PARAMETERS if passive else ()
    kinds = (passive,) if isinstance(passive, str) else tuple(passive)
    for kind in kinds:
        if kind not in JOINT_PARAMETERS:
            raise UnknownNameError("kind of passive parameter", kind, JOINT_PARAMETERS)
    return kinds


def _bodies(caller: str, robot: Robot, bodies: Iterable[str] | None) -> tuple[int, ...]:
    if bodies is None:
        return tuple(range(len(robot.bodies)))
    if isinstance(bodies, str):
        raise TypeError(f"{caller}: bodies: expected a list of names, got {bodies!r}")
    index = {name: i for i, name in enumerate(robot.bodies)}
    result = set()
    for name in bodies:
        if name not in index:
            remedy = ""
            if name in robot.frames and robot.link(name).body != "world":
                remedy = f"it is welded to body {robot.link(name).body!r}, whose parameters are estimated as a whole"
            raise UnknownNameError("body", name, robot.bodies, remedy)
        result.add(index[name])
    return tuple(sorted(result))
