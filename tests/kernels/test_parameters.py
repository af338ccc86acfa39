"""Kernels with parameters of the robot as inputs equal the kernels of the edited robot."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import SingularInertiaError, UnknownNameError
from linkwork.kernels.function_kernels import _content
from linkwork.kernels.function_request import Request, read_request
from linkwork.kernels.function_trace import input_ports, trace_requests
from linkwork.model.composite_body import with_summed_inertias
from linkwork.model.function_spec import PASSIVE
from linkwork.model.kernel_parameters import KINDS, Parameter, inputs_of, read_parameters
from linkwork.model.random_tree import random_inertia
from linkwork.model.tree import Tree
from linkwork.robot.robot_table import ROBOT, robot_owner
from oracles.comparison import assert_close
from oracles.scalars import names_for, share
from oracles.trees import TREES, robot_of, state

ARM = lw.load("arm7")
CASES = [  # trees, and what they take; the others' turns come with other functions
    ("mixed_0", "links"),
    ("mixed_1", "all"),
    ("coupled_0", "places"),
    ("coupled_1", "links"),
    ("rerooted_coupled", "all"),
    ("rerooted", "some places"),
    ("composite_random", "places"),
    ("floating_random", "links"),
]

IN_JOINTS = ("armature", "damping", "friction", "friction_velocity", "stiffness", "rest")
GROUPS = {
    "links": ["inertia:*", "gravity", *(f"{kind}:*" for kind in IN_JOINTS), "point:marker0", "direction:*"],
    "all": ["inertia", "gravity", *IN_JOINTS],
    "places": ["placement:*", "frame:*", "inertia:body0", "gravity", "damping"],
    "some places": ["placement", "frame:tool1", "inertia:tool1"],
}


def requests_of(tree: Tree, rows: Any) -> dict[str, Request]:
    """Functions of a robot with what is in joints, and of points and directions that are there."""
    requests = {}
    for row in rows:
        options = [{option.name: True} for option in row.options if option == PASSIVE]
        names = list(names_for(tree, row, tree.frames[-3].name))
        required = [option for option in row.options if option.required]
        for k, option in enumerate(required):
            names[k] = {"point": "marker0", "direction": "arrow"}.get(option.names, names[k])
        requests[row.name] = read_request(robot_owner(tree), (row.name, *names, *options))
    return requests


def changed_parameters(tree: Tree, selected: tuple[Parameter, ...], seed: int) -> dict[Parameter, np.ndarray]:
    """Return plausible parameters at some distance from the robot's own."""
    rng, values = np.random.default_rng(seed), {}
    for p in selected:
        nominal = np.reshape(p.nominal(tree), p.shape(tree))
        if p.kind == "inertia" and p.name:
            values[p] = nominal * rng.uniform(0.5, 1.5) + random_inertia(rng, 0.2).parameters()
        elif p.kind == "inertia":
            values[p] = nominal + [random_inertia(rng, 0.2).parameters() for _ in nominal]
        elif p.kind in ("placement", "frame"):
            values[p] = rng.normal(size=nominal.shape) * 0.3
        elif p.kind == "direction":
            values[p] = nominal + rng.normal(size=3)
            values[p] /= np.linalg.norm(values[p])
        elif p.kind == "rest":
            q = robot_of(tree).random_configuration(rng)
            slices = {b.joint_name: tree.q_slices[i] for i, b in enumerate(tree.bodies)}
            values[p] = q[slices[p.name]] if p.name else q
        else:
            values[p] = nominal * rng.uniform(0.3, 0.9, nominal.shape)
    return values


def inputs(tree: Tree, requests: dict[str, Request], seed: int = 0) -> list[np.ndarray]:
    q, v, a = state(tree, seed, size=2)
    rng = np.random.default_rng(seed + 1)
    by_name = {"q": q, "v": v, "a": a, "q0": q[::-1], "q1": q}
    ports = input_ports(robot_owner(tree), {key: replace(r, parameters=()) for key, r in requests.items()})
    return [by_name[p.name] if p.name in by_name else rng.normal(size=(2, *p.shape)) for p in ports]


