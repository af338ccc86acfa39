"""The table of docs/joint_limits.md: which functions enforce the limits of which joints, over all types."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import LimitWarning, SimulationWarning
from linkwork.joints import ALL, Composite, Floating, Planar, Revolute
from linkwork.joints.base.plain_coordinates import is_plain
from linkwork.model.limited_coordinates import limited_coordinates, limited_values

PAGE = Path(__file__).parents[2] / "docs" / "joint_limits.md"
WIDTH = 0.2  # of limits about zero, for all coordinates
SPEED = 0.05  # [rad/s, m/s] limit of all velocities
FAR = lw.Scene().with_sphere("far", 0.1, (9.0, 9.0, 9.0))


def _joints():
    rng = np.random.default_rng(1)
    kinds = [kind.example(rng) for kind in ALL if kind.__name__ not in ("Fixed", "Composite", "Reversed")]
    return [*kinds, Composite((Planar(), Revolute((1.0, 0.0, 0.0)))), *(kind.reversed() for kind in kinds)]


def _cases():
    """Pairs of a column of the table and a joint type."""
    for joint in _joints():
        yield "plain" if is_plain(joint) else "curved", joint
        yield "loop", joint
        if is_plain(joint):
            yield "follower", joint


def table():
    """Return the words of the table by (quantity, function, column)."""
    result, quantity, columns = {}, "", []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and cells[0].startswith("limits of "):
            quantity, columns = cells[0].removeprefix("limits of "), cells[1:]
        elif not cells:
            quantity = ""
        elif quantity and not cells[0].startswith(":--"):
            for column, cell in zip(columns, cells[1:], strict=True):
                result[quantity, cells[0], column] = cell.split(", ")
    return result


class Limited:
    """A robot with limits of one joint, which is in its tree, follows another, or closes a loop."""

    def __init__(self, column, joint):
        self.column, self.joint = column, joint
        self.lower, self.upper = (np.array(joint.zero(), dtype=float) + side * WIDTH for side in (-1.0, 1.0))
        link = [
            lw.Link(name, collisions=[lw.shapes.Sphere(0.1)], mass=2.0, inertia=np.diag([0.3, 0.4, 0.5]))
            for name in "ab"
        ]
        limits_of_joint = {"lower": self.lower, "upper": self.upper, "velocity": [SPEED] * joint.nv}
        self.driver = "limited"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the inertia is larger than that of the shape
            if column == "loop":
                self.driver = "free"
                free = lw.Joint.of(Floating(), name="free", parent="world", child="a")
                self.robot = lw.Robot.build("one", link[0], free).with_loop(
                    "limited", "world", "a", joint, **limits_of_joint
                )
            elif column == "follower":
                self.driver = "master"
                first = lw.Joint.of(joint, name="master", parent="world", child="b")
                second = lw.Joint.of(joint, name="limited", parent="b", child="a", **limits_of_joint)
                self.robot = lw.Robot.build("one", *link, first, second).with_couplings({"limited": ("master", 2.0)})
            else:
                first = lw.Joint.of(joint, name="limited", parent="world", child="a", **limits_of_joint)
                self.robot = lw.Robot.build("one", link[0], first)
            self.robot = self.robot.with_gravity([0.0, 0.0, 0.0])

    def excess(self, q):
        """Return by how much the joint is beyond its limits, in the worst of configurations q; negative inside."""
        if self.column == "loop":  # angles up to revolutions
            x = limited_values(self.robot, limited_coordinates(self.robot.tree), np.asarray(q))
        else:
            x = np.asarray(q) * (2.0 if self.column == "follower" else 1.0)
        return float(np.maximum(self.lower - x, x - self.upper).max())

    def speed(self, q, v):
        """Return the largest velocity of the joint."""
        v = self.robot.loop_velocity(q, v) if self.column == "loop" else v
        return float(np.abs(v).max()) * (2.0 if self.column == "follower" else 1.0)

    def at(self, phi):
        """Return the robot's configuration in which the joint has moved by φ from zero."""
        x = self.joint.integrate(self.joint.zero(), list(phi))
        if self.column == "loop":
            return np.array(Floating().configuration_from_pose(self.joint.X(x)), dtype=float)
        return np.array(x, dtype=float) * (0.5 if self.column == "follower" else 1.0)

    def fitting_motion(self, fits, reach):
        """Return φ of the first random motion whose configuration fits."""
        rng = np.random.default_rng(0)
        motions = (rng.uniform(-reach, reach, self.joint.nv) for _ in range(10_000))
        return next(phi for phi in motions if fits(self.excess(self.at(phi))))

    @property
    def inside(self):
        return self.fitting_motion(lambda excess: excess < -0.05, 0.1)

    @property
    def beyond(self):
        return self.fitting_motion(lambda excess: 0.2 < excess < 0.4, 2.0)

    def path(self):
        """Return configurations from inside to beyond the limits."""
        a, b = self.inside, self.beyond
        return [self.at(a + share * (b - a)) for share in np.linspace(0.0, 1.0, 15)]


