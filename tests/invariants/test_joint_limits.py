"""The table of docs/joint_limits.md: which functions hold the limits of which joints, over all types and both ways."""

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
        own = {"lower": self.lower, "upper": self.upper, "velocity": [SPEED] * joint.nv}
        self.driver = "limited"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the inertia is larger than that of the shape
            if column == "loop":
                self.driver = "free"
                free = lw.Joint.of(Floating(), name="free", parent="world", child="a")
                self.robot = lw.Robot.build("one", link[0], free).with_loop("limited", "world", "a", joint, **own)
            elif column == "follower":
                self.driver = "master"
                first = lw.Joint.of(joint, name="master", parent="world", child="b")
                second = lw.Joint.of(joint, name="limited", parent="b", child="a", **own)
                self.robot = lw.Robot.build("one", *link, first, second).with_couplings({"limited": ("master", 2.0)})
            else:
                first = lw.Joint.of(joint, name="limited", parent="world", child="a", **own)
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

    def found(self, fits, reach):
        """Return φ of the first random motion whose configuration fits."""
        rng = np.random.default_rng(0)
        motions = (rng.uniform(-reach, reach, self.joint.nv) for _ in range(10_000))
        return next(phi for phi in motions if fits(self.excess(self.at(phi))))

    @property
    def inside(self):
        return self.found(lambda excess: excess < -0.05, 0.1)

    @property
    def beyond(self):
        return self.found(lambda excess: 0.2 < excess < 0.4, 2.0)

    def path(self):
        """Return configurations from inside to beyond the limits."""
        a, b = self.inside, self.beyond
        return [self.at(a + share * (b - a)) for share in np.linspace(0.0, 1.0, 15)]


def _inverse_kinematics(one):
    robot, start, goal = one.robot, one.at(one.inside), one.at(one.beyond)
    found = robot.inverse_kinematics(robot.pose(goal, "a"), "a", q_init=start)
    again = robot.inverse_kinematics(robot.pose(start, "a"), "a")
    assert again.success
    free = robot.inverse_kinematics(robot.pose(goal, "a"), "a", position_limits=False)
    assert free.success and one.excess(free.q) > 0.1
    assert max(one.excess(again.q), one.excess(found.q) if found.success else 0.0) < 1e-9
    return "held"


def _steps(one):
    robot, q, goal, names = one.robot, one.at(one.inside), one.at(one.beyond), set()
    step = robot.ik_problem(lw.ik.PoseTask("a")).differential(_STEP, motion_limits={"velocity": False})
    for _ in range(40):
        result = step.velocity(q, a=robot.pose(goal, "a"))
        q = robot.integrate(q, _STEP * result.v * min(1.0, _FASTEST / max(np.abs(result.v).max(initial=0.0), 1e-9)))
        if one.excess(q) > 0.5 * (_FASTEST * _STEP) ** 2 * 2.0:  # rates of rows are at most 2 |v|
            return "passed"
        names.update(result.at_limits)
    assert names & {"limited", one.driver}
    return "held"


_STEP, _FASTEST = 0.01, 2.0  # [s], [rad/s, m/s]


def _cartesian(one):
    robot, path = one.robot, one.path()
    curve = lw.motion.pose_spline([robot.pose(q, "a") for q in path])
    how = {"q_init": path[0], "position_tolerance": 0.02, "orientation_tolerance": 0.02}
    found = robot.track_cartesian_path(curve, "a", **how)
    assert not found.success
    if found.fraction > 0.0:
        curve = found.trajectory()
        q = curve(np.linspace(curve.start_time, curve.end_time, 200)).q
        assert one.excess(q) < 1e-4
    return "held"


def _plan(one):
    lengths = {"position_limits": {"free": (-2.0 * np.ones(7), 2.0 * np.ones(7))}} if one.column == "loop" else {}
    try:
        found = one.robot.plan(one.at(one.inside), one.at(one.beyond), FAR, time_limit=1.0, **lengths)
    except ValueError as error:
        return "refused" if "'limited'" in str(error) else f"refused without a name: {error}"
    assert not found.success and ("limited" in found.explain() or one.driver in found.explain())
    return "held"


def _profile(one):
    with pytest.raises(ValueError, match=f"{one.driver}|limited"):
        one.robot.profile(one.at(one.inside), one.at(one.beyond), velocity=1.0, acceleration=1.0, jerk=9.0)
    return "refused"


def _random(one):
    return "held" if one.excess(one.robot.random_configuration(seed=0, size=20)) < 1e-12 else "passed"


