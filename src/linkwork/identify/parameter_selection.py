"""Selection of the parameters to estimate: of some bodies, and of some kinds in joints. All others are known."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork import Robot
from linkwork._util.user_frames import levels_up
from linkwork.dynamics import BaseParameters
from linkwork.errors import ModelWarning, UnknownNameError
from linkwork.model import Friction, FrictionLaw, read_friction
from linkwork.parameters import JOINT_NAMES

__all__ = ["Columns", "Passive", "columns_of", "structural"]

Passive = bool | str | Sequence[str]

_DEPENDENT = 1e-5  # of a column's length: a smaller remainder after projecting out others is not distinguishable


@dataclass(frozen=True, eq=False)
class Columns:
    """Selection of the parameters to estimate, by their columns in the regressor; the other parameters are known."""

    names: tuple[str, ...]  # of all parameters
    pi: np.ndarray  # (npi,): the robot's own values
    estimated: np.ndarray  # (p,) indices of the estimated ones
    bodies: tuple[int, ...]  # bodies whose ten are estimated, in order: first in ``estimated``
    passive: bool  # True if the regressor includes the joints' parameters
    friction: str | FrictionLaw

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the estimated parameters."""
        return tuple(self.names[k] for k in self.estimated)

    @property
    def known(self) -> np.ndarray:
        """The robot's own parameters π (npi,), with zeros for the estimated ones."""
        result = self.pi.copy()
        result[self.estimated] = 0.0
        return result

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of inverse dynamics, and of its regressor, that include the selected parameters."""
        return {"passive": True, "friction": self.friction} if self.passive else {}


def columns_of(
    caller: str, robot: Robot, bodies: Iterable[str] | None, passive: Passive | None, friction: Friction
) -> Columns:
    """Return the selection of the parameters of the bodies, and of the ``passive`` kinds in joints.

    If ``passive`` is empty, passive forces of joints have the robot's values. If it is False, they are ignored; None
    ignores them with a warning. Raises UnknownNameError and ValueError.
    """
    if len(robot.constraints):
        raise ValueError(
            f"{caller}: robot {robot.name!r} has constraints, whose forces are not measured; identify "
            f"robot.without_constraints(), from motions without closed loops"
        )
    if len(robot.force_elements):
        raise ValueError(
            f"{caller}: robot {robot.name!r} has force elements, whose forces are not measured; identify "
            f"robot.without_force_elements(), from motions without them"
        )
    kinds = _kinds(passive)
    law = read_friction(caller, friction)
    is_included = passive is not None and not (isinstance(passive, (bool, np.bool_)) and not passive)
    names = robot.parameter_names(passive=is_included)
    chosen = _bodies(caller, robot, bodies)
    indices = [10 * i + k for i in chosen for k in range(10)]
    first = 10 * len(robot.bodies)
    indices += [k for k in range(first, len(names)) if names[k].rpartition(".")[2] in kinds]
    if not indices:
        raise ValueError(
            f"{caller}: bodies and passive: expected bodies or a kind of `passive` parameters to estimate, got none"
        )
    if passive is None:
        _warn_of_passive_forces(caller, robot)
    pi = robot.inertial_parameters(passive=is_included)
    return Columns(names, pi, np.array(indices), chosen, is_included, law)


def structural(robot: Robot, columns: Columns, measured: np.ndarray) -> tuple[BaseParameters, np.ndarray]:
    """Return the base parameters that the measured joint forces determine, and typical norms of regressor columns.

    ``measured`` (nv,) is True for a measured joint force. The regressor is evaluated at random states. Axes that are
    parallel up to a file's last digit (1.5708 for π/2) count as parallel, since no measurement distinguishes
    parameters by such differences.

    The norms (p,) are the root mean squares of the estimated parameters' columns of this regressor [N·m, N by π]: a
    scale to tell a zero column in measurements from a small one.
    """
    rows = int(measured.sum())
    count = max(20, -(-3 * len(columns.estimated) // max(rows, 1)))
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, size=count)
    v, a = rng.normal(size=(2, count, robot.nv))
    Y = robot.inverse_dynamics_regressor(q, v, a, **columns.options)[:, measured][..., columns.estimated]
    Y = Y.reshape(-1, len(columns.estimated))
    return BaseParameters.of_regressor(Y, columns.chosen, apart=_DEPENDENT), np.sqrt((Y * Y).mean(axis=0))


def _kinds(passive: Any) -> tuple[str, ...]:
    if passive is None or isinstance(passive, (bool, np.bool_)):
        return JOINT_NAMES if passive else ()
    kinds = (passive,) if isinstance(passive, str) else tuple(passive)
    for kind in kinds:
        if kind not in JOINT_NAMES:
            raise UnknownNameError("kind of passive parameter", kind, JOINT_NAMES)
    return kinds


def _warn_of_passive_forces(caller: str, robot: Robot) -> None:
    names, values = robot.parameter_names(passive=True), robot.inertial_parameters(passive=True)
    present = {name.rpartition(".")[2] for name, x in zip(names, values.tolist(), strict=True) if x != 0.0}
    kinds = [kind for kind in JOINT_NAMES if kind in present]
    if kinds:
        warnings.warn(
            f"{caller}: passive: expected a choice, as the joints of robot {robot.name!r} have {' and '.join(kinds)}, "
            f"got none; the fit ignores them as passive=False does; passive=True estimates them, passive=[] includes "
            f"them with the robot's values",
            ModelWarning,
            stacklevel=levels_up(),
        )


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