def with_parameters(requests: dict[str, Request], selected: tuple[Parameter, ...]) -> dict[str, Request]:
    return {key: replace(request, parameters=selected) for key, request in requests.items()}


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "group"), [*CASES[:2], *(pytest.param(*case, marks=pytest.mark.slow) for case in CASES[2:])]
)
def test_every_robot_function_accepts_symbolic_parameters(name: str, group: str) -> None:
    """Nominal parameters give the robot's own results; changed parameters give those of the edited robot."""
    tree, turn = TREES[name], CASES.index((name, group))
    selected = read_parameters(tree, "compile", GROUPS[group])
    often = ["inverse_dynamics", "passive_force", "pose", "point_position", "direction_vector"]  # these depend on all
    requests = requests_of(tree, map(ROBOT.get, dict.fromkeys([*often, *share(turn, 8)])))
    arrays = inputs(tree, requests)
    subject = robot_owner(tree)
    program = trace_requests(subject, "f", with_parameters(requests, selected))
    for values in (
        {p: np.reshape(p.nominal(tree), p.shape(tree)) for p in selected},
        changed_parameters(tree, selected, 7),
    ):
        edited = robot_of(tree).with_parameters({str(p): x for p, x in values.items()})
        expected = trace_requests(robot_owner(edited.tree), "g", requests).interpret(*arrays)
        results = program.interpret(*arrays, *values.values())
        for port, x, y in zip(program.outputs, results, expected, strict=True):
            assert_close(x, y, 1e-11, f"{group}: {port.name}", core=len(port.shape))


def numbered(robot: lw.Robot, values: dict[str, Any]) -> dict[str, Any]:
    """Name parameters by their inputs."""
    return dict(zip(robot.parameters(values), values.values(), strict=True))


def arm_states(size: int = 3) -> tuple[np.ndarray, ...]:
    return tuple(np.random.default_rng(1).normal(size=(3, size, 7)))


def load_of(mass: float, com: Any, about: Any) -> lw.spatial.Inertia:
    J = lw.spatial.Symmetric3.diagonal(*about)
    return lw.spatial.Inertia.at_center(mass, lw.spatial.Vec3.of(com), J)


PHI, D = [0.0, 0.0, 0.4], [0.05, -0.01, -0.02]
X = np.array(
    [[np.cos(0.4), -np.sin(0.4), 0, 0.05], [np.sin(0.4), np.cos(0.4), 0, -0.01], [0, 0, 1, -0.02], [0, 0, 0, 1.0]]
)


def test_results_with_parameters_equal_those_of_robots_edited_by_methods() -> None:
    """Inertias, gravity, joint dynamics, placements, frames, points and directions, each by its editing method."""

    def marked(camera: np.ndarray, tip: Any, sight: Any, on: lw.Robot) -> lw.Robot:
        with_tip = on.with_frame("camera", "hand", camera).with_point("tip", "camera", tip)
        return with_tip.with_direction("sight", "camera", sight)

    camera = lw.pose([0.0, 0.1, 0.2], rpy=[0.3, 0.2, 0.1])
    robot = marked(camera, [0.1, 0.0, 0.0], [0.0, 0.6, 0.8], ARM)
    light, heavy = (
        load_of(0.7, [0.01, 0.02, 0.1], [2e-3, 3e-3, 1e-3]),
        load_of(3.0, [0.0, 0.0, 0.2], [0.02, 0.02, 0.01]),
    )
    rows = {"armature": np.linspace(0.01, 0.07, 7), "stiffness": np.linspace(1.0, 2.0, 7), "rest": np.full(7, 0.1)}
    values = {
        "inertia:hand": light.parameters(),
        "inertia:forearm_distal": heavy.parameters(),
        "gravity": [1.0, 2.0, -9.0],
        "damping:elbow": [0.7],
        **rows,
        "placement:wrist_flex": [*PHI, *D],
        "frame:camera": [*PHI, *D],
        "point:tip": [0.0, 0.2, 0.1],
        "direction:sight": [1.0, 0.0, 0.0],
    }
    wrist = ARM.joint("wrist_flex")
    edited = ARM.with_inertia("hand", inertia=light).with_inertia("forearm_distal", inertia=heavy)
    edited = edited.with_gravity([1.0, 2.0, -9.0]).with_joint(wrist.with_placements(wrist.stator_placement @ X))
    edited = edited.with_joint_dynamics(damping={"elbow": 0.7}, **rows)
    edited = marked(camera @ X, [0.0, 0.2, 0.1], [1.0, 0.0, 0.0], edited)
    functions = [("inverse_dynamics", {"passive": True}), ("forward_dynamics", {"passive": True}), ("pose", "camera")]
    functions += [("point_position", "tip"), ("direction_vector", "sight"), "center_of_mass", "kinetic_energy"]
    kernel = robot.compile(functions, parameters=values)
    q, v, a = arm_states()
    results = kernel(q, v, a, a, **numbered(robot, values))
    expected = edited.compile(functions)(q, v, a, a)
    with_them = robot.with_parameters(values).compile(functions)(q, v, a, a)
    for name, x, y, z in zip(results._fields, results, expected, with_them, strict=True):
        assert_close(x, y, 1e-11, name)
        assert_close(z, y, 1e-11, name)


