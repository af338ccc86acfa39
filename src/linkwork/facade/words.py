"""Words that other libraries have for what a robot here can be asked, and what is meant by them."""

from __future__ import annotations

from .._text import nearest

__all__ = ["no_attribute"]

_PAGE, _HOW = "see docs/coming_from.md", "see docs/howto.md"

_WORDS = {
    f"it is inverse_dynamics(q, v, a) here: {_PAGE}": "rnea id",
    f"it is forward_dynamics(q, v, tau) here: {_PAGE}": "aba fd",
    f"it is mass_matrix(q) here: {_PAGE}": "crba inertia_matrix",
    f"bias_force(q, v) is C(q, v) v + g(q): {_PAGE}": "nle nonlineareffects coriolis_matrix coriolis",
    f"it is gravity_force(q) here: {_PAGE}": "computegeneralizedgravity gravity_torque gravity_vector",
    f"it is pose(q, frame) here, or forward_kinematics(q) for all bodies: {_PAGE}": (
        "fk fkine forwardkinematics framesforwardkinematics frame_pose transform"
    ),
    f"it is jacobian(q, frame) here: {_PAGE}": "computeframejacobian getframejacobian frame_jacobian jac jacob0",
    f"a loop of a few lines with jacobian(q, frame) does it: {_HOW}": "ik ikine inverse_kinematics",
    f"links and their poses give it in a few lines: {_HOW}": "com center_of_mass centerofmass",
    f"forward_dynamics and integrate make a step: {_HOW}": "step simulate",
    f"there is no data beside a robot; functions give arrays: {_PAGE}": "data createdata model",
    "robot.joints has the joints, robot.q_names and robot.v_names a name for each number": "names joint_names njoints",
    "robot.frames are their names": "frame_names nframes",
    "robot.links has the links, robot.bodies the names of those that move": "link_names nbodies",
    "it is robot.lower": "lowerpositionlimit lower_limits lower_limit",
    "it is robot.upper": "upperpositionlimit upper_limits upper_limit",
    "it is robot.velocity_limits": "velocitylimit velocity_limit",
    "it is robot.effort_limits": "effortlimit effort_limit torque_limits",
    "each joint has its own; robot.passive_torque(v) is what all of them exert": "damping friction",
    "it is robot.nv": "dof ndof num_dof",
    "it is robot.neutral()": "q0 qpos0 zero_configuration home",
    "it is robot.random_configuration(seed=0, size=100)": "randomconfiguration random_q sample",
}
_MEANT = {word: remedy for remedy, words in _WORDS.items() for word in words.split()}


def no_attribute(kind: type, name: str) -> AttributeError:
    """The error for an attribute that a robot does not have: the word for it here, or names that are like it."""
    remedy = _MEANT.get(name.lower(), "")
    if not remedy and not name.startswith("_"):
        close = nearest(name, [known for known in dir(kind) if not known.startswith("_")])
        remedy = close if close.startswith("did") else ""
    return AttributeError(f"{kind.__name__!r} object has no attribute {name!r}" + (f"; {remedy}" if remedy else ""))