def _simulate(mode):
    def simulated(one):
        q = one.at(one.inside)
        v = one.robot.difference(q, one.at(one.beyond)) * 3.0
        if one.column == "loop":
            v = one.robot.project(q, v)[1]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                moved = one.robot.simulate(q, v, duration=0.3, joint_limit_mode=mode, passive=False)
            except ValueError as error:
                return "refused" if "joint_limit_mode='held'" in str(error) else f"refused: {error}"
        if one.excess(moved.q) < (0.02 if mode == "held" else 0.1):
            return "held"
        texts = [str(one.message) for one in caught if one.category is SimulationWarning]
        return "warned" if any("limited" in text or one.driver in text for text in texts) else "passed"

    return simulated


def _whole_body(one):
    robot = one.robot
    law = lw.control.WholeBody(robot, lw.ik.PoseTask("a"), stiffness=50.0, actuators=[one.driver])
    how = {"duration": 1.0, "dt": 2e-3, "joint_limit_mode": "ignored", "passive": False}
    moved = robot.simulate(
        one.at(one.inside), controller=law, constants={"a": robot.pose(one.at(one.beyond), "a")}, **how
    )
    assert one.speed(moved.q, moved.v) > 0.5 * SPEED  # it does move
    return "held" if one.excess(moved.q) < 1e-3 and one.speed(moved.q, moved.v) < 1.02 * SPEED else "passed"


def _joint_law(one):
    """A law without limits of positions follows its target beyond them, and the simulation warns."""
    law = lw.control.PD(one.robot, 200.0, 40.0, feedforward="gravity", actuators=[one.driver])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        how = {"duration": 1.0, "dt": 2e-3, "passive": False, "constants": {"target_q": one.at(one.beyond)}}
        moved = one.robot.simulate(one.at(one.inside), controller=law, **how)
    assert one.excess(moved.q) > 0.05
    texts = [str(one.message) for one in caught if one.category is SimulationWarning]
    return "warned" if any("limited" in text or one.driver in text for text in texts) else "passed"


def _mechanism(one):
    if one.column != "loop":
        return None
    robot, beyond = one.robot, one.at(one.beyond)
    found = robot.assemble(beyond, hold={"free": beyond}, check=False)
    assert found.status == "loop_at_limits" and "'limited'" in found.explain()
    assert int(robot.branches({"free": beyond}).count) == 0
    assert int(robot.branches({"free": beyond}, position_limits=False).count) == 1
    return "held"


def _velocity(one):
    robot, q = one.robot, one.at(one.inside)
    result = robot.velocity_for(lw.ik.PoseTask("a"), q, 1e-3, a=robot.pose(one.at(np.zeros(one.joint.nv)), "a"))
    return "held" if 0.9 * SPEED < one.speed(q, result.v) < SPEED * (1.0 + 1e-6) else "passed"


def _inner_path(one):
    """Return a curve inside of the limits, and the joint's configurations along it."""
    a, b = one.inside, np.zeros(one.joint.nv)
    q = np.stack([one.at(a + share * (b - a)) for share in (0.0, 0.5, 1.0)])
    return one.robot.spline([0.0, 0.5, 1.0], q, "cubic", boundary="clamped")


def _timing(one):
    timed = lw.motion.time_optimal(_inner_path(one), acceleration=50.0).trajectory
    q, v, _ = timed(np.linspace(timed.start_time, timed.end_time, 400))
    return "held" if 0.9 * SPEED < one.speed(q, v) < SPEED * (1.0 + 1e-4) else "passed"


def _speed_of_profile(one):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        moved = one.robot.profile(one.at(one.inside), one.at(np.zeros(one.joint.nv)), acceleration=50.0, jerk=5e3)
    if any("'limited" in str(warning.message) for warning in caught if warning.category is LimitWarning):
        return "warned"
    q, v, _ = moved(np.linspace(moved.start_time, moved.end_time, 400))
    return "held" if one.speed(q, v) < SPEED * (1.0 + 1e-6) else "passed"


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


def test_the_table_has_a_row_for_each_function():
    assert {key[:2] for key in table()} == set(FUNCTIONS)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("key", FUNCTIONS, ids=" of ".join)
def test_the_table_says_what_happens(key, drawn):
    """Every function treats the limits of every joint type as the table says."""
    words = table()
    for column, joint in drawn(_cases()):
        expected = words[*key, column]
        if expected == ["–"]:
            continue
        outcome = FUNCTIONS[key](Limited(column, joint))
        assert outcome is None or outcome in expected, (column, joint.type_name(), outcome)