@pytest.mark.slow(every=5)
def test_results_with_parameters_equal_those_of_robots_with_edited_files() -> None:
    """A fixed joint that carries a hand with fingers, and links that are merged with it."""
    text = lw.robots.path("arm7_gripper").read_text()
    before = '<origin xyz="0 0 0.107" rpy="0 0 0"/>'
    assert text.count(before) == 1
    moved = text.replace(before, '<origin xyz="0.05 -0.01 0.087" rpy="0 0 0.4"/>')
    robot, edited = lw.Robot.from_urdf_string(text), lw.Robot.from_urdf_string(moved)
    q, v, a = np.random.default_rng(2).normal(size=(3, 3, robot.nv))
    for name in ("placement:hand_mount", "frame:hand"):
        for request in (
            "forward_kinematics",
            "inverse_dynamics",
            ("pose", "tool"),
            ("jacobian", "tool"),
            "mass_matrix",
        ):
            kernel = robot.compile(request, parameters=name)
            arrays = [{"q": q, "v": v, "a": a}[port.name] for port in kernel.inputs[:-1]]
            assert_close(kernel(*arrays, [*PHI, *D]), edited.compile(request)(*arrays), 1e-12, f"{name} {request}")
        assert_close(robot.with_parameters({name: [*PHI, *D]}).mass_matrix(q), edited.mass_matrix(q), 1e-12, name)
        turned, turned_edited = (
            robot.with_root("left_finger"),
            edited.with_root("left_finger"),
        )  # whose joint sits on the hand
        turned = turned.with_parameters({name: [*PHI, *D]})
        assert_close(turned.mass_matrix(q), turned_edited.mass_matrix(q), 1e-12, name)
        assert_close(turned.pose(q, "wrist"), turned_edited.pose(q, "wrist"), 1e-12, name)


def test_frame_parameter_of_a_link_moves_the_link_on_its_joint() -> None:
    """The joint's rotor is moved the same way."""
    elbow = ARM.joint("elbow")
    edited = ARM.with_joint(elbow.with_placements(rotor=elbow.rotor_placement @ X))
    q, v, a = arm_states()
    requests = ["inverse_dynamics", ("pose", "tool"), ("pose", elbow.child)]
    results = ARM.compile(requests, parameters=f"frame:{elbow.child}")(q, v, a, [*PHI, *D])
    for x, y in zip(results, edited.compile(requests)(q, v, a), strict=True):
        assert_close(x, y, 1e-12)


def test_joint_torques_are_linear_in_inertia_parameters() -> None:
    """Their differences are the columns of the regressor, exactly but for rounding."""
    kernel = ARM.compile("inverse_dynamics", parameters="inertia")
    q, v, a = arm_states(1)
    inertias = ARM.parameters("inertia")["inertia"]
    units = np.eye(inertias.size).reshape(-1, *inertias.shape)
    columns = kernel(q, v, a, inertias + units) - kernel(q, v, a, inertias)
    assert_close(columns.T, ARM.inverse_dynamics_regressor(q, v, a)[0], 1e-12)


