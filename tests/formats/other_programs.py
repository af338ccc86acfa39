"""Values that MuJoCo and Pinocchio compute of written robots, by quantity and by the name of the element."""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import numpy as np

from formats.drawn_robots import State
from linkwork import joints
from linkwork.constraints import LoopJoint
from linkwork.model.body import Body
from linkwork.model.description import NamedState
from linkwork.model.tree import Tree

__all__ = ["coordinates", "keys", "values_of_mujoco", "values_of_pinocchio", "with_quaternion"]

Values = dict[tuple[str, str], Any]

_SIZES = ((7, 6), (4, 3), (1, 1), (1, 1))  # coordinates and velocities of MuJoCo's joints, by type


def with_quaternion(joint: joints.JointType, q: list[float]) -> list[float]:
    """Coordinates as files have them: a quaternion with its scalar first for a ball or floating joint."""
    if joint.parts:
        starts = np.cumsum([0, *(part.nq for part in joint.parts)])
        parts = zip(joint.parts, starts, strict=False)
        return [x for part, start in parts for x in with_quaternion(part, q[start : start + part.nq])]
    if isinstance(joint, (joints.SphericalMRP, joints.FloatingMRP)):  # tan(θ/4) times the axis
        square = math.hypot(*q[:3]) ** 2
        return [(1.0 - square) / (1.0 + square), *(2.0 * x / (1.0 + square) for x in q[:3]), *q[3:]]
    is_last = isinstance(joint, (joints.Spherical, joints.Floating)) and joint.scalar_last
    return [q[3], *q[:3], *q[4:]] if is_last else q


def independent(tree: Tree) -> list[Body]:
    return [body for _, body in tree.stacked() if body.coupling is None and body.joint.nv]


def keys(tree: Tree, q: State, v: State) -> tuple[NamedState, ...]:
    """Named configurations at one q: with the velocity v, and with each unit velocity."""
    positions = tuple((body.joint_name, tuple(q[body.joint_name])) for body in independent(tree))
    result = [NamedState("state", positions, tuple((name, tuple(v[name])) for name, _ in positions))]
    for body in independent(tree):
        for k, unit in enumerate(np.eye(body.joint.nv).tolist()):
            result.append(NamedState(f"{body.joint_name}/{k}", positions, ((body.joint_name, tuple(unit)),)))
    return tuple(result)


def coordinates(tree: Tree, q: State, v: State) -> Values:
    """q and v of each joint, in MuJoCo's order and axes for a floating one."""
    result: Values = {}
    for body in independent(tree):
        joint, name = body.joint, body.joint_name
        own_q, own_v = q[name], v[name]
        if isinstance(joint, joints.Floating):
            R = np.array(joint.X(own_q).rotation.rows(), dtype=float)
            own_q, own_v = [*own_q[4:], *own_q[:4]], [*(R @ own_v[3:]), *own_v[:3]]
        result |= {("q", name): signed(own_q), ("v", name): own_v}
    return result


def signed(q: list[float]) -> list[float]:
    """The coordinates with a quaternion at their end whose scalar is positive."""
    return [*q[:-4], *(-x for x in q[-4:])] if len(q) in (4, 7) and q[-4] < 0.0 else q


def ordered(tree: Tree, force: np.ndarray) -> list[float]:
    """Joint forces in the order of the joints' names."""
    slices = {body.joint_name: tree.v_slices[tree.joint_index(body.joint_name)] for body in independent(tree)}
    return [float(x) for name in sorted(slices) for x in force[slices[name]]]


def loop_error(rows: list[np.ndarray]) -> list[float]:
    """Angle and distance by which a loop is open: of a weld, or of connects, the second 0.1 m along a hinge."""
    angle = 0.0
    if len(rows[0]) == 6:
        angle = 2.0 * math.asin(min(1.0, float(np.linalg.norm(rows[0][3:]))))
    elif len(rows) == 2:
        angle = 2.0 * math.asin(min(1.0, float(np.linalg.norm(rows[1] - rows[0])) / 0.2))
    return [angle, float(np.linalg.norm(rows[0][:3]))]


