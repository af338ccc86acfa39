"""Arguments, names and matrix products of trajectory optimization, on both sides of what is accepted."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork.errors import UnknownNameError
from linkwork.model.kernel_parameters import read_parameters
from linkwork.optimal import (
    arguments,
    contact_schedule,
    feature_contract,
    infeasibility_proof,
    initial_guesses,
    ipopt,
    optimum_derivative,
    robot_parameters,
)
from linkwork.optimal.algorithms import jacobian_check
from linkwork.optimal.algorithms.shooting import cost_terms, step_dynamics
from linkwork.optimal.features import contact_features, dynamics_features
from linkwork.optimal.features.constraint_features import HolonomicFeature
from linkwork.optimal.features.derived_features import difference_of
from linkwork.optimal.features.feature import Feature
from linkwork.optimal.features.function_feature import FunctionFeature, WindowQuery
from linkwork.optimal.initial_guesses import stop_inferior
from linkwork.optimal.kernels import SEARCH_SCALARS
from linkwork.optimal.problem_arrays import PreparedProblem
from linkwork.optimal.result import OptimalResult

TWO = lw.load("double_pendulum")
FOLLOWER = TWO.with_couplings({"elbow": ("shoulder", -4.0, 0.1)})


def refused(words, function, *positional, error=ValueError, **options):
    with pytest.raises(error, match=words):
        function(*positional, **options)


def test_invalid_tolerances_velocities_and_scales_of_problems_are_refused():
    read = arguments.read_tolerances
    names = ("hand", "floor")
    assert read(names, None, 0.5, (0.25, 0.125)).tolist() == [0.5, 0.25, 0.125]
    assert read(names, 0.75, 0.5, (0.25, 0.125)).tolist() == [0.5, 0.75, 0.75]
    assert read(names, {"floor": 0.75}, 0.5, (0.25, 0.125)).tolist() == [0.5, 0.25, 0.75]
    refused("no constraint named 'flor'", read, names, {"flor": 1.0}, 0.5, (0.25, 0.125), error=UnknownNameError)
    for value, step, argument in (
        (0.0, 0.5, "tolerance"),
        ("x", 0.5, "tolerance"),
        (0.5, 0.0, "step_tolerance"),
        (0.5, np.inf, "step_"),
    ):
        refused(f"solve: {argument}.*: expected positive numbers", read, names, value, step, (0.25, 0.125))
    velocity = arguments.read_velocity
    assert velocity(TWO, [[0.3, -0.4]]).tolist() == [[0.3, -0.4]] and velocity(TWO, {"elbow": 0.5}).tolist() == [
        0.0,
        0.5,
    ]
    for value in ([0.3], [0.3, np.nan], [0.3, np.inf], "x"):
        refused(r"solve: velocity: expected", velocity, TWO, value, error=(ValueError, TypeError))
    feature = SimpleNamespace(component_names=("a", "b"))
    assert arguments.read_scale("f", [0.0, 0.5], feature).tolist() == [0.0, 0.5]
    for scale in ([0.5, -5e-324], [0.5, np.inf]):
        refused("f: scale: expected finite numbers >= 0", arguments.read_scale, "f", scale, feature)
    finite = robot_parameters.read_finite
    assert finite("f", "x", [[0.5, 0.25]], (2,)).tolist() == [[0.5, 0.25]]
    for value in ([0.5], 0.5, [0.5, np.nan], [0.5, np.inf], "x"):
        refused(r"f: x: expected finite numbers \(..., 2\)", finite, "f", "x", value, (2,))
    robot_parameters.refuse_idle_motors("f: motors", TWO, [0, 1], ())
    words = "f: motors: expected joints with motors, but the problem constrains the force of 'elbow' to zero"
    refused(words, robot_parameters.refuse_idle_motors, "f: motors", TWO, [0, 1], {1})


def test_directions_that_are_no_unit_vectors_are_refused_as_parameters():
    robot = TWO.with_direction("ahead", "lower_rod", (0.0, 0.6, 0.8))
    (p,) = read_parameters(robot.tree, "f", "direction:ahead")

    def read(value):
        return robot_parameters._read_values("f", robot.tree, p, value)

    for length in (1.0, 1.0 + 5e-10, 1.0 - 5e-10):
        assert np.isclose(np.linalg.norm(read(length * np.array([0.48, 0.6, 0.64]))), 1.0)
    for length in (1.0 + 5e-9, 1.0 - 5e-9):
        refused(r"f: parameters: .*normalize it", read, length * np.array([0.48, 0.6, 0.64]))
    refused("f: parameters: .*, finite and of at most", read, [np.inf, 0.0, 0.0])
    (gravity,) = read_parameters(robot.tree, "f", "gravity")
    most = robot_parameters.LARGEST
    assert robot_parameters._read_values("f", robot.tree, gravity, [0.0, most, -most]).tolist() == [0.0, most, -most]
    words = "f: parameters: gravity: .*, finite and of at most"
    refused(words, robot_parameters._read_values, "f", robot.tree, gravity, [0.0, np.nextafter(most, np.inf), 0.0])
    refused("f: parameters: .*: expected numbers", read, [0.6, 0.8])


def prepared(targets=(), durations=(), parameters=(), started=True, call=()):
    problem = SimpleNamespace(durations=dict.fromkeys(durations), parameters=dict.fromkeys(parameters), robot=TWO)
    program = SimpleNamespace(robot_parameters=tuple(call), tree=TWO.tree)
    return SimpleNamespace(problem=problem, program=program, targets=dict.fromkeys(targets), started=started)


def test_names_of_inputs_of_derivatives_that_are_none_are_refused():
    named = optimum_derivative.named_parameter
    whole = prepared(("hand",), ("", "swing"), ("p",))
    for by in ("hand", "start", "start velocity", "duration", "duration of swing"):
        assert named(whole, by) is None
    assert str(named(whole, "placement:elbow")) == "placement:elbow"
    refused("'start' is the name of a feature and of another input: rename", named, prepared(("start",)), "start")
    assert named(prepared(("start",), started=False), "start") is None
    refused("'p' is an unknown of the problem, not an input", named, whole, "p")
    refused("by: expected one of 'hand', 'start', 'start velocity', 'duration'", named, whole, "hnd")
    refused("by: expected one of", named, whole, 3)
    refused("no joint named 'elbw'", named, whole, "placement:elbw", error=UnknownNameError)
    refused("which are 3: 'placement:shoulder', 'placement:elbow', 'placement:tip_mount'", named, whole, "placement:*")
    call = named(whole, "placement:elbow")
    again = named(prepared(call=[call]), "placement:elbow")
    assert again is call
    value = optimum_derivative.value_of_call
    program = SimpleNamespace(robot_parameters=(call,), tree=TWO.tree)
    (port,) = robot_parameters.inputs_of((call,)).values()
    assert value(program, {port: np.arange(3.0)}, call).tolist() == [0.0, 1.0, 2.0]
    (inertia,) = read_parameters(TWO.tree, "f", "inertia:lower_rod")
    nominal = value(program, {}, inertia)
    assert nominal.shape == (10,) and np.isclose(nominal[0], next(x.mass for x in TWO.links if x.name == "lower_rod"))


def test_targets_of_other_forms_than_the_added_ones_are_refused():
    feature = lw.optimal.TaskFeature(lw.ik.PositionTask("tip"))
    plain = SimpleNamespace(feature=feature, has_target_per_step=False, steps=(0, 2))
    each = SimpleNamespace(feature=feature, has_target_per_step=True, steps=(0, 2))
    arrays = SimpleNamespace(
        targets={"tip": ("target0", 0, (3,)), "per step": ("target1", 1, (3,))},
        problem=SimpleNamespace(terms=[plain, each], robot=TWO),
        program=SimpleNamespace(steps=4),
    )
    PerStep = lw.optimal.PerStep

    def flat(name, value):
        return PreparedProblem.flat(arrays, name, value)

    a, b = [0.5, 0.25, 0.125], [0.75, 0.5, 0.25]
    assert flat("tip", a).tolist() == a
    assert flat("per step", PerStep([a, b])).tolist() == [a, a, b, a]
    refused("targets: 'tip': expected an array: PerStep is for features", flat, "tip", PerStep([a, b]))
    refused("targets: 'per step': expected linkwork.optimal.PerStep, as", flat, "per step", a)
    for values in ([a], [a, b, a], a):
        refused(
            r"targets: 'per step': PerStep: expected 2 of shape \(3,\), got shape", flat, "per step", PerStep(values)
        )


def test_joints_of_force_features_are_independent_and_named_once():
    indices = dynamics_features.chosen_velocities
    assert indices(TWO.tree, None) == (0, 1) and indices(TWO.tree, ("elbow", "shoulder")) == (1, 0)
    refused("joint 'elbow' is coupled to joint 'shoulder': name that joint", indices, FOLLOWER.tree, ("elbow",))
    names = dynamics_features.named_joints
    assert names("f", None) is None and names("f", "elbow") == ("elbow",) and names("f", ["b", "a"]) == ("b", "a")
    refused("f: joints: expected each once, got", names, "f", ["a", "b", "a"])
    for value in ((), [3]):
        refused("f: joints: expected names of joints, got", names, "f", value, error=TypeError)


def test_differences_of_motions_are_the_motions_of_the_next_order():
    optimal = lw.optimal
    first = optimal.ConfigurationFeature()
    assert difference_of(first, 0) is first
    for order, kind in ((1, optimal.VelocityFeature), (2, optimal.AccelerationFeature), (3, optimal.JerkFeature)):
        assert type(difference_of(first, order)) is kind
    assert type(difference_of(optimal.VelocityFeature(), 1)) is optimal.AccelerationFeature
    assert difference_of(optimal.ConfigurationFeature("path"), 1).name == "path"
    beyond = difference_of(optimal.AccelerationFeature(), 2)
    assert type(beyond).__name__ == "DifferenceFeature" and beyond.order == 2


def test_features_that_break_the_contract_in_their_methods_are_refused():
    @dataclass(frozen=True)
    class Empty(Feature):
        name: str = "empty"

        @property
        def component_names(self):
            return ("x",)

    with pytest.raises(TypeError, match="Empty: a feature needs a method `values`, or `jacobian`"):
        Empty().values(None, [])
    value, binding = feature_contract._value, feature_contract._binding

    def trial(feature, bound=None):
        return SimpleNamespace(feature=feature, bound=bound)

    assert value(trial(Empty())) == ()
    for name in ("", 3, None):
        refused("name: expected a string, got", value, trial(Empty(name)))

    @dataclass(frozen=True, eq=False)
    class Unequal(Empty):
        __eq__, __hash__ = object.__eq__, object.__hash__

    refused("a copy is not equal or has another hash: use a frozen dataclass", value, trial(Unequal()))
    refused("bind: expected a Feature, got 3", binding, trial(None, 3))
    deep = Empty()
    for depth, accepted in (
        (0, True),
        (feature_contract.DEEPEST, True),
        (feature_contract.DEEPEST + 1, False),
        (-1, False),
    ):
        object.__setattr__(deep, "depth", depth)
        if accepted:
            assert binding(trial(None, deep)) == ()
        else:
            refused("depth: expected an integer from 0 to", binding, trial(None, deep))
    check = FunctionFeature._check
    check(SimpleNamespace(name="f", count=0), 3), check(SimpleNamespace(name="f", count=3), 3)
    refused(
        "feature 'f': expected 2 values, as at first, the function returned 3",
        check,
        SimpleNamespace(name="f", count=2),
        3,
    )


def test_quantities_that_a_window_has_not_are_refused():
    state = ([0.1, 0.2], [0.3])
    window = SimpleNamespace(_before=state, _by="forward", reads_step=False)
    read = cost_terms.ShootingWindow._of_the_step
    assert read(window, "torque", True) is state and window.reads_step
    refused("forward dynamics does not provide torque: features can use one step's", read, window, "torque", False)
    window._before = None
    refused("torque: not available in a window of a single state, without a time step", read, window, "torque", True)


def test_congruent_products_of_sparse_and_dense_rows_equal_the_matrix_product(monkeypatch):
    rng = np.random.default_rng(9)
    V = rng.normal(size=(6, 6))
    V = V + V.T
    F = rng.normal(size=(6, 5))
    F[[1, 4]] *= [0.0, 1.0, 0.0, 0.0, 0.0]
    F[3] = 0.0
    expected = F.T @ V @ F
    matrices = [[[float(x) for x in row] for row in M] for M in (V, F)]
    assert np.allclose(np.array(step_dynamics.congruent(*matrices), float), expected)
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(step_dynamics, "_LARGE", 0)
    result = np.array(step_dynamics.congruent(*matrices), float)
    assert np.allclose(result, expected) and (result == result.T).all()
    dense = rng.normal(size=(6, 5))
    matrices[1] = [[float(x) for x in row] for row in dense]
    assert np.allclose(np.array(step_dynamics.congruent(*matrices), float), dense.T @ V @ dense)


def test_functions_without_arguments_have_a_value_and_no_derivatives():
    assert step_dynamics.value_and_jacobian(lambda x, u: [2.0, 3.0], [], [], []) == ([2.0, 3.0], [])
    values, rows = step_dynamics.value_and_jacobian(lambda x, u: [x[0] * x[0] * u[0], u[0]], [3.0], [2.0], [{0: 0.5}])
    assert values == [18.0, 2.0] and rows == [{0: 6.0, 1: 9.0}, {1: 1.0}]


def test_invalid_normals_and_surfaces_of_contacts_are_refused():
    assert contact_schedule._unit("f", (0.3, 0.0, 0.4)) == (0.6, 0.0, 0.8)
    for value in ((0.0, 0.0, 0.0), (1.0, 0.0), (np.nan, 0.0, 1.0)):
        refused(r"f: normal: expected a nonzero vector \(3,\)", contact_schedule._unit, "f", value)
    assert contact_schedule._half("f", (0.5, 0.25)) == (0.25, 0.125)
    for value in ((0.5, 0.0), (0.5,), 0.5):
        refused(r"f: surface: expected its sides \(2,\)", contact_schedule._half, "f", value)
    problem = lw.TrajectoryProblem(TWO, num_steps=3, duration=1.0)
    words = "cone: expected 'smooth' with surface=, whose cone is a pyramid, got 'pyramid'"
    refused(words, problem.add_contact, "tip", surface=(0.5, 0.25), cone="pyramid")


def test_violations_at_their_tolerance_are_satisfied():
    def status(violation, success=True):
        point = SimpleNamespace(q=np.zeros((2, 2)), u=np.zeros((2, 0)), p=np.zeros(0))
        result = SimpleNamespace(
            violations={0: violation}, success=success, cost=1.0, iterations=3, merit=2.0, point=point
        )
        program = SimpleNamespace(hard=[0], everywhere=[], alone=[], steps=2)
        return ipopt._state(program, result, np.array([0.25]))["scalars"][SEARCH_SCALARS.index("status")]

    assert status(0.25) == ipopt.SOLVED and status(0.2500001) == ipopt.VIOLATED and status(0.25, False) == ipopt.STUCK
    settled = infeasibility_proof._settled
    assert settled([1.0, *[0.99] * 10])
    falling = [0.99**k for k in range(30)]
    assert not settled([1.0] * 10) and settled([1.0] * 11) and not settled(falling)
    assert settled([1.0, *[0.991] * 10]) and not settled([1.0, *[0.989] * 10])


def test_velocities_with_free_durations_are_refused_for_ipopt():
    problem = lw.TrajectoryProblem(TWO, num_steps=3, duration=(0.5, 1.0)).add(
        lw.optimal.VelocityFeature(), "least_squares"
    )
    words = 'solver="ipopt": velocity: not supported with free durations: leave it out'
    refused(words, problem.solve, start=[0.1, 0.2], velocity=[0.3, 0.4], solver="ipopt")


def test_tolerances_of_constraints_follow_from_the_sizes_of_their_values():
    def read(value=None, scales=(0.0, 0.5, 4.0), step=0.5):
        program = SimpleNamespace(hard=[0, 1, 2], hard_names=("a", "b", "c"), rows_of=[[0], [1], [2]])
        arrays = SimpleNamespace(program=program, _scales=np.array([[1.0] * 3, scales]))
        return PreparedProblem.read_tolerances(arrays, value, step, 0.25).tolist()

    assert read() == [0.5, 0.25, 0.125, 0.25]  # 1 stands for a size of 0
    assert read(0.75) == [0.5, 0.75, 0.75, 0.75] and read({"b": 0.0625}) == [0.5, 0.25, 0.0625, 0.25]
    assert read(1e-300)[1] > 1e-300  # raised to rounding


def test_velocities_of_points_are_in_the_axes_of_their_frame():
    words = "w.point_velocity: expressed_in: expected 'world', got 'tip'"
    refused(words, WindowQuery.point_velocity, SimpleNamespace(), "tip", expressed_in="tip")


def test_errors_of_jacobians_are_those_of_the_steps_with_columns():
    feature = SimpleNamespace(name="f", depth=1, component_names=("x", "y"))
    step = jacobian_check.DIFFERENCE_STEP

    def side(x, y):
        return SimpleNamespace(window=lambda: (x, y))

    feature.values = lambda window, target: [*window]
    sample = SimpleNamespace(
        neighbours=lambda depth: [
            (0, "q", 0, side(step, 2.0 * step), side(-step, -2.0 * step)),
            (1, "q", 0, side(step, 0.0), side(-step, 0.0)),
            (-1, "p", 0, side(0.0, step), side(0.0, -step)),
        ]
    )
    jacobian = SimpleNamespace(rows=[[[1.0], [2.5]], []], parameters=[[np.nan], [1.0]])
    errors = [*jacobian_check.jacobian_errors(feature, sample, [], jacobian)]
    assert [(round(x.error, 6), x.scale, x.expected, x.got) for x in errors[:1]] == [(0.5, 2.0, 2.0, 2.5)]
    assert len(errors) == 2 and errors[1].error == np.inf  # no rows depend on the earlier step; NaN is no Jacobian
    constant = SimpleNamespace(rows=[[], []], parameters=[])
    assert [*jacobian_check.jacobian_errors(feature, sample, [], constant)] == []


def test_features_of_constraints_are_of_configurations():
    skate = lw.constraints.KnifeEdge("tip")
    refused("HolonomicFeature: constraint: expected a holonomic constraint, got", HolonomicFeature, skate)
    assert HolonomicFeature(lw.constraints.Distance("tip", "base", 0.5)).depth == 0


def test_results_are_feasible_if_violations_are_at_most_the_tolerances():
    def feasible(violations):
        scalars = np.concatenate([np.zeros(len(SEARCH_SCALARS)), violations, np.full(len(violations), 9.0)])
        program = SimpleNamespace(hard=range(len(violations)))
        result = SimpleNamespace(_state={"scalars": scalars}, _prepared=SimpleNamespace(program=program))
        result._tolerances = np.array([1e-9, *[0.25] * len(violations)])
        return OptimalResult.feasible.fget(result)

    assert feasible([0.25, 0.0]) is True and feasible([]) is True
    assert feasible([0.25, 0.2500001]) is False and feasible([np.nan, 0.0]) is False


def test_worse_guesses_stop_after_the_first_solved_one():
    index = {name: SEARCH_SCALARS.index(name) for name in ("status", "iterations", "cost", "merit")}

    def statuses(iterations, *guesses):
        scalars = np.zeros((len(guesses), len(SEARCH_SCALARS)))
        for row, (status, count, merit) in zip(scalars, guesses, strict=True):
            row[[index[x] for x in ("status", "iterations", "cost", "merit")]] = status, count, merit, merit
        return stop_inferior(scalars, iterations)[:, index["status"]].tolist()

    running, solved, stopped = (getattr(initial_guesses, x) for x in ("RUNNING", "SOLVED", "STOPPED"))
    first = (solved, 4.0, 2.0)
    assert statuses(4, first, (running, 4.0, 1.9), (running, 4.0, 1.999), (running, 4.0, 3.0)) == [
        solved,
        running,  # it is better by more than a thousandth
        stopped,
        stopped,
    ]
    assert statuses(7, first, (running, 7.0, 1.0))[1] == running
    assert statuses(8, first, (running, 8.0, 1.0))[1] == stopped  # twice as many iterations
    assert statuses(4, (running, 4.0, 2.0), (running, 4.0, 3.0)) == [running, running]


def test_motors_have_ordered_limits_of_control():
    def read(value):
        return [x.tolist() for x in robot_parameters.motor_limits("f", TWO, (1,), value)]

    assert read(None) == read(True) == [[-50.0], [50.0]] and read(False) == [[-np.inf], [np.inf]]
    assert read(0.5) == read([0.5]) == [[-0.5], [0.5]] and read((-0.25, 0.5)) == [[-0.25], [0.5]]
    assert read((0.5, 0.5)) == [[0.5], [0.5]] and read((-np.inf, 0.5)) == [[-np.inf], [0.5]]
    for value in ((0.5, 0.25), -0.5, (np.inf, np.inf), (-np.inf, -np.inf), np.nan, "x", [0.5, 0.25]):
        refused("f: control_limits: expected a number, one for each of 1 motors, or", read, value)


def test_normals_of_contacts_have_length_one():
    check = contact_features._checked_normal
    for length in (1.0, 1.0 + 5e-7, 1.0 - 5e-7):
        check("f", tuple(length * np.array([0.48, 0.6, 0.64])))
    for length in (1.0 + 5e-6, 1.0 - 5e-6):
        refused("f: normal: expected a vector of length 1", check, "f", tuple(length * np.array([0.48, 0.6, 0.64])))
    bare = SimpleNamespace(mass=0.0, gravity=(0.0, 0.0, -9.81))
    assert contact_features.robot_weight(bare) == 1.0
    assert contact_features.robot_weight(SimpleNamespace(mass=0.5, gravity=(0.3, 0.4, 1.2))) == 0.65
