"""The first calls that `python -m benchmarks.first_calls` measures: preparation, and the call itself."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ROWS", "FirstCall"]


@dataclass(frozen=True, slots=True)
class FirstCall:
    """A first call in a fresh process.

    ``prepare`` is not measured.  ``call`` is, and defines ``result``, an array of numbers which must be the same with
    an empty and with a full cache.  ``goal`` is the time with an empty cache [s].
    """

    name: str
    prepare: str
    call: str
    goal: float = 1.0
    gets_close: bool = False  # the result depends on rounding: a search, or a result that is accurate to a tolerance


_ARM = """
robot = lw.load("arm7")
home = np.array([0.6, 0.9, 0.0, -1.2, 0.0, 0.6, 0.0])
goal = np.array([-0.5, 0.8, 0.1, -1.3, 0.0, 0.5, 0.1])
boxes = lw.Scene().with_box("wall", (0.6, 0.04, 0.3), (0.6, 0.1, 0.15))
boxes = boxes.with_box("table", (2.0, 2.0, 0.1), (0.0, 0.0, -0.06))
"""
_PANDA = """
from benchmarks.measurement.robots import ROBOTS
from benchmarks.measurement.robots import example_robots
folders = [example_robots(), example_robots().parent, example_robots().parents[1]]
robot = ROBOTS["panda"].load().with_collision_hulls(folders, max_vertices=32)
home = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8, 0.02, 0.02])
goal = np.array([1.2, 0.3, 0.2, -1.5, 0.1, 1.7, 0.5, 0.02, 0.02])
boxes = lw.Scene().with_box("post", (0.1, 0.1, 0.8), (0.5, 0.25, 0.4))
"""
_QUADRUPED = """
robot = lw.load("quadruped", floating_base=True)
q = robot.neutral()
q[7:] = np.tile([0.0, 0.6, -1.2], 4)
feet = [f"{a}_{b}_foot" for a in ("front", "hind") for b in ("left", "right")]
q[6] -= robot.pose(q, feet[0])[2, 3]
"""
_HUMANOID = """
robot = lw.load("humanoid", floating_base=True)
q = robot.neutral()
frames = [name for name in robot.frames if "foot" in name or "sole" in name]
feet = frames[:2]
q[6] -= min(robot.pose(q, name)[2, 3] for name in feet)
"""
_GROUND = """
from linkwork.simulation import ContactGround, ContactPoint
ground = ContactGround(tuple(ContactPoint(name) for name in feet), friction=0.6)
"""
_PATH = """
points = home + np.linspace(0.0, 1.0, 6)[:, None] * (goal - home)
points[1:-1] += 0.05 * np.sin(np.arange(28.0)).reshape(4, 7)
path = robot.spline(np.linspace(0.0, 1.0, 6), points, boundary="clamped")
limits = dict(velocity=1.5, acceleration=5.0, num_points=100)
"""
_MPC = """
problem = lw.TrajectoryProblem(robot, num_steps=10, duration=0.5)
problem = problem.add("acceleration", "least_squares", scale=0.05).add("velocity", "least_squares")
problem = problem.add("configuration", "least_squares", scale=10.0, name="posture")
problem = problem.add_limits(positions=False)
"""
_LEGS_MPC = """
problem = problem.add(lw.optimal.UnactuatedFeature(), "equality", scale=0.01, name="no motor")
for foot in feet:
    problem = problem.add_contact(foot, friction=0.6, effort=1.0)
