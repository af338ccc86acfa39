"""Methods of `Robot` for configurations: integration, differences, random and named configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_arguments import Size, generator_of, leading_of, read_configuration
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.model.body import Body
from linkwork.model.coordinate_names import index_of
from linkwork.model.coupled_joints import bounds

__all__ = ["ConfigurationMethods"]


class ConfigurationMethods(RobotBase):
    """Methods for configurations as points of a manifold."""

    __slots__ = ()

    def neutral(self) -> np.ndarray:
        """Return the configuration (nq,) with every joint at zero and coupled joints at their offset.

        It may be outside the limits.
        """
        return np.array([x for _, body in self._tree.stacked() for x in body.call_joint("zero")], dtype=float)

    def configuration(self, joints: Mapping[str, Any] | str, *, base: Any = None) -> np.ndarray:
        """Return the configuration (..., nq) in which joints have the values of a dict by joint, or a named one.

        A joint with one coordinate has a number, or an array (...) for a batch; a joint with n coordinates has an array
        (..., n) [rad, m].  The other joints are as in ``base`` (..., nq), which is `neutral` by default.  A string is
        the name of one of `Robot.named_configurations`, of which a copy (nq,) is returned.

        >>> import linkwork as lw
        >>> robot = lw.load("double_pendulum")
        >>> robot.configuration({"elbow": 0.5}, base=[1.0, 2.0]).tolist()
        [1.0, 0.5]
        >>> robot.with_named_configuration("bent", {"elbow": 0.5}).configuration("bent").tolist()
        [0.0, 0.5]

        Raises UnknownNameError for an unknown joint or named configuration, ValueError for values of a wrong number or
        that are not finite.
        """
        caller = "configuration"
        if isinstance(joints, str):
            if base is not None:
                raise TypeError("configuration: base: expected None with a name, which determines all joints")
            return read_configuration(self, caller, "joints", joints)
        if not isinstance(joints, Mapping):
            raise TypeError(f"{caller}: joints: expected a dict of values by joint, or a name, got {joints!r:.80}")
        if {"name", "position"} <= {*joints}:
            remedy = "dict(zip(message.name, message.position)) is that of a message of ROS"
            raise TypeError(f"{caller}: joints: expected a dict of values by joint; {remedy}")
        values = read_configuration(self, caller, "joints", joints)
        if base is None:
            return values
        start = read_configuration(self, caller, "base", base)
        result = np.array(np.broadcast_to(start, np.broadcast_shapes(start.shape, values.shape)))
        indices = index_of(self._tree, "q", list(joints))
        result[..., indices] = values[..., indices]
        return result

    def random_configuration(
        self, rng: np.random.Generator | None = None, *, size: Size = None, seed: int | None = None
    ) -> np.ndarray:
        """Draw configurations within the joints' limits, of shape (nq,) or (*size, nq).

        Joints without limits are drawn from [-π, π] (angles), [-1, 1] m (lengths), or uniformly from SO(3) (rotations).
        Masters of coupled joints are drawn so that all coupled joints are within limits.  Raises ValueError if there is
        no such position, or if limits of a rotation contain none of many random ones.  ``rng`` is a NumPy generator,
        and ``seed`` an integer to create one from; the default is a new generator.  A positional integer raises
        TypeError, since it could mean a seed or a size.
        """
        generator = generator_of(rng, seed)
        shape = leading_of(size)
        q = np.zeros((*shape, self.nq))
        limits = bounds(self._tree)
        for i, body in self._tree.stacked():
            q[..., self._tree.q_slices[i]] = _random(body, generator, *limits[i], shape)
        return q

    @computed
    def normalize(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Project a configuration onto the joints' manifolds, for example to unit quaternions.

        q (..., nq) [rad, m, 1] -> (..., nq) [rad, m, 1].
        """

    @computed
    def integrate(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute q ⊕ v: the configuration reached by a constant velocity in unit time.

        q (..., nq), v (..., nv) [rad, m: a rate times a time] -> (..., nq) [rad, m, 1].  A floating joint moves along
        the exponential of its twist (a screw), and its quaternion stays unit.
        """

    @computed
    def difference(self, q0: Array, q1: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute q1 ⊖ q0: the velocity that leads from one configuration to another in unit time.

        q0 (..., nq), q1 (..., nq) -> (..., nv) [rad, m].  ``integrate(q0, difference(q0, q1))`` is q1; rotations take
        the shorter direction.
        """

    @computed
    def velocity_to_configuration_derivative(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute q̇, the rate of the configuration at velocity v; it is linear in v.

        It equals v if every joint has q̇ = v.  q (..., nq), v (..., nv) -> (..., nq) [rad/s, m/s, 1/s].
        """

    @computed
    def configuration_derivative_to_velocity(
        self, q: Array, q_dot: Array, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute v from q̇: the inverse of `velocity_to_configuration_derivative` for q̇ tangent to the manifold.

        q, q_dot (..., nq) -> (..., nv) [rad/s, m/s].  It is linear in q̇.
        """


def _random(
    body: Body, rng: np.random.Generator, lower: list[float], upper: list[float], shape: tuple[int, ...]
) -> np.ndarray:
    """Draw configurations (*shape, nq) of a body's joint; repeat draws that exceed limits.

    Raises ValueError if none of many draws is within limits.
    """
    q: np.ndarray = body.call_joint("random", rng, lower, upper, shape)
    for _ in range(_MOST_DRAWS):
        outside = ((q < lower) | (q > upper)).any(axis=-1)
        count = int(outside.sum())
        if not count:
            return q
        q[outside] = body.call_joint("random", rng, lower, upper, (count,))
    raise ValueError(
        f"random_configuration: joint {body.joint_name!r}: none of {_MOST_DRAWS} random configurations is within its "
        f"limits, {lower} to {upper}"
    )


_MOST_DRAWS = 20_000