def values_of_mujoco(tree: Tree, text: str) -> Values:
    """Values that MuJoCo computes of the text of a tree with `keys`."""
    import mujoco

    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    G = m.key_qvel[1:].T  # MuJoCo's velocities for the tree's
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    m.jnt_actfrclimited[:], limited = 0, m.jnt_actfrclimited.copy()

    def index_of(kind: str, name: str) -> int:
        return int(mujoco.mj_name2id(m, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), name))

    def forces(name: str, v: np.ndarray, controls: float = 0.0, only: int | None = None) -> np.ndarray:
        """The joint forces ``name`` of MuJoCo along the tree's velocities."""
        d.qpos, d.qvel, d.ctrl = m.key_qpos[0], v, 0.0
        if only is not None:
            gains, biases = m.actuator_gainprm.copy(), m.actuator_biasprm.copy()
            inactive = np.arange(m.nu) != only
            m.actuator_gainprm[inactive], m.actuator_biasprm[inactive], d.ctrl[only] = 0.0, 0.0, controls
        mujoco.mj_forward(m, d)
        if only is not None:
            m.actuator_gainprm[:], m.actuator_biasprm[:] = gains, biases
        return np.array(G.T @ getattr(d, name))

    result: Values = {("gravity", "gravity"): m.opt.gravity.copy()}
    v = m.key_qvel[0].copy()
    total = forces("qfrc_passive", v)
    m.tendon_stiffness[:], m.tendon_damping[:] = 0.0, 0.0
    along = {"springs and damping": forces("qfrc_passive", v), "weight": forces("qfrc_bias", 0.0 * v)}
    for element in tree.force_elements:
        if index_of("TENDON", element.name) >= 0:
            result["force element", element.name] = ordered(tree, total - along["springs and damping"])
    for actuator in tree.actuators:
        if (k := index_of("ACTUATOR", actuator.name)) >= 0:
            result["actuator", actuator.name] = ordered(tree, forces("qfrc_actuator", v, 0.7, k))
    for frame in tree.frames:
        body, site = index_of("BODY", frame.name), index_of("SITE", frame.name)
        if body >= 0 or site >= 0:
            x, R = (d.xpos[body], d.xmat[body]) if body >= 0 else (d.site_xpos[site], d.site_xmat[site])
            result["pose", frame.name] = np.vstack([np.column_stack([R.reshape(3, 3), x]), [0.0, 0.0, 0.0, 1.0]])
        geoms = [g for g in range(m.ngeom) if m.geom_bodyid[g] == body]
        if frame.is_link:
            result["shapes", frame.name] = [[*d.geom_xpos[g], 1.0] for g in geoms if m.geom_group[g] == 3]
    result |= {("point", p.name): [*d.site_xpos[index_of("SITE", p.name)], 1.0] for p in tree.points}
    for loop in tree.constraints:
        rows = [
            d.site_xpos[m.eq_obj1id[k]]
            - d.site_xpos[m.eq_obj2id[k]]  # MuJoCo leaves out rows of points that stand still
            if m.eq_type[k] == mujoco.mjtEq.mjEQ_CONNECT
            else d.efc_pos[(d.efc_id == k) & (d.efc_type == 0)]
            for k in range(m.neq)
            if m.equality(k).name[:4] == "loop"
        ]
        if isinstance(loop, LoopJoint) and rows:
            result["loop", loop.name] = loop_error(rows)
    for i, body in enumerate(tree.bodies):
        if not body.joint.nv:
            continue
        name = body.joint_name
        names = [name, *(f"{name}.{x}" for x in body.joint.v_names or map(str, range(body.joint.nv)))]
        parts = [j for j in (index_of("JOINT", part) for part in names) if j >= 0]
        indices = [np.arange(m.jnt_qposadr[j], m.jnt_qposadr[j] + _SIZES[m.jnt_type[j]][0]) for j in parts]
        dofs = np.concatenate([np.arange(m.jnt_dofadr[j], m.jnt_dofadr[j] + _SIZES[m.jnt_type[j]][1]) for j in parts])
        if body.coupling is None:
            result |= {(quantity, name): force[tree.v_slices[i]] for quantity, force in along.items()}
            result["friction", name] = m.dof_frictionloss[dofs] @ np.abs(v[dofs])
            result["armature", name] = m.dof_armature[dofs] @ v[dofs] ** 2
            qpos = m.key_qpos[0][np.concatenate(indices)]
            result |= {("q", name): signed(qpos.tolist()), ("v", name): v[dofs]}
        for quantity, flags, ranges, side, far in (
            ("lower", m.jnt_limited, m.jnt_range, 0, -math.inf),
            ("upper", m.jnt_limited, m.jnt_range, 1, math.inf),
            ("effort", limited, m.jnt_actfrcrange, 1, math.inf),
        ):
            bounds = [ranges[j, side] if flags[j] and abs(ranges[j, side]) < 1e10 else far for j in parts]
            if any(map(math.isfinite, bounds)):
                result[quantity, name] = bounds
    return result