def _inverse_kinematics(limited):
    robot, start, goal = limited.robot, limited.at(limited.inside), limited.at(limited.beyond)
    result = robot.inverse_kinematics(robot.pose(goal, "a"), "a", q_init=start)
    again = robot.inverse_kinematics(robot.pose(start, "a"), "a")
    assert again.success
    free = robot.inverse_kinematics(robot.pose(goal, "a"), "a", position_limits=False)
    assert free.success and limited.excess(free.q) > 0.1
    assert max(limited.excess(again.q), limited.excess(result.q) if result.success else 0.0) < 1e-9
    return "held"


def _steps(limited):
    robot, q, goal, names = limited.robot, limited.at(limited.inside), limited.at(limited.beyond), set()
    step = robot.ik_problem(lw.ik.PoseTask("a")).differential(_STEP, motion_limits={"velocity": False})
    for _ in range(40):
        result = step.velocity(q, a=robot.pose(goal, "a"))
        q = robot.integrate(q, _STEP * result.v * min(1.0, _FASTEST / max(np.abs(result.v).max(initial=0.0), 1e-9)))
        if limited.excess(q) > 0.5 * (_FASTEST * _STEP) ** 2 * 2.0:  # rates of rows are at most 2 |v|
            return "passed"
        names.update(result.at_limits)
    assert names & {"limited", limited.driver}
    return "held"


_STEP, _FASTEST = 0.01, 2.0  # [s], [rad/s, m/s]


def _cartesian(limited):
    robot, path = limited.robot, limited.path()
    curve = lw.motion.pose_spline([robot.pose(q, "a") for q in path])
    how = {"q_init": path[0], "position_tolerance": 0.02, "orientation_tolerance": 0.02}
    result = robot.track_cartesian_path(curve, "a", **how)
    assert not result.success
    if result.fraction > 0.0:
        curve = result.trajectory()
        q = curve(np.linspace(curve.start_time, curve.end_time, 200)).q
        assert limited.excess(q) < 1e-4
    return "held"


def _plan(limited):
    lengths = {"position_limits": {"free": (-2.0 * np.ones(7), 2.0 * np.ones(7))}} if limited.column == "loop" else {}
    try:
        result = limited.robot.plan(
            limited.at(limited.inside), limited.at(limited.beyond), FAR, time_limit=1.0, **lengths
        )
    except ValueError as error:
        return "refused" if "'limited'" in str(error) else f"refused without a name: {error}"
    assert not result.success and ("limited" in result.explain() or limited.driver in result.explain())
    return "held"


def _profile(limited):
    with pytest.raises(ValueError, match=f"{limited.driver}|limited"):
        limited.robot.profile(
            limited.at(limited.inside), limited.at(limited.beyond), velocity=1.0, acceleration=1.0, jerk=9.0
        )
    return "refused"


def _random(limited):
    return "held" if limited.excess(limited.robot.random_configuration(seed=0, size=20)) < 1e-12 else "passed"


def _simulate(mode):
    def simulated(limited):
        q = limited.at(limited.inside)
        v = limited.robot.difference(q, limited.at(limited.beyond)) * 3.0
        if limited.column == "loop":
            v = limited.robot.project(q, v)[1]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                moved = limited.robot.simulate(q, v, duration=0.3, joint_limit_mode=mode, passive=False)
            except ValueError as error:
                return "refused" if "joint_limit_mode='held'" in str(error) else f"refused: {error}"
        if limited.excess(moved.q) < (0.02 if mode == "held" else 0.1):
            return "held"
        texts = [str(limited.message) for limited in caught if limited.category is SimulationWarning]
        return "warned" if any("limited" in text or limited.driver in text for text in texts) else "passed"

    return simulated


def _whole_body(limited):
    robot = limited.robot
    law = lw.control.WholeBody(robot, lw.ik.PoseTask("a"), stiffness=50.0, actuators=[limited.driver])
    how = {"duration": 1.0, "dt": 2e-3, "joint_limit_mode": "ignored", "passive": False}
    moved = robot.simulate(
        limited.at(limited.inside), controller=law, constants={"a": robot.pose(limited.at(limited.beyond), "a")}, **how
    )
    assert limited.speed(moved.q, moved.v) > 0.5 * SPEED  # it does move
    return "held" if limited.excess(moved.q) < 1e-3 and limited.speed(moved.q, moved.v) < 1.02 * SPEED else "passed"