"""
_POSE_PROBLEM = """
problem = lw.TrajectoryProblem(robot, num_steps=16, duration=1.5)
problem = problem.add("acceleration", "least_squares")
problem = problem.add(lw.ik.PoseTask("hand"), "equality", steps=-1, name="reach").add_limits()
X = robot.pose(goal, "hand")
"""
_BOXES_PROBLEM = """
problem = lw.TrajectoryProblem(robot, num_steps=16, duration=1.5).add("acceleration", "least_squares")
problem = problem.add("configuration", "equality", steps=-1, target=goal, name="reach")
problem = problem.add(lw.optimal.Clearance(scene=boxes, at_least=0.005), "inequality")
"""
_SHOOTING = """
problem = lw.TrajectoryProblem(robot, num_steps=16, duration=1.0)
problem = problem.add("torque", "least_squares", scale=0.01).add("velocity", "least_squares", scale=0.1)
problem = problem.add("configuration", "least_squares", steps=-1, scale=10.0, target=aim)
"""
_STEP = "x = rng.normal(size=robot.nv); y = rng.normal(size=robot.nv)\n"
_LQR = "result = lw.control.lqr_about_state(robot, home, Q=100.0, R=0.01)(home + 0.01, 0.0 * home)"
_DELTA = """
robot = lw.load("delta")
q = robot.neutral()
shoulders = ["shoulder_1", "shoulder_2", "shoulder_3"]
angles = {name: q[robot.q_index([name])[0]] + np.linspace(0.0, 0.2, 9) for name in shoulders}
zero = np.zeros(robot.nv)
"""
_HEXAPOD = """
robot = lw.load("stewart")
target = robot.neutral()
target[:4] = np.cos(0.05), np.sin(0.05), 0.0, 0.0
target[4:7] = 0.05, 0.0, 0.02
"""
_TALOS = """
from benchmarks.measurement.robots import ROBOTS
robot, hand = ROBOTS["talos"].load(), ROBOTS["talos"].hand
q = robot.neutral()
X = robot.pose(q, hand)
X[:3, 3] += 0.02
"""
_DERIVATIVES = "result = robot.forward_dynamics_derivatives(q, x, y)[0]"
_BALANCE = """
law = lw.control.WholeBody(robot, [lw.ik.CenterOfMassTask(), lw.ik.PostureTask(level=1, target=q)], contacts=ground)
com = robot.center_of_mass(q)
"""

ROWS: tuple[FirstCall, ...] = (
    FirstCall("pose", _ARM, "result = robot.pose(home, 'hand')"),
    FirstCall("plan, two boxes", _ARM, "result = robot.plan(home, goal, boxes, seed=0).path"),
    FirstCall("plan, Panda with hulls", _PANDA, "result = robot.plan(home, goal, boxes, seed=0).path"),
    FirstCall(
        "plan, timed, smooth",
        _ARM,
        "plan = robot.plan(home, goal, boxes, seed=0)\nresult = plan.timed(acceleration=8.0).trajectory(0.1).q",
    ),
    FirstCall("time_optimal", _ARM + _PATH, "result = lw.motion.time_optimal(path, **limits).t"),
    FirstCall("time_optimal, torque", _ARM + _PATH, "result = lw.motion.time_optimal(path, torque=True, **limits).t"),
    FirstCall("time_optimal, jerk", _ARM + _PATH, "result = lw.motion.time_optimal(path, jerk=60.0, **limits).t"),
    FirstCall("simulate", _ARM, "result = robot.simulate(home, duration=0.1).q[-1]"),
    FirstCall(
        "simulate, contact",
        _ARM + "feet = ['hand']" + _GROUND,
        "result = robot.simulate(home, duration=0.1, contacts=ground).q[-1]",
    ),
    FirstCall(
        "simulate, humanoid, contact",
        _HUMANOID + _GROUND,
        "result = robot.simulate(q, duration=0.02, contacts=ground).q[-1]",
        goal=3.0,
    ),
    FirstCall("distances", _ARM, "result = robot.distances(home, boxes).distance"),
    FirstCall("in_collision", _ARM, "result = robot.in_collision(home, boxes)"),
    FirstCall("in_collision, Panda", _PANDA, "result = robot.in_collision(home, boxes)"),
    FirstCall("forward dynamics, derivatives: arm", _ARM + _STEP + "q = home", _DERIVATIVES),
    FirstCall("forward dynamics, derivatives: quadruped", _QUADRUPED + _STEP, _DERIVATIVES, goal=2.0),
    FirstCall("forward dynamics, derivatives: humanoid", _HUMANOID + _STEP, _DERIVATIVES, goal=3.0),
    FirstCall("profile", _ARM, "result = robot.profile(home, goal, acceleration=4.0, jerk=40.0)(0.1).q"),
    FirstCall("spline", _ARM, "result = robot.spline([0.0, 1.0], [home, goal], boundary='clamped')(0.3).q"),
    FirstCall(
        "inverse kinematics",
        _ARM + "X = robot.pose(goal, 'hand')",
        "result = robot.pose(robot.inverse_kinematics(X, 'hand', q_init=home).q, 'hand')",
    ),
    FirstCall("LQR", _ARM, _LQR),
    FirstCall("LQR, Panda", _PANDA, _LQR),
    FirstCall(
        "whole body, quadruped",
        _QUADRUPED + _GROUND + _BALANCE,
        "result = law(0.0, q, np.zeros(robot.nv), center_of_mass=com)",
        goal=2.0,
    ),
    FirstCall(
        "whole body, humanoid",
        _HUMANOID + _GROUND + _BALANCE,
        "result = law(0.0, q, np.zeros(robot.nv), center_of_mass=com)",
        goal=3.0,
    ),
    FirstCall(
        "MPC, arm", _ARM + _MPC, "result = problem.controller().step((home, 0.0 * home), {'posture': goal}).torque"
    ),
    FirstCall(
        "MPC, quadruped",
        _QUADRUPED + _MPC + _LEGS_MPC,
        "result = problem.controller().step((q, np.zeros(robot.nv)), {'posture': q}).torque",
        goal=2.0,
    ),
    FirstCall(
        "MPC, humanoid",
        _HUMANOID + _MPC + _LEGS_MPC,
        "result = problem.controller().step((q, np.zeros(robot.nv)), {'posture': q}).torque",
        goal=3.0,
    ),
    FirstCall("trajectory problem: pose", _ARM + _POSE_PROBLEM, "result = problem.solve(home, targets={'reach': X}).q"),
    FirstCall("trajectory problem: boxes", _ARM + _BOXES_PROBLEM, "result = problem.solve(home).q"),
    FirstCall(
        "trajectory problem: iLQR, arm",
        _ARM + "aim = goal" + _SHOOTING,
        "result = problem.solve(home, solver='ilqr').q",
    ),
    FirstCall(
        "trajectory problem: iLQR, quadruped",
        _QUADRUPED + "aim = q" + _SHOOTING.replace("duration=1.0", "duration=0.2"),
        "result = problem.solve(q, solver='ilqr', max_iterations=5).q",
        goal=2.0,
    ),
    FirstCall("hexapod: assemble", _HEXAPOD, "result = robot.assemble(target, hold={'carried': target[:7]}).q"),
    FirstCall("hexapod: simulate", _HEXAPOD, "result = robot.simulate(robot.neutral(), duration=0.05).q[-1]"),
    FirstCall("Delta robot: drive", _DELTA, "result = robot.drive_mechanism(angles).q"),
    FirstCall(
        "Delta robot: derivatives of constrained inverse dynamics",
        _DELTA,
        "result = robot.constrained_inverse_dynamics_derivatives(q, zero, zero)[0]",
    ),
    FirstCall(
        "Talos: inverse kinematics with a posture",
        _TALOS,
        "problem = robot.ik_problem([lw.ik.PoseTask(hand), lw.ik.PostureTask(level=1, target=q)])\n"
        "result = robot.pose(problem.solve(q, **{hand: X}).q, hand)",
        goal=3.0,
    ),
)