def values_of_pinocchio(tree: Tree, q: State, v: State, a: State, text: str) -> Values:
    """Values that Pinocchio computes of the URDF of a tree."""
    import pinocchio as pin

    base = next((body for body in tree.bodies if isinstance(body.joint, (joints.Floating, joints.FloatingMRP))), None)
    names = {joint.get("name") for joint in ElementTree.fromstring(text).iter("joint")}
    is_free = base is not None and base.joint_name not in names
    model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer()) if is_free else pin.buildModelFromXML(text)
    model.gravity.linear = np.array([*tree.gravity])
    data, Q, G = model.createData(), pin.neutral(model), np.zeros((model.nv, tree.nv))
    for i, body in enumerate(tree.bodies):
        name, ratio = body.joint_name, body.ratio
        remaining = (
            with_quaternion(body.joint, q[name]) if body.coupling is None else body.coupling.q(q[body.coupling.joint])
        )
        numbered = [name, *(f"{name}_{k}" for k in range(2, 8))]
        parts = ["root_joint"] if is_free and body is base else [x for x in numbered if model.existJointName(x)]
        column = tree.v_slices[i].start
        kinds = by_velocity(body.joint)
        for k, part in enumerate(parts):
            joint = model.joints[model.getJointId(part)]
            order, count = range(joint.nv), joint.nq
            kind = kinds[min(column - tree.v_slices[i].start, len(kinds) - 1)]
            if joint.shortname() == "JointModelFreeFlyer":
                values, order = [*remaining[4:7], *remaining[1:4], remaining[0]], (3, 4, 5, 0, 1, 2)
            elif joint.shortname() == "JointModelPlanar":
                values, count = [remaining[0], remaining[1], math.cos(remaining[2]), math.sin(remaining[2])], 3
            elif isinstance(kind, joints.Helical):  # an angle, and the advance that follows it
                factor = kind.pitch if k else 1.0
                ratio, values, count, column = ratio * factor, [remaining[0] * factor], 0, tree.v_slices[i].start
            elif isinstance(kind, joints.UnboundedRevolute):
                values, count = [math.atan2(remaining[0], remaining[1])], 2
            else:
                values, count = remaining[: joint.nv], joint.nv
            if len(values) == 1 and joint.nq == 2:
                values = [math.cos(values[0]), math.sin(values[0])]
            Q[joint.idx_q : joint.idx_q + joint.nq], remaining = values, remaining[count:]
            for row, offset in enumerate(order):
                G[joint.idx_v + offset, column + row] = ratio
            column += joint.nv
    V, A = (G @ [x for body in independent(tree) for x in values[body.joint_name]] for values in (v, a))
    pin.forwardKinematics(model, data, Q)
    pin.updateFramePlacements(model, data)
    result: Values = {}
    for frame in tree.frames:
        if model.existFrame(frame.name, pin.FrameType.BODY):
            result["pose", frame.name] = data.oMf[model.getFrameId(frame.name, pin.FrameType.BODY)].homogeneous
    weight = G.T @ pin.computeGeneralizedGravity(model, data, Q)
    moved = G.T @ pin.rnea(model, data, Q, V, A)
    for body in independent(tree):
        own_slice = tree.v_slices[tree.joint_index(body.joint_name)]
        result["weight", body.joint_name], result["inverse dynamics", body.joint_name] = (
            weight[own_slice],
            moved[own_slice],
        )
    return result


def by_velocity(joint: joints.JointType) -> list[joints.JointType]:
    """The joint without parts that each velocity of a joint is of."""
    if joint.parts:
        return [leaf for part in joint.parts for leaf in by_velocity(part)]
    return [joint] * joint.nv
