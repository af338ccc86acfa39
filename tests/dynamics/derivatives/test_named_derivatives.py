"""Named derivatives against dual numbers, 120-digit differences, and the matrices that some of them equal."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.precise import Precise, differences
from linkwork import Robot, joints
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import derivatives, tangent_rates
from linkwork.expr.autodiff.graph_derivative import forward
from linkwork.expr.scalar.interpreter import reachable
from linkwork.expr.scalar.symbol import Graph
from linkwork.model.random_tree import random_tree
from linkwork.robot.robot_table import ROBOT
from oracles.comparison import assert_close
from oracles.directional import along
from oracles.rates import scalars
from oracles.scalars import Direct, listed
from oracles.trees import TREES, every_moving_type, robot_of, state

FUNCTIONS = (
    "pose",
    "twist",
    "acceleration",
    "center_of_mass_velocity",
    "center_of_mass_acceleration",
    "kinetic_energy",
    "potential_energy",
    "centroidal_momentum",
    "centroidal_momentum_rate",
)


def options_of(tree, name, turn=0):
    """Return options of a function: every other turn with frames other than the world, and sometimes another point."""
    B, A, E, P = (tree.frames[k % len(tree.frames)].name for k in (-3, 0, 2, -1))
    frames = {"frame": B, "relative_to": A, "expressed_in": E, "point": P, "subtree": B}
    named = [option for option in ROBOT[name].options if option.names == "frame" and not option.choices]
    chosen = {option.name: frames[option.name] for option in named if option.required or turn % 2}
    if turn % 4 == 2 and any(option.name == "point" for option in named):
        chosen["point"] = tree.frames_on(tree.frame(B).body)[0].name
    return chosen


def inputs_of(name, state):
    return state[: len(ROBOT[name].inputs)]


@every_moving_type
def test_named_derivatives_equal_dual_number_derivatives_along_random_directions(tree):
    """One direction of all inputs; functions of frames take turns."""
    turn = [*TREES.values()].index(tree)
    at, moving = state(tree, 1, 3), np.random.default_rng(2).normal(size=(3, 3, tree.nv))
    for k, name in enumerate(FUNCTIONS):
        options = options_of(tree, name, turn + k)
        arrays, directions = inputs_of(name, at), inputs_of(name, moving)
        derivatives = listed(getattr(Direct(tree), f"{name}_derivatives")(*arrays, **options))
        total = sum(np.einsum("s...k,sk->s...", J, d) for J, d in zip(derivatives, directions, strict=True))
        assert_close(total, along(tree, name, arrays, directions, **options), 1e-12, name, core=total.ndim - 1)


@every_moving_type
def test_derivatives_by_velocity_and_acceleration_are_jacobians_and_momentum_matrices(tree):
    f, (q, v, a) = Direct(tree), state(tree)
    frame = tree.frames[-3].name
    view = {"relative_to": tree.frames[0].name, "expressed_in": tree.frames[2].name, "point": tree.frames[-1].name}
    J, A = f.jacobian(q, frame, **view), f.centroidal_momentum_matrix(q)
    h_dot = A @ a[..., None] + f.centroidal_momentum_matrix_rate(q, v) @ v[..., None]
    for got, expected in (
        (f.twist_derivatives(q, v, frame, **view)[1], J),
        (f.acceleration_derivatives(q, v, a, frame, **view)[2], J),
        (f.center_of_mass_velocity_derivatives(q, v)[1], f.center_of_mass_jacobian(q)),
        (f.center_of_mass_acceleration_derivatives(q, v, a)[2], f.center_of_mass_jacobian(q)),
        (f.centroidal_momentum_derivatives(q, v)[1], A),
        (f.centroidal_momentum_rate_derivatives(q, v, a)[2], A),
        (f.centroidal_momentum_rate(q, v, a)[..., None], h_dot),
        (f.kinetic_energy_derivatives(q, v, passive=True)[1][..., None], f.mass_matrix(q, passive=True) @ v[..., None]),
        (f.potential_energy_derivatives(q), f.gravity_force(q)),
    ):  # fmt: skip
        assert_close(got, expected, 1e-12, core=2)


@pytest.mark.slow(every=5)
def test_named_derivatives_at_zero_and_near_half_turn_rotations_equal_finite_differences(drawn):
    """Every joint type, against differences of 120 digits along the joint's manifold: two functions in turns."""
    for seed, kind in drawn(enumerate(joints.ALL)):
        joint = kind.example(np.random.default_rng(seed))
        if not joint.nv:
            continue
        tree = random_tree(np.random.default_rng(seed), 2, types=[kind], shape="chain")
        f, zero = Direct(tree, "floats"), robot_of(tree).neutral()
        v, a = np.random.default_rng(seed).normal(size=(2, tree.nv))
        for turn, size in enumerate((0.0, 1e-12, 1e-5, np.pi - 1e-9)):
            q = Direct(tree).integrate(zero, np.full(tree.nv, size / np.sqrt(3.0)))
            if _singular(tree, q):
                continue
            name = ("acceleration", "centroidal_momentum_rate")[(seed + turn) % 2]
            options = options_of(tree, name)
            J = getattr(f, f"{name}_derivatives")(q, v, a, **options)[0]
            assert_close(J, _differences(tree, name, q, (v, a), options), 1e-12, f"{kind} {name} {size}")