@pytest.mark.slow(every=5)
def test_derivatives_of_functions_by_robot_parameters_equal_finite_differences() -> None:
    """Parameters are symbols in the derivatives, and inputs of a kernel in the differences."""
    names = ["inertia:hand", "placement:elbow", "damping", "gravity"]
    values = dict(zip(names, ARM.parameters(names).values(), strict=True))
    values["inertia:hand"] = np.array(load_of(0.7, [0.01, 0.02, 0.1], [2e-3, 3e-3, 1e-3]).parameters())

    def f(q: Any, v: Any, tau: Any, x: Any) -> Any:
        parts = np.split(x, np.cumsum([10, 6, 7]))
        a = ARM.with_parameters(dict(zip(names, parts, strict=True))).forward_dynamics(q, v, tau, passive=True)
        return lw.expr.array(lw.expr.jacobian(list(a), list(x)))

    q, v, tau = np.random.default_rng(1).normal(size=(3, 7))
    x = np.concatenate([*values.values()])
    derivative = lw.compile(f, q=7, v=7, tau=7, x=x.size)(q, v, tau, x)
    kernel = ARM.compile(("forward_dynamics", {"passive": True}), parameters=names)

    def at(y: np.ndarray) -> np.ndarray:
        return kernel(q, v, tau, *np.split(y, np.cumsum([10, 6, 7]), axis=-1))

    h = 1e-5 * np.eye(x.size)
    differences = (8.0 * (at(x + h) - at(x - h)) - (at(x + 2.0 * h) - at(x - 2.0 * h))) / 12e-5
    assert_close(derivative, differences.T, 1e-7)


@pytest.mark.slow(every=3)
def test_kernels_can_be_differentiated_by_robot_parameters() -> None:
    """The regressor is the derivative of torques by inertias, as matrix and gradient; rest positions have tangents."""
    kernel = ARM.compile("inverse_dynamics", parameters=["inertia", "gravity"])
    q, v, a = arm_states()
    values = ARM.parameters(["inertia", "gravity"])
    Y = ARM.inverse_dynamics_regressor(q, v, a)
    assert_close(kernel.jacobian("inertia")(q, v, a, **values).reshape(Y.shape), Y, 1e-12)
    w = np.random.default_rng(5).normal(size=(3, 7))
    back = kernel.vjp("inertia")(q, v, a, **values, w_inverse_dynamics=w)
    assert_close(back.reshape(3, -1), np.einsum("sip,si->sp", Y, w), 1e-12)
    tree = TREES["mixed_0"]
    robot, (q, v, _) = robot_of(tree), state(tree, size=1)
    springs = robot.compile("passive_force", parameters=["rest"])
    rest_position, step = robot.parameters("rest")["rest"], 1e-6 * np.eye(robot.nv)
    derivative = springs.jacobian("rest")(q[0], v[0], rest_position)
    ends = [springs(q[0], v[0], robot.integrate(rest_position, sign * step)) for sign in (1.0, -1.0)]
    assert_close(derivative, (ends[0] - ends[1]).T / 2e-6, 1e-7)


def test_wrenches_on_frames_moved_by_parameters_equal_those_of_the_edited_robot() -> None:
    request = ("inverse_dynamics", {"wrenches": {"tool": "tool", "hand": "world"}})
    kernel = ARM.compile(request, parameters=["frame:hand", "frame:tool"])
    edited = ARM.with_parameters({"frame:hand": [*PHI, *D], "frame:tool": [*D, *PHI]})
    q, v, a = arm_states()
    w = np.random.default_rng(6).normal(size=(2, 3, 6))
    wrenches = {port.name: x for port, x in zip(kernel.inputs[3:5], w, strict=True)}
    torque = kernel(q, v, a, **wrenches, frame_hand=[*PHI, *D], frame_tool=[*D, *PHI])
    assert_close(torque, edited.compile(request)(q, v, a, **wrenches), 1e-12)


def test_massless_link_with_an_inertia_parameter_has_forward_dynamics() -> None:
    """A singular mass matrix of constants is refused, and not that of inputs."""
    pendulum = lw.load("double_pendulum")
    idle = pendulum.with_parameters({"inertia:lower_rod": np.zeros(10)})
    q, v, tau = np.random.default_rng(7).normal(size=(3, 4, 2))
    with pytest.raises(SingularInertiaError, match="joint 'elbow' moves bodies without inertia"):
        idle.forward_dynamics(q, v, tau)
    kernel = idle.compile("forward_dynamics", parameters="inertia:lower_rod")
    inertia = pendulum.parameters("inertia:lower_rod")
    assert_close(kernel(q, v, tau, **inertia), pendulum.forward_dynamics(q, v, tau), 1e-12)
    assert not np.isfinite(kernel(q, v, tau, np.zeros(10))).any(axis=-1).all()
    with pytest.raises(SingularInertiaError, match="joint 'elbow' moves bodies without inertia"):
        idle.compile("forward_dynamics", parameters="gravity")(q, v, tau, [0.0, 0.0, -9.81])


