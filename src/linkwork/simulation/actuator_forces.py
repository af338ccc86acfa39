"""Joint forces of a robot's actuators at given controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.pytree import flatten
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import lt, where
from linkwork.model.actuator import Actuator
from linkwork.model.body import WORLD
from linkwork.model.tree import Tree
from linkwork.spatial import Quaternion, Rotation, Vec3

__all__ = ["actuator_torque", "control_values", "limited"]

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
    if any(together.values()):  # without what the two wrenches, a couple, exert on the joints that move both frames
        couple = Vec3(*X[:3, 3]).cross(Vec3(*w[3:]))
        link = robot.tree.frames_on(body)[0].name
        before = robot.static_torque(q, wrenches={link: array([*couple, 0.0, 0.0, 0.0])}, expressed_in=reference)
        moment = [x - y if together.get(k) else x for k, (x, y) in enumerate(zip(moment, list(before), strict=True))]
    turn = Quaternion.of(Rotation(*(Vec3(*X[i, :3]) for i in range(3)))).log()
    return moment, actuator.offset + dot(list(w), [*turn, *X[:3, 3]])


def _moving_both(tree: Tree, frame: str, reference: str) -> tuple[dict[int, bool], int]:
    """Return indices in v of the joints that carry both frames, and the last body that carries both.

    An index maps to True if a joint between the frames has the same velocity: the joint follows the other.
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
