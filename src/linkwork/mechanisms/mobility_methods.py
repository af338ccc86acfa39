"""Methods of `Robot` for the freedom of mechanisms: integrability of constraints, mobility, minimal coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from linkwork import mechanisms
from linkwork._util.progress import Progress
from linkwork._util.validation import finite_number, floats
from linkwork.errors import UnknownNameError
from linkwork.kernels.array_arguments import stacked
from linkwork.kernels.robot_arguments import refuse_symbols
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.model.function_spec import QUANTITIES
from linkwork.spatial.arguments import checked_array

if TYPE_CHECKING:
    from linkwork.mechanisms.mobility.length_scaling import Scales


__all__ = ["IntegrabilityMethods", "MobilityMethods"]


class IntegrabilityMethods(RobotBase):
    """Methods of a robot for the integrability of its velocity constraints."""

    __slots__ = ()

    def integrability(self, q: Array, *, time: float = 0.0) -> mechanisms.Integrability:
        """Find the combinations of velocity constraints that are derivatives of position constraints.

        The method is Frobenius' theorem: the admissible velocities are extended by Lie brackets until they are
        involutive, and then span the directions of reachable configurations.  q (nq,) is a configuration that satisfies
        the holonomic constraints, and ``time`` [s] is for constraints that depend on it.  The result holds for the
        configurations reachable from q; `Integrability.generic` is True if it also holds in a neighbourhood of q.
        Where there are more admissible velocities at q than around it, as at a dead centre, the result is for the
        neighbourhood.

        >>> import linkwork as lw
        >>> base = lw.Joint.of(lw.joints.Planar(), name="base", parent="world", child="body")
        >>> sledge = lw.Robot.build("sledge", base, lw.Link("body", mass=1.0))
        >>> print(sledge.with_constraints(lw.constraints.KnifeEdge("body")).integrability([0.1, 0.2, 0.3]))
        sledge: degrees of freedom: 2 of velocity, 3 of configuration
          brackets: 2 → 3
          integrable: 0 of 1 velocity constraints
          not integrable by themselves: body skates: across
        >>> print(sledge.with_constraints(lw.constraints.NoSlip("body", "world.y")).integrability([0.1, 0.2, 0.3]))
        sledge: degrees of freedom: 2 of velocity, 2 of configuration
          integrable: 1 of 1 velocity constraints
            body does not slip: along world.y: base.y is constant

        Raises ValueError for an invalid configuration, one that violates the holonomic constraints, and constraints
        that no velocity satisfies; TypeError for a robot with symbolic parameters.
        """
        from linkwork.mechanisms.integrability import integrability_of

        refuse_symbols("integrability", self)
        try:
            at = np.asarray(
                self._call_method("integrate", (q, np.zeros(self.nv)), {}, {}, None)
            )  # checked and normalised
        except UnknownNameError as error:
            raise error.at("integrability: q") from None
        except ValueError as error:
            raise ValueError(str(error).replace("integrate:", "integrability:", 1)) from None
        if at.ndim != 1:
            raise ValueError(f"integrability: q: expected one configuration ({self.nq},), got shape {at.shape}")
        t = float(checked_array(time, "integrability: time: expected a number [s]", ()))
        return integrability_of(self._tree, at, t)


class MobilityMethods(RobotBase):
    """Methods of a robot for degrees of freedom and minimal coordinates of mechanisms."""

    __slots__ = ()

    @overload
    def mobility(
        self,
        q: Array | None = None,
        *,
        length: float | None = None,
        time: float | None = None,
        parameters: None = None,
        seed: int = 0,
        progress: bool | Callable[[Progress], Any] = False,
    ) -> mechanisms.Mobility: ...

    @overload
    def mobility(
        self,
        q: Array | None = None,
        *,
        length: float | None = None,
        time: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        seed: int = 0,
        progress: bool | Callable[[Progress], Any] = False,
    ) -> Any: ...

    def mobility(
        self,
        q: Array | None = None,
        *,
        length: float | None = None,
        time: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        seed: int = 0,
        progress: bool | Callable[[Progress], Any] = False,
    ) -> Any:
        """Return the degrees of freedom of a mechanism, with redundant and singular rows and a basis of its motions.

        q (nq,) is projected onto the constraints; without it an assembled configuration near `neutral` is used. The
        rank of the constraint Jacobian is found from the largest gap of its singular values, with angles multiplied by
        ``length`` [m], by default the characteristic length: the longest distance of two joints of a link. ``time`` [s]
        is the time of constraints that depend on it, 0 by default. Rows are *redundant* if they are dependent
        everywhere, and *singular* if only here; random motions from q, drawn with ``seed``, distinguish the two. Rows
        are *inconsistent* if no configuration satisfies all constraints. ``progress`` shows a bar on standard error, or
        is a function of a `linkwork.Progress`, in configurations. ``parameters`` are values (..., own shape) by the
        names of `Robot.parameters`. With a batch of them, or of times, the result is a
        `linkwork.mechanisms.Mobilities`: arrays (...), and by index the `Mobility` of each.

        Raises ValueError for q of another shape or with non-finite values, and for a length that is not positive.
        """
        from linkwork.mechanisms.assembly.reactions import undetermined_pins
        from linkwork.mechanisms.assembly.state_inputs import robot_with, varied
        from linkwork.mechanisms.mobility.configuration_sampling import Mechanism
        from linkwork.mechanisms.mobility.mobility_batch import mobility_of

        start, scales = self._one("mobility", "q", q), self._scales("mobility", length)
        robot, inputs = varied(self, "mobility", time, parameters)
        mechanism = Mechanism(robot, scales, inputs.flat(inputs.shape))
        result = mobility_of(mechanism, start, inputs.shape, seed, progress)
        if inputs.shape:
            return result
        pins: tuple[str, ...] = ()
        if result.redundant and result.assembled:
            single, at = robot_with(robot, inputs), float(inputs.options.get("time", 0.0))
            pins = undetermined_pins(single, result.q, at)
        return result._replaced(undetermined_pins=pins)

    def minimal_coordinates(
        self,
        independent: str | Sequence[str] | None = None,
        q: Array | None = None,
        *,
        speeds: str | Sequence[str] | None = None,
        length: float | None = None,
        time: float | None = None,
        min_margin: float = 1e-6,
    ) -> mechanisms.MinimalCoordinates:
        """Return minimal coordinates: the ``independent`` ones, or ones chosen by pivoting at the configuration ``q``.

        Names are names of joints or elements of `v_names`. ``speeds`` names the independent velocities. By default
        these are the velocities of the independent coordinates. If velocity constraints such as rolling leave fewer
        degrees of freedom, the default is a choice among them. The margin of a choice is the smallest singular value of
        the columns of the constraint Jacobian that belong to the dependent coordinates, with angles multiplied by
        ``length`` as in `mobility`. A margin below ``min_margin`` is an error. ``time`` [s] is the time of constraints
        that depend on it, 0 by default. Without ``q`` an assembled configuration is found.

        Raises ValueError, with names, for coordinates that depend on each other or do not determine the others, and
        for a configuration that is not assembled; UnknownNameError for an unknown name.
        """
        from linkwork.mechanisms.assembly.state_inputs import varied
        from linkwork.mechanisms.mobility.configuration_sampling import Mechanism
        from linkwork.mechanisms.mobility.coordinate_selection import assembled_at, minimal_of
        from linkwork.mechanisms.mobility.mobility_batch import assembled_near

        scales = self._scales("minimal_coordinates", length)
        if time is not None:
            time = finite_number("minimal_coordinates", "time", time, unit="s")
        mechanism = Mechanism(self, scales, varied(self, "minimal_coordinates", time, None)[1])
        start = self._one("minimal_coordinates", "q", q)
        if not (isinstance(min_margin, (int, float)) and 0.0 < min_margin < 1.0):
            raise ValueError(f"minimal_coordinates: min_margin: expected a number between 0 and 1, got {min_margin!r}")
        result = None if start is not None else assembled_near(mechanism, None)
        return minimal_of(mechanism, assembled_at(mechanism, result, start), independent, speeds, float(min_margin))

    def _scales(self, caller: str, length: float | None) -> Scales:
        from linkwork.mechanisms.mobility.length_scaling import Scales

        if length is None:
            length = characteristic_length(self._tree)
        if not (isinstance(length, (int, float)) and np.isfinite(length) and length > 0.0):
            raise ValueError(f"{caller}: length: expected a positive number [m], got {length!r}")
        return Scales.of(self._tree, float(length))

    def _one(self, caller: str, name: str, q: Array | None) -> np.ndarray | None:
        """Return the argument ``name``, one configuration, as a normalised array (nq,); None for None.

        Raises ValueError for another shape and non-finite values.
        """
        if q is None:
            return None
        array = floats(stacked(self._subject, QUANTITIES["q"], q))
        if array.shape != (self.nq,):
            raise ValueError(f"{caller}: {name}: expected one configuration ({self.nq},), got shape {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{caller}: {name}: expected finite values, got {array.tolist()}")
        result: np.ndarray = self.normalize(array)  # type: ignore[attr-defined]
        return result