@pytest.mark.slow(every=3)
def test_robot_parameters_broadcast_with_states() -> None:
    names = ["inertia:hand", "gravity"]
    kernel = ARM.compile("inverse_dynamics", parameters=names)
    assert [str(port) for port in kernel.inputs] == ["q(7)", "v(7)", "a(7)", "inertia_hand(10)", "gravity(3)"]
    q, v, a = arm_states(5)
    rng = np.random.default_rng(3)
    loads = np.array([random_inertia(rng, 0.2).parameters() for _ in range(4)])
    g = rng.normal(size=(4, 3))
    torque = kernel(q, v, a, loads[:, None], g[:, None])
    assert torque.shape == (4, 5, 7)
    for k in range(4):
        robot = ARM.with_parameters({"inertia:hand": loads[k], "gravity": g[k]})
        assert_close(torque[k], robot.inverse_dynamics(q, v, a), 1e-12)
        assert np.array_equal(kernel(q, v, a, loads[k], g[k]), torque[k])
    assert np.array_equal(kernel(q, v, a, inertia_hand=loads[0], gravity=g[0]), torque[0])


def test_kernels_with_robot_parameters_run_on_several_threads() -> None:
    kernel = ARM.compile("forward_dynamics", parameters=["inertia:hand"])
    q, v, tau = arm_states(200)
    inertias = np.linspace(1.0, 2.0, 200)[:, None] * load_of(0.7, [0.0, 0.0, 0.1], [2e-3, 2e-3, 1e-3]).parameters()
    expected, results = kernel(q, v, tau, inertias), {}

    def run(k: int) -> None:
        results[k] = kernel(q[k::8], v[k::8], tau[k::8], inertias[k::8])

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(8):
        assert np.array_equal(results[k], expected[k::8])


def test_kernels_are_shared_for_equal_parameter_names_and_robots() -> None:
    """Other parameters or another robot are another program."""

    def content(robot: lw.Robot, *names: str) -> Any:
        selected = read_parameters(robot.tree, "compile", names)
        return _content(
            robot_owner(robot.tree), with_parameters(requests_of(robot.tree, [ROBOT["bias_force"]]), selected)
        )

    assert ARM.compile("bias_force", parameters="gravity") is ARM.compile("bias_force", parameters=["gravity"])
    assert ARM.compile("bias_force", parameters="gravity") is not ARM.compile("bias_force")
    heavier = ARM.with_inertia("hand", mass=1.0)
    contents = [content(ARM), content(ARM, "gravity"), content(ARM, "inertia:hand"), content(ARM, "inertia:tool")]
    contents += [content(heavier, "inertia:hand"), content(ARM, "damping"), content(ARM, "damping", "gravity")]
    assert len(set(contents)) == len(contents)


def test_results_with_friction_parameters_equal_those_of_the_edited_robot() -> None:
    """The static bound follows the kinetic one where none is stated."""
    robot = lw.load("double_pendulum").with_joint_dynamics(friction=0.5)
    request = ("forward_dynamics", {"passive": True, "friction": "coulomb"})
    q, v, tau = np.random.default_rng(4).normal(size=(3, 20, 2))
    v[::2] = 0.0
    for names in (["friction"], ["friction", "static_friction"]):
        values = dict(zip(names, ([0.8, 0.3], [1.1, 0.9]), strict=False))
        edited = robot.with_joint_dynamics(**values)
        acceleration = robot.compile(request, parameters=names)(q, v, tau, **values)
        assert_close(
            acceleration, edited.forward_dynamics(q, v, tau, passive=True, friction="coulomb"), 1e-12, str(names)
        )


