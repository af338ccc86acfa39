"""Orders of simulation methods for each joint type in a loop, with springs, losses, armature and followers."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork import joints
from linkwork.simulation.algorithms import METHODS

from ..mechanisms.mechanisms import configuration, opened_ring, random_regularities, regular_example, ring_sides

TIME, H = 0.1, 2e-3
KINDS = [kind for kind in joints.ALL if kind.example(np.random.default_rng(2)).nv > 0]
FEATURES = {  # of the joint of that type
    "none": {},
    "armature": {"armature": 0.3},
    "spring": {"stiffness": 20.0},
    "damper": {"damping": 0.5},
    "friction": {"friction": 0.4},
    "all": {"armature": 0.3, "stiffness": 20.0, "damping": 0.5, "friction": 0.4},
}
ORDERS = {name: method.order for name, method in METHODS.items() if not (method.adaptive or method.as_mujoco)}


def ring(kind, closes, coupled=False):
    """Return a robot with a loop of four joints through the world, and an assembled state (q, v).

    ``kind`` is the type of the joint "j2", which closes the loop or is in the tree.  If ``coupled``, the hinge "j1"
    follows "j2", or the hinge "j3" where "j2" closes the loop, and "j0" is a floating joint.
    """
    rng, ball, hinge = np.random.default_rng(7), joints.Spherical, joints.Revolute
    kinds = ball, joints.Cylindrical, kind, ball
    if coupled:
        kinds = joints.Floating, hinge, kind, hinge if closes else ball
    types = [regular_example(joint, rng) for joint in kinds]
    q = [configuration(joint, rng) for joint in types]
    loop, master = (2, 3) if closes else (3, 2)
    if coupled:
        q[1] = [0.5 * q[master][0]]
    robot = opened_ring(types, ring_sides(types, q, rng), loop, {})
    robot = robot.with_couplings({"j1": (f"j{master}", 0.5)}) if coupled else robot
    robot = robot.with_loop(f"j{loop}", "F", "M", types[loop])
    unknown = {loop, 1} if coupled else {loop}
    assembled = robot.project({f"j{k}": q_k if len(q_k) > 1 else q_k[0] for k, q_k in enumerate(q) if k not in unknown})
    return robot, assembled, robot.project_velocity(assembled, np.random.default_rng(3).normal(size=robot.nv))


def errors_of(kind, closes, coupled):
    """Return errors after TIME with steps of H and H / 2 as an array (features, 2), by method.

    References are those of the classical Runge-Kutta method with steps of 5e-4 s.  The rest of springs is near the
    start, so that no angle passes half a revolution from it.
    """
    robot, q, v = ring(kind, closes, coupled)
    joint = robot.constraints[0].joint if closes else robot.joint("j2").type
    start = robot.loop_configuration(q) if closes else q[robot.joint("j2").q_slice]
    names = ("stiffness", "damping", "friction") if closes else ("armature", "stiffness", "damping", "friction")
    count = len(FEATURES)
    parameters = {f"{name}:j2": np.array([[x.get(name, 0.0)] * joint.nv for x in FEATURES.values()]) for name in names}
    if min(random_regularities(joint)) < 0.2:  # steps would treat stiffer springs of singular coordinates implicitly
        parameters["stiffness:j2"] *= 1e-3
    parameters["friction_velocity:j2"] = np.full((count, joint.nv), 0.5)
    parameters["rest:j2"] = np.tile(np.array(joint.integrate([*start], [0.3] * joint.nv)), (count, 1))

    def ended(method, h):
        options = {"duration": TIME, "dt": h, "record_every": round(TIME / h), "joint_limit_mode": "ignored"}
        states = np.tile(q, (count, 1)), np.tile(v, (count, 1))
        end = robot.simulate(*states, method=method, parameters=parameters, **options)
        assert np.all(end.success), (method, h, end.message)
        return np.concatenate([robot.difference(q, end.q[:, -1]), end.v[:, -1]], axis=-1)

    limit = ended("rk4", 5e-4)
    return {m: np.array([np.abs(ended(m, h) - limit).max(axis=1) for h in (H, 0.5 * H)]).T for m in ORDERS}


def cases():
    """Return each joint type in the tree and as the joint that closes the loop, without and with a follower."""
    result = []
    for kind in KINDS:
        joint = kind.example(np.random.default_rng(7))
        result += [(kind, False, False), (kind, True, False)]
        result += [(kind, False, True)] * (joint.nv == joint.nq == 1) + [(kind, True, True)] * (joint.nv >= 3)
    return result


@pytest.mark.slow(every=9)
@pytest.mark.parametrize(("kind", "closes", "coupled"), cases())
def test_simulation_methods_converge_with_their_order_for_each_joint_type_in_a_loop(kind, closes, coupled):
    """All methods have one limit.  The default method is of second order, and of first order with losses."""
    for method, errors in errors_of(kind, closes, coupled).items():
        for feature, (coarse, fine) in zip(FEATURES, errors, strict=True):
            second = method == "semi_implicit_euler" and feature in ("none", "armature", "spring")
            order = 2 if second else ORDERS[method]
            assert coarse < 0.5 and fine < 1.4 * coarse / 2**order + 1e-11, (method, feature, coarse, fine)
