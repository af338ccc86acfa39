"""Second derivatives of distances by the configuration, against differences of the first."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.joints import Prismatic, Revolute, Spherical, Universal
from linkwork.shapes import Box, Capsule, Sphere


@pytest.fixture(scope="module")
def robot() -> lw.Robot:
    """A branch of joints of several axes, some of which turn with the joint, and one that follows another."""
    x, y, z = np.eye(3).tolist()
    return lw.Robot.build(
        "branched",
        lw.Link("base", Box((0.3, 0.3, 0.1)), mass=1.0),
        lw.Link("upper", Capsule(0.05, 0.3).at((0, 0, 0.2)), mass=1.0),
        lw.Link("lower", Capsule(0.04, 0.3).at((0, 0, 0.2)), mass=1.0),
        lw.Link("hand", Sphere(0.06).at((0.1, 0, 0)), mass=1.0),
        lw.Link("mast", Box((0.1, 0.05, 0.5)).at((0, 0, 0.3)), mass=1.0),
        lw.Link("arm", Capsule(0.05, 0.2).at((0.2, 0, 0.1)), mass=1.0),
        lw.Joint.of(Universal(x, y), name="hip", parent="base", child="upper", placement=(0.2, 0, 0.1)),
        lw.Joint.of(Revolute(y), name="knee", parent="upper", child="lower", placement=(0, 0, 0.4)),
        lw.Joint.of(Revolute(x), name="tip", parent="lower", child="hand", placement=(0, 0, 0.4), mimic=("knee", 0.5)),
        lw.Joint.of(Prismatic(z), name="lift", parent="base", child="mast", placement=(-0.2, 0, 0.1), lower=0, upper=1),
        lw.Joint.of(Spherical(), name="ball", parent="mast", child="arm", placement=(0, 0.1, 0.4)),
    )


@pytest.mark.slow(every=5)
def test_distance_hessians_equal_finite_differences_of_gradients(robot: lw.Robot) -> None:
    """Pairs of links on two branches, and obstacles, unrolled and in loops; a second derivative by φ of q ⊕ φ."""
    scene = lw.Scene().with_box("box", (0.3, 0.2, 0.4), (0.5, 0.3, 0.4)).with_half_space("floor", (0, 0, -0.2))
    pairs = [("base", "lower"), ("hand", "arm"), ("lower", "arm"), ("upper", "mast"), ("hand", "box"), ("arm", "box"),
            ("arm", "floor"), ("base", "hand")]  # fmt: skip
    q = robot.random_configuration(seed=2, size=40)
    hessian = robot.distance_hessian(q, scene, pairs=pairs)
    first = robot.distance_derivatives(q, scene, pairs=pairs)
    assert np.array_equal(hessian.distance, first.distance) and hessian.pairs == first.pairs
    assert np.abs(hessian.gradient - first.gradient).max() < 1e-12
    h, n = 1e-5, robot.nv
    steps = h * np.eye(n)[:, None]
    ahead, behind = (
        robot.distance_derivatives(robot.integrate(q[None], s * steps), scene, pairs=pairs).gradient
        for s in (1.0, -1.0)
    )
    H = np.moveaxis((ahead - behind) / (2.0 * h), 0, -1)
    H = 0.5 * (H + np.swapaxes(H, -1, -2))
    off = np.abs(hessian.hessian - H).max((2, 3)) / (1.0 + np.abs(H).max((2, 3)))
    exists = hessian.exists > 0.5
    assert exists.mean() > 0.98 and np.isfinite(hessian.hessian).all()
    assert np.median(off[exists]) < 1e-9 and np.quantile(off[exists], 0.98) < 1e-6 and off[exists].max() < 1e-3
    assert np.array_equal(hessian.hessian, np.swapaxes(hessian.hessian, -1, -2))


def test_distance_hessians_that_do_not_exist_are_reported_with_finite_values() -> None:
    """A box above a sliding box, and concentric spheres: no Hessian, and finite values."""
    for shape in (Box((0.2, 0.2, 0.2)), Sphere(0.1)):
        robot = lw.Robot.build(
            "slider",
            lw.Link("base", mass=1.0),
            lw.Link("body", shape, mass=1.0),
            lw.Joint.of(Prismatic((0, 0, 1)), name="lift", parent="base", child="body"),
        )
        scene = lw.Scene().with_shape("other", shape)
        hessian = robot.distance_hessian(np.array([[0.0], [0.05]]), scene)
        expected = [0.0, 0.0] if isinstance(shape, Box) else [0.0, 1.0]
        assert hessian.exists[:, 0].tolist() == expected and not hessian.hessian.any()


def test_distances_computed_by_iteration_can_be_differentiated_in_reverse_mode() -> None:
    """Derivatives of the result: no loop of unknown length is differentiated."""
    robot = lw.load("double_pendulum").with_collisions("lower_rod", Sphere(0.05).at((0, 0, -0.3)))
    scene = lw.Scene().with_ellipsoid("egg", (0.3, 0.2, 0.1), (0.5, 0.3, -0.5))
    pairs = [("lower_rod", "egg")]
    kernel = lw.compile(lambda q: robot.distances(q, scene, pairs=pairs).distance[0], q=robot.configuration_space)
    q = robot.random_configuration(seed=1, size=20)
    hessian = robot.distance_hessian(q, scene, pairs=pairs)
    assert np.abs(kernel.jacobian(mode="reverse")(q) - hessian.gradient[:, 0]).max() < 1e-12
    assert np.abs(kernel.hessian()(q) - hessian.hessian[:, 0]).max() < 1e-9