def test_gravity_as_an_option_and_as_a_parameter_is_the_same_kernel_input() -> None:
    kernel = ARM.compile(["mass_matrix", ("gravity_force", {"gravity": True})], parameters=["gravity"])
    assert [port.name for port in kernel.inputs] == ["q", "gravity"]
    q, *_ = arm_states()
    assert_close(kernel(q, [0.0, 1.0, 2.0])[1], ARM.gravity_force(q, gravity=[0.0, 1.0, 2.0]), 1e-14)


def test_inertia_parameters_of_a_body_leave_its_fixed_links_unchanged() -> None:
    """The body's own link takes the difference to the other links on it; massless links included."""
    for name in ("mixed_0", "rerooted"):
        tree = TREES[name]
        tools = [f for f in tree.frames if f.name not in {b.name for b in tree.bodies}]
        bare = replace(tree, frames=tuple(tools), bodies=with_summed_inertias(tree.bodies, tools))
        for robot in (lw.Robot(tree), lw.Robot(bare)):
            inertias = robot.parameters("inertia")["inertia"]
            changed = inertias + np.array(random_inertia(np.random.default_rng(0), 5.0).parameters())
            edited = robot.with_parameters({"inertia": changed})
            assert_close(edited.inertial_parameters(), changed.ravel(), 1e-14)
            for tool in tools:
                assert edited.tree.frame(tool.name) == tool


def test_kernel_inputs_of_robot_parameters_have_identifiers_as_names() -> None:
    robot = ARM.with_point("left tip", "tool").with_point("left-tip", "tool", [0.1, 0.0, 0.0])
    selected = read_parameters(robot.tree, "compile", ["point:left*", "inertia", "placement:elb?w"])
    assert [*inputs_of(selected).values()] == ["point_left_tip", "point_left_tip_1", "inertia", "placement_elbow"]
    several = [Parameter("point", name) for name in ("left tip", "left-tip", "left.tip", "left:tip")]
    assert [*inputs_of(several).values()] == ["point_left_tip", *(f"point_left_tip_{k}" for k in (1, 2, 3))]
    assert [*robot.parameters("rest:*")] == [f"rest_{joint.name}" for joint in robot.joints]
    assert robot.parameters("inertia_hand").keys() == robot.parameters("inertia:hand").keys()
    assert robot.with_parameters(robot.parameters(["inertia:*", "damping", "gravity", "placement"])) == robot
    for word, kind in KINDS.items():
        assert kind.doc and word.isidentifier()


BAD = {
    "inertia:forarm_distal": "no link named 'forarm_distal'; did you mean 'forearm_distal'",
    "inerta:hand": "no parameter named 'inerta:hand'; did you mean 'inertia:hand'",
    "mass:hand": "no parameter named 'mass:hand'; inertia:hand has the mass",
    "com": "no parameter named 'com'; inertia:<link> has the mass",
    "damping:hand": "no joint named 'hand'; it is a link, carried by joint 'hand_mount'",
    "inertia:elbow": "no link named 'elbow'; it is a joint, which carries link 'forearm_proximal'",
    "point:tool": "no point named 'tool'; it is fixed to frame 'tool'",
    "direction:tool.z": "no direction named 'tool.z'; it is fixed to frame 'tool'",
    "damping:x*": "no joint named 'x*'",
}


@pytest.mark.light
@pytest.mark.parametrize("name", BAD)
def test_unknown_robot_parameters_are_refused_with_a_suggestion(name: str) -> None:
    for use in (lambda: ARM.compile("inverse_dynamics", parameters=[name]), lambda: ARM.parameters(name)):
        with pytest.raises(UnknownNameError, match=re.escape(BAD[name])):
            use()