def _singular(tree, q):
    parts = zip(tree.bodies, tree.split_q(q.tolist()), strict=True)
    return any(float(body.joint.regularity(x)) < 1e-3 for body, x in parts)


def _differences(tree, name, q, arguments, options):
    """∂f/∂q in the tangent space, (*shape, nv)."""
    fixed = [x.tolist() for x in arguments]
    rates = ROBOT["velocity_to_configuration_derivative"].compute

    def function(x):
        return [
            y if isinstance(y, Precise) else Precise(y)
            for y in scalars(ROBOT[name].compute(tree, x, *fixed, **options))
        ]

    columns = [differences(function, q.tolist(), rates(tree, q.tolist(), unit)) for unit in np.eye(tree.nv).tolist()]
    return np.array([[float(x) for x in column] for column in columns]).T


@pytest.mark.slow(every=9)
def test_dual_number_derivatives_need_no_more_operations_than_differentiated_graphs():
    """Derivatives of three functions by all inputs, with a margin of 2 %."""
    for name, tree in (
        ("inverse_dynamics", "mixed_0"),
        ("forward_dynamics", "mixed_chain"),
        ("twist", "floating_chain"),
    ):
        tree, row = TREES[tree], ROBOT[name]
        sizes = [tree.nq, *[tree.nv] * (len(row.inputs) - 1)]
        counts = []
        for duals in (True, False):
            graph = Graph()
            inputs = [graph.inputs(f"x{k}", (size,)) for k, size in enumerate(sizes)]
            compute = lambda *x, row=row, tree=tree: scalars(row.compute(tree, *x, **options_of(tree, row.name)))  # noqa: E731
            if duals:
                derivatives_by_input = derivatives(tree, compute, *inputs)
                entries = [x for block in derivatives_by_input for line in block for x in line]
            else:
                rates = tangent_rates(tree, inputs[0])
                units = [{tree.nv + k: 1.0} for k in range(sum(sizes[1:]))]
                flat = [x for values in inputs for x in values]
                entries = [x for line in forward(compute(*inputs), flat, [*rates, *units]) for x in line.values()]
            flat = [x for values in inputs for x in values]
            counts.append(sum(1 for node in reachable([x for x in entries if hasattr(x, "op")], flat) if node.args))
        assert counts[0] <= 1.02 * counts[1], (name, counts)


def test_named_derivatives_in_float32_are_accurate_to_a_thousandth():
    """float32 within 1e-3 of float64, relative to the size of the derivative."""
    tree = TREES["floating_random"]
    f, (q, v, a) = robot_of(tree), state(tree)
    for name in ("acceleration", "kinetic_energy"):
        arrays = inputs_of(name, (q, v, a))
        options = options_of(tree, name)
        exact = getattr(f, f"{name}_derivatives")(*arrays, **options)
        rough = getattr(f, f"{name}_derivatives")(*(x.astype(np.float32) for x in arrays), **options)
        for single, double in zip(rough, exact, strict=True):
            assert single.dtype == np.float32
            assert np.linalg.norm(single - double) <= 1e-3 * np.linalg.norm(double)


def test_unknown_frames_and_wrong_shapes_of_derivative_methods_are_refused():
    f = Robot(TREES["mixed_0"])
    with pytest.raises(KeyError, match="frame"):
        f.twist_derivatives(f.neutral(), np.zeros(f.nv), "nowhere")
    with pytest.raises(ValueError, match="v: expected"):
        f.twist_derivatives(f.neutral(), np.zeros(f.nv + 1), TREES["mixed_0"].frames[-1].name)
