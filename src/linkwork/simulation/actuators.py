"""Actuators in simulation: joint forces at given controls, and servos, which controllers may return in their place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public, public_constructor
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.pytree import flatten
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import lt, where
from linkwork.model.actuator import Actuator, bounded
from linkwork.model.body import WORLD
from linkwork.model.tree import Tree
from linkwork.spatial import Quaternion, Rotation, Vec3

__all__ = ["ServoActuators", "ServoForces", "actuator_servos", "actuator_torque", "limited"]

Scalars = Sequence[Any]


@public
def actuator_torque(robot: Any, q: Any, v: Any, controls: Any) -> Any:
    """Return the joint forces τ (nv) [N·m, N] of the robot's actuators in a state q (nq), v (nv).

    ``controls`` are values (number of actuators,) in the order of ``robot.actuators``, or a dict by name, 0 for the
    others.  An actuator exerts the force f of `linkwork.Actuator`, with its length l and rate l̇ in this state; τ is the
    sum of (∂l̇/∂v) f, clamped to the effort limit of each joint.  It works on arrays and in compiled functions, for
    example in a controller:

    >>> import linkwork as lw
    >>> from linkwork.simulation import actuator_torque
    >>> servo = lw.Actuator.position("servo", "elbow", stiffness=100.0, damping=5.0)
    >>> robot = lw.load("arm7").with_actuators(servo)
    >>> q = robot.neutral()
    >>> actuator_torque(robot, q, 0 * q, {"servo": 0.1})[robot.joint("elbow").v_slice].tolist()
    [10.0]

    Raises UnknownNameError for an unknown actuator, ValueError for another number of controls.
    """
    q, v = (array(x) if not isinstance(x, np.ndarray) else x for x in (q, v))
    phi = list(robot.difference(robot.neutral(), q)) if any(actuator.joints for actuator in robot.actuators) else []
    result: list[Any] = [0.0] * robot.nv
    for actuator, control in zip(robot.actuators, control_values("actuator_torque", robot, controls), strict=True):
        if actuator.frame is None:
            moment, length = _along_joints(robot, actuator, phi)
        else:
            moment, length = _along_frame(robot, actuator, q)
        force = actuator.force(control, length, dot(moment, list(v)))
        result = [a if is_zero(m) else a + m * force for a, m in zip(result, moment, strict=True)]
    return array([limited(f, float(most)) for f, most in zip(result, robot.effort_limits, strict=True)])


def control_values(caller: str, robot: Any, controls: Any) -> list[Any]:
    """Return the controls of a robot's actuators as a list, from an array or a dict by name.

    Raises UnknownNameError for an unknown actuator, ValueError for another number of controls.
    """
    names = [actuator.name for actuator in robot.actuators]
    if isinstance(controls, Mapping):
        for name in controls:
            if name not in names:
                raise UnknownNameError("actuator", name, names, where=f"{caller}: controls")
        return [controls.get(name, 0.0) for name in names]
    values, _ = flatten(array(controls) if not isinstance(controls, np.ndarray) else controls, f"{caller}: controls")
    if len(values) != len(names):
        raise ValueError(f"{caller}: controls: expected shape ({len(names)},), got {len(values)} values")
    return values


def limited(tau: Any, most: Any) -> Any:
    """Return a force clipped to its limit; NaN stays NaN unless the limit is zero."""
    return 0.0 if is_zero(most) else where(lt(tau, -most), -most, where(lt(most, tau), most, tau))


def _along_joints(robot: Any, actuator: Actuator, phi: Scalars) -> tuple[list[Any], Any]:
    """Return the moments ∂l̇/∂v (nv) and the length l of an actuator on joints."""
    tree, length = robot.tree, actuator.offset
    moment: list[Any] = [0.0] * tree.nv
    for joint, gears in actuator.joints:
        i = tree.joint_index(joint)
        coupling = tree.bodies[i].coupling
        for k, gear in zip(range(tree.nv)[tree.v_slices[i]], gears, strict=True):
            ratio, offset = (1.0, 0.0) if coupling is None else (coupling.ratio, coupling.offset)
            moment[k] = moment[k] + gear * ratio
            length = length + gear * (ratio * phi[k] + offset)
    return moment, length


def _along_frame(robot: Any, actuator: Actuator, q: Any) -> tuple[list[Any], Any]:
    """Return the moments ∂l̇/∂v (nv) and the length l of an actuator on a frame."""
    frame, reference, w = actuator.frame, actuator.relative_to, np.array(actuator.wrench)
    assert frame is not None
    if reference is None:
        return list(robot.static_torque(q, wrenches={frame: w}, expressed_in=frame)), actuator.offset
    pair = {name: x for name, x in ((frame, w), (reference, -w)) if robot.tree.frame(name).body >= 0}
    moment = list(robot.static_torque(q, wrenches=pair, expressed_in=dict.fromkeys(pair, reference)))
    X = robot.pose(q, frame, relative_to=reference)
    together, body = _moving_both(robot.tree, frame, reference)
    for k, is_shared in together.items():
        if not is_shared:
            moment[k] = 0.0
    if any(together.values()):  # joints that move both frames feel the couple of both wrenches: subtract it
        couple = Vec3(*X[:3, 3]).cross(Vec3(*w[3:]))
        link = robot.tree.frames_on(body)[0].name
        before = robot.static_torque(q, wrenches={link: array([*couple, 0.0, 0.0, 0.0])}, expressed_in=reference)
        moment = [x - y if together.get(k) else x for k, (x, y) in enumerate(zip(moment, list(before), strict=True))]
    turn = Quaternion.of(Rotation(*(Vec3(*X[i, :3]) for i in range(3)))).log()
    return moment, actuator.offset + dot(list(w), [*turn, *X[:3, 3]])


def _moving_both(tree: Tree, frame: str, reference: str) -> tuple[dict[int, bool], int]:
    """Return the indices in v of the joints that carry both frames, and the last body that carries both.

    An index maps to True if a joint between the frames follows the joint that carries both, and thus has its velocity.
    """
    paths: list[set[int]] = []
    for name in (frame, reference):
        path, body = set(), tree.frame(name).body
        while body != WORLD:
            path.add(body)
            body = tree.bodies[body].parent
        paths.append(path)
    both = paths[0] & paths[1]
    between = {tree.v_slices[i].start for i in paths[0] ^ paths[1]}
    indices = {k: tree.v_slices[i].start in between for i in both for k in range(tree.nv)[tree.v_slices[i]]}
    return indices, max(both, default=WORLD)


@dataclass(frozen=True)
class ServoForces:
    """Parameters of servos, (nv) each but the target ``position`` (nq).

    ``velocity`` and ``force`` are targets, ``stiffness`` and ``damping`` the gains, and ``limit`` bounds the joint
    forces.
    """

    force: Sequence[Any]
    position: Sequence[Any]
    velocity: Sequence[Any]
    stiffness: Sequence[Any]
    damping: Sequence[Any]
    limit: Sequence[Any]

    def now(self, robot: Any, q: Any, v: Any) -> list[Any]:
        """Return the joint forces τ (nv) of the servos of ``robot`` in the state q, v."""
        left = robot.difference(array(list(q)), array(list(self.position)))
        each = zip(self.force, left, self.velocity, v, self.stiffness, self.damping, self.limit, strict=True)
        forces = [(f + K * e + D * (rate - x), most) for f, e, rate, x, K, D, most in each]
        return [limited(tau, most) for tau, most in forces]


@public_constructor
@dataclass(frozen=True, eq=False)
class ServoActuators:
    """Servos on joints with limited forces, which a controller may return instead of joint forces.

        τ = f + K (q* ⊖ q) + D (v* − v),     |τ| ≤ limit.

    q and v are those at the step's end, solved together with contacts, so no gain is too high for the step.
    ``position`` (nq) is q*, ``velocity`` (nv) v*, ``force`` (nv) f.  ``stiffness`` [N·m/rad, N/m], ``damping``
    [N·m·s/rad, N·s/m] and ``limit`` [N·m, N] are (nv) or one number for all joints.  A floating base has no servo,
    whatever its parameters are.  A velocity source is a servo with high damping and no stiffness.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> from linkwork.simulation import ServoActuators
    >>> robot = lw.load("arm7")
    >>> def controller(t, q, v, target):
    ...     return ServoActuators(target, stiffness=1e5, damping=1e3, limit=robot.effort_limits)
    >>> q = 0.5 * (robot.lower + robot.upper)
    >>> found = robot.simulate(q, controller=controller, duration=0.8, constants={"target": q + 0.3})
    >>> bool(np.abs(found.q[-1] - q - 0.3).max() < 1e-2)
    True

    Source: implicit PD as a bounded quadratic term: Castro, Permenter and Han, An unconstrained convex formulation of
    compliant contact, IEEE Transactions on Robotics 39(2), 2023, section V.
    """

    position: Any
    velocity: Any = 0.0
    stiffness: Any = 0.0
    damping: Any = 0.0
    force: Any = 0.0
    limit: Any = math.inf

    def of(self, robot: Any) -> ServoForces:
        """Return the servos' parameters as arrays for a robot: targets q* (nq), and the other parameters (nv).

        Raises ValueError for parameters of other shapes, and for stiffness, damping and limits below 0.
        """
        n = robot.nv
        result = {"position": _values("position", self.position, robot.nq)}
        for name in ("force", "velocity", "stiffness", "damping", "limit"):
            result[name] = _values(name, getattr(self, name), n)
        for name in ("stiffness", "damping", "limit"):
            for x in result[name]:
                if isinstance(x, (int, float)) and not x >= 0.0:
                    raise ValueError(f"ServoActuators: {name}: expected numbers >= 0, got {x!r}")
        for body, in_v in zip(robot.tree.bodies, robot.tree.v_slices, strict=True):
            if body.joint.is_floating:
                result["limit"][in_v] = [0.0] * 6
        return ServoForces(**result)


@public
def actuator_servos(robot: Any, controls: Any) -> ServoActuators:
    """Return the servos that are equivalent to the robot's actuators at these controls.

    ``controls`` are values (number of actuators,) in the order of ``robot.actuators``, or a dict by name, 0 for the
    others.  An actuator on a joint with gear g exerts the joint force g f, with

        f = g₀ u + b₀ + b₁ l + b₂ l̇,      l = offset + g φ:      τ = g (g₀ u + b₀ + b₁ offset) + b₁ g² φ + b₂ g² v

    So its servo has the stiffness −b₁ g² towards the joint's zero, the damping −b₂ g², and the other terms as force.
    Its limit is |g| times the bound of ``force_range``, and at most the joint's effort limit.

    >>> import linkwork as lw
    >>> from linkwork.simulation import actuator_servos
    >>> servo = lw.Actuator.position("elbow_servo", "elbow", stiffness=1e4, damping=200.0, force_range=(-87.0, 87.0))
    >>> robot = lw.load("arm7").with_gravity((0, 0, 0)).with_actuators(servo)
    >>> def controller(t, q, v, u):
    ...     return actuator_servos(robot, u)
    >>> found = robot.simulate(robot.neutral(), controller=controller, duration=1.0, constants={"u": [-0.5]},
    ...     record_every=500)
    >>> round(float(found.q[-1, robot.joint("elbow").q_slice][0]), 2)
    -0.5

    Raises ValueError for an actuator that is not equivalent to a servo: on a frame or on several joints, with a gain
    that depends on l, with negative stiffness or damping, with a force range that is not symmetric; and for several
    actuators on one velocity of which one has a force range.
    """
    u = control_values("actuator_servos", robot, controls)
    n = robot.nv
    stiffness, damping, limits = [0.0] * n, [0.0] * n, [0.0] * n
    force: list[Any] = [0.0] * n
    acting = [0] * n
    efforts = robot.effort_limits
    for actuator, control in zip(robot.actuators, u, strict=True):
        caller = f"actuator_servos: actuator {actuator.name!r}"
        ((joint, gears),) = _on_one_joint(caller, actuator)
        body = robot.tree.bodies[robot.tree.joint_index(joint)]
        if body.coupling is not None or body.joint.is_floating:
            problem = "floats" if body.coupling is None else "follows another joint"
            raise ValueError(f"{caller}: joint {joint!r} {problem}, so it cannot have a servo")
        (g0, _, _), (b0, b1, b2) = actuator.gain, actuator.bias
        most = actuator.force_range[1]
        for k, gear in zip(range(n)[robot.tree.v_slices[robot.tree.joint_index(joint)]], gears, strict=True):
            if gear == 0.0:
                continue
            acting[k] += 1
            if acting[k] > 1 and not (most == limits[k] == math.inf):
                raise ValueError(
                    f"{caller}: another actuator acts on joint {joint!r}, and one of them has a force range; a sum of "
                    "forces with separate limits is not a servo"
                )
            stiffness[k] -= b1 * gear * gear
            damping[k] -= b2 * gear * gear
            limits[k] = abs(gear) * most
            force[k] = force[k] + gear * (g0 * bounded(control, *actuator.control_range) + b0 + b1 * actuator.offset)
    limits = [min(x, float(effort)) for x, effort in zip(limits, efforts, strict=True)]
    return ServoActuators(robot.neutral(), stiffness=stiffness, damping=damping, force=array(force), limit=limits)


def _on_one_joint(caller: str, actuator: Actuator) -> Any:
    """Return the joint that an actuator acts on, and its gears.  Raises ValueError if it is not a servo."""
    if actuator.frame is not None:
        raise ValueError(f"{caller}: it acts on frame {actuator.frame!r}, but servos act on joints")
    if len(actuator.joints) > 1 or sum(gear != 0.0 for _, gears in actuator.joints for gear in gears) > 1:
        raise ValueError(f"{caller}: it acts on several velocities together, but a servo acts on one")
    if actuator.gain[1:] != (0.0, 0.0):
        raise ValueError(f"{caller}: its gain depends on its length, but a servo has a constant gain")
    if actuator.bias[1] > 0.0 or actuator.bias[2] > 0.0:
        raise ValueError(f"{caller}: its stiffness or damping is negative, but a servo needs values >= 0")
    low, high = actuator.force_range
    if low != -high:
        raise ValueError(f"{caller}: force_range: expected symmetric bounds, got {(low, high)!r}")
    return actuator.joints


def _values(name: str, value: Any, n: int) -> list[Any]:
    """Return n values, of an array (n,) or of one number for all."""
    values, _ = flatten(array(value) if not isinstance(value, np.ndarray) else value, f"ServoActuators: {name}")
    if len(values) == 1 and name != "position":
        values = [*values] * n
    if len(values) != n:
        raise ValueError(f"ServoActuators: {name}: expected shape ({n},), got {len(values)} values")
    return [float(x) if isinstance(x, (int, float, np.floating)) else x for x in values]