def test_repeated_and_unsuitable_robot_parameters_are_refused() -> None:
    def refused(names: Any, *words: str, kind: type[Exception] = ValueError, robot: lw.Robot = ARM) -> None:
        with pytest.raises(kind, match="parameters: ") as error:
            robot.compile("inverse_dynamics", parameters=names)
        for word in words:
            assert word in str(error.value), error.value

    refused(["inertia:hand", "inertia:hand"], "'inertia:hand' is listed twice")
    refused(["inertia", "inertia:hand"], "'inertia:hand' is already part of 'inertia'")
    refused(["damping:*", "damping"], "'damping' is already part of 'damping:*'")
    refused(["frame:hand", "placement:hand_mount"], "already part of 'frame:hand'")
    refused("point", "'point' does not name a point", "point:")
    refused("gravity:earth", "write 'gravity'")
    refused(["damping"], "inverse_dynamics does not depend on damping", '"passive": True')
    refused(["frame:tool"], "inverse_dynamics does not depend on frame:tool; leave it out, or use robot.with_param")
    refused([3], "expected strings", kind=TypeError)
    refused(3, "expected strings", kind=TypeError)
    bare = lw.load("arm7", inertia="ignore")
    with pytest.raises(ValueError, match="without inertias"):
        bare.compile(("pose", "tool"), parameters=["inertia:hand"])
    kernel = ARM.compile("mass_matrix", parameters="inertia:hand")
    with pytest.raises(ValueError, match=r"inertia_hand: expected an array of shape"):
        kernel(np.zeros(7), np.zeros(9))


def test_unphysical_values_of_robot_parameters_are_refused() -> None:
    def refused(values: Any, *words: str, kind: type[Exception] = ValueError) -> None:
        with pytest.raises(kind, match="with_parameters: ") as error:
            ARM.with_parameters(values)
        for word in words:
            assert word in str(error.value), error.value

    thin = [2.0, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.3]
    refused(
        {"inertia:hand": thin},
        "inertia:hand: unphysical inertial parameters",
        "principal moment",
        "from_log_cholesky",
        "m c_z, Jxx, Jxy",
    )
    whole = ARM.parameters("inertia")["inertia"]
    whole[3, 0] = -1.0
    refused({"inertia": whole}, "row 3, body 'forearm_proximal'", "the mass is -1 kg")
    loaded = ARM.with_payload("payload", "hand", 5.0)
    with pytest.raises(ValueError, match="link 'flange' is unphysical: the mass is -"):
        loaded.with_parameters({"inertia": np.linspace(0.5, 0.5001, 10) * loaded.parameters("inertia")["inertia"]})
    refused({"inertia:hand": np.zeros(9)}, "shape (10,)", "ten inertial parameters")
    refused({"gravity": [0.0, np.nan, 0.0]}, "gravity: expected numbers of shape (3,)")
    refused({"damping": -np.ones(7)}, "damping", "non-negative")
    refused({"point:tip": [0.0, 0.0, 0.0]}, "no point", kind=UnknownNameError)
    refused([1.0], "expected a dict", kind=TypeError)


def test_robot_with_symbolic_parameters_is_usable_only_in_a_trace() -> None:

    def torque(q: Any, mass: Any) -> Any:
        load = load_of(1.0, [0.0, 0.0, 0.1], [1e-3, 1e-3, 1e-3]).parameters()
        robot = ARM.with_parameters({"inertia:tool": [mass * x for x in load]})
        with pytest.raises(TypeError, match="has symbols among its parameters"):
            robot.compile("mass_matrix")
        for edit in (lambda: robot.with_locked_joints(["elbow"]), lambda: robot.with_frame("f", "hand")):
            with pytest.raises(TypeError, match="has symbols for inertia:tool: edit the robot first"):
                edit()
        again = robot.with_parameters({"gravity": [0.0, 0.0, -1.62]})
        return again.gravity_force(q), again.center_of_mass(np.zeros(7)), robot.inverse_dynamics(q, q, q)

    kernel = lw.compile(torque, q=7, mass=())
    q, *_ = arm_states()
    moon = ARM.with_payload("payload", "tool", 2.0, [0.0, 0.0, 0.1], [2e-3, 2e-3, 2e-3])
    result = kernel(q, 2.0)
    assert_close(result[2], moon.inverse_dynamics(q, q, q), 1e-12)
    moon = moon.with_gravity([0.0, 0.0, -1.62])
    assert_close(result[0], moon.gravity_force(q), 1e-12)
    assert_close(result[1], np.broadcast_to(moon.center_of_mass(np.zeros(7)), (3, 3)), 1e-12)


def test_no_algorithm_of_mechanics_compares_scalars_with_zero() -> None:
    """Symbols cannot be compared: `is_zero` reads whether a value is the constant 0."""
    files = (Path(lw.__file__).parent / "algorithms").rglob("*.py")
    assert [
        f"{file.name}: {line}" for file in files for line in re.findall(r".*[!=]= 0\.0.*", file.read_text("utf-8"))
    ] == []