def _joint_law(limited):
    """A law without limits of positions follows its target beyond them, and the simulation warns."""
    law = lw.control.PD(limited.robot, 200.0, 40.0, feedforward="gravity", actuators=[limited.driver])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        how = {"duration": 1.0, "dt": 2e-3, "passive": False, "constants": {"target_q": limited.at(limited.beyond)}}
        moved = limited.robot.simulate(limited.at(limited.inside), controller=law, **how)
    assert limited.excess(moved.q) > 0.05
    texts = [str(limited.message) for limited in caught if limited.category is SimulationWarning]
    return "warned" if any("limited" in text or limited.driver in text for text in texts) else "passed"


def _mechanism(limited):
    if limited.column != "loop":
        return None
    robot, beyond = limited.robot, limited.at(limited.beyond)
    result = robot.assemble(beyond, hold={"free": beyond}, check=False)
    assert result.status == "loop_at_limits" and "'limited'" in result.explain()
    assert int(robot.branches({"free": beyond}).count) == 0
    assert int(robot.branches({"free": beyond}, position_limits=False).count) == 1
    return "held"


def _velocity(limited):
    robot, q = limited.robot, limited.at(limited.inside)
    result = robot.velocity_for(lw.ik.PoseTask("a"), q, 1e-3, a=robot.pose(limited.at(np.zeros(limited.joint.nv)), "a"))
    return "held" if 0.9 * SPEED < limited.speed(q, result.v) < SPEED * (1.0 + 1e-6) else "passed"


def _inner_path(limited):
    """Return a curve inside of the limits, and the joint's configurations along it."""
    a, b = limited.inside, np.zeros(limited.joint.nv)
    q = np.stack([limited.at(a + share * (b - a)) for share in (0.0, 0.5, 1.0)])
    return limited.robot.spline([0.0, 0.5, 1.0], q, "cubic", boundary="clamped")


def _timing(limited):
    timed = lw.motion.time_optimal(_inner_path(limited), acceleration=50.0).trajectory
    q, v, _ = timed(np.linspace(timed.start_time, timed.end_time, 400))
    return "held" if 0.9 * SPEED < limited.speed(q, v) < SPEED * (1.0 + 1e-4) else "passed"


def _speed_of_profile(limited):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        moved = limited.robot.profile(
            limited.at(limited.inside), limited.at(np.zeros(limited.joint.nv)), acceleration=50.0, jerk=5e3
        )
    if any("'limited" in str(warning.message) for warning in caught if warning.category is LimitWarning):
        return "warned"
    q, v, _ = moved(np.linspace(moved.start_time, moved.end_time, 400))
    return "held" if limited.speed(q, v) < SPEED * (1.0 + 1e-6) else "passed"


FUNCTIONS = {
    ("positions", "`inverse_kinematics`, `ik_problem`"): _inverse_kinematics,
    ("positions", "`velocity_for`, `DifferentialIK`"): _steps,
    ("positions", "`track_cartesian_path`"): _cartesian,
    ("positions", "`plan`"): _plan,
    ("positions", "`profile`"): _profile,
    ("positions", "`random_configuration`"): _random,
    ("positions", '`simulate(joint_limit_mode="held")`'): _simulate("held"),
    ("positions", '`simulate(joint_limit_mode="soft")`'): _simulate("soft"),
    ("positions", "`simulate()`"): _simulate(None),
    ("positions", "`control.WholeBody`"): _whole_body,
    ("positions", "other laws of `control`"): _joint_law,
    ("positions", "`assemble`, `branches`, `drive_mechanism`"): _mechanism,
    ("velocities", "`velocity_for`, `DifferentialIK`"): _velocity,
    ("velocities", "`time_optimal`"): _timing,
    ("velocities", "`profile`"): _speed_of_profile,
    ("velocities", "`control.WholeBody`"): _whole_body,
}


def test_table_of_joint_limits_has_a_row_for_each_function():
    assert {key[:2] for key in table()} == set(FUNCTIONS)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("key", FUNCTIONS, ids=" of ".join)
def test_functions_treat_joint_limits_as_the_documented_table_states(key, drawn):
    """Each function treats the limits of each joint type as the table states."""
    words = table()
    for column, joint in drawn(_cases()):
        expected = words[*key, column]
        if expected == ["–"]:
            continue
        try:
            outcome = FUNCTIONS[key](Limited(column, joint))
        except ValueError as error:
            if "no coordinates of 'one' determine the others" not in str(error):
                raise
            outcome = "refused"
        assert outcome is None or outcome in expected, (column, joint.type_name(), outcome)
