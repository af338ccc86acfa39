"""Products of spatial algebra against plain 3×3, 4×4 and 6×6 matrices, on every kind of scalar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from helpers.rigid import (
    cross_motion,
    force_matrix,
    inertia_matrix,
    motion_matrix,
    point_cloud,
    random_pose,
    random_rotation,
    skew,
)
from helpers.scalars import assert_near, every_scalar
from helpers.spatial import Reader, flat_articulated, flat_inertia, flat_pose, scalars_of
from linkwork.spatial import ArticulatedInertia, Force, Motion, Pose, Subspace, Vec3, cross, cross_star

SAMPLES = 4


class Draw:
    """Random things: each is kept flat, as the code under test gets it, and given back as a plain matrix."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.flat: list[np.ndarray] = []

    def _keep(self, flat: Any, value: np.ndarray) -> np.ndarray:
        self.flat.append(np.ravel(flat))
        return value

    def scalar(self) -> float:
        return float(self._keep(a := self.rng.normal(), np.array(a)))

    def vector(self, n: int) -> np.ndarray:
        return self._keep(a := self.rng.normal(size=n), a)

    def matrix(self) -> np.ndarray:
        return self._keep(a := self.rng.normal(size=(3, 3)), a)

    def symmetric(self) -> np.ndarray:
        a = self.rng.normal(size=(3, 3))
        return self._keep((a + a.T)[np.triu_indices(3)], a + a.T)

    def rotation(self) -> np.ndarray:
        return self._keep(R := random_rotation(self.rng), R)

    def pose(self) -> np.ndarray:
        T = random_pose(self.rng)
        return self._keep(flat_pose(T), T)

    def inertia(self) -> np.ndarray:
        M = inertia_matrix(*point_cloud(self.rng))
        return self._keep(flat_inertia(M), M)

    def articulated(self) -> np.ndarray:
        a = self.rng.normal(size=(6, 6))
        return self._keep(flat_articulated(a @ a.T), a @ a.T)


@dataclass(frozen=True)
class Case:
    """A product of values read from a list, and of plain matrices drawn in the same order."""

    computed: Callable[[Reader], Any]
    reference: Callable[[Draw], Any]


def inv(T: np.ndarray) -> np.ndarray:
    return np.linalg.inv(T)


def moved_inertia(T: np.ndarray, M: np.ndarray) -> np.ndarray:
    return force_matrix(T) @ M @ motion_matrix(inv(T))


def columns(d: Draw, n: int) -> np.ndarray:
    return np.stack([d.vector(6) for _ in range(n)], axis=1)


def subspace(r: Reader, n: int) -> Subspace:
    return Subspace(tuple(r.motion() for _ in range(n)))


CASES: dict[str, Case] = {
    # vectors and matrices
    "a + b": Case(lambda r: r.vec3() + r.vec3(), lambda d: d.vector(3) + d.vector(3)),
    "a - b": Case(lambda r: r.vec3() - r.vec3(), lambda d: d.vector(3) - d.vector(3)),
    "-a k": Case(lambda r: -r.vec3() * r.scalar(), lambda d: -d.vector(3) * d.scalar()),
    "a . b": Case(lambda r: r.vec3().dot(r.vec3()), lambda d: d.vector(3) @ d.vector(3)),
    "a x b": Case(lambda r: r.vec3().cross(r.vec3()), lambda d: np.cross(d.vector(3), d.vector(3))),
    "[a x]": Case(lambda r: type(r.matrix3()).cross(r.vec3()), lambda d: (d.matrix(), skew(d.vector(3)))[1]),
    "A + B": Case(lambda r: r.matrix3() + r.matrix3(), lambda d: d.matrix() + d.matrix()),
    "A - B": Case(lambda r: r.matrix3() - r.matrix3(), lambda d: d.matrix() - d.matrix()),
    "A B": Case(lambda r: r.matrix3() @ r.matrix3(), lambda d: d.matrix() @ d.matrix()),
    "A S": Case(lambda r: r.matrix3() @ r.symmetric3(), lambda d: d.matrix() @ d.symmetric()),
    "S A": Case(lambda r: r.symmetric3() @ r.matrix3(), lambda d: d.symmetric() @ d.matrix()),
    "S S": Case(lambda r: r.symmetric3() @ r.symmetric3(), lambda d: d.symmetric() @ d.symmetric()),
    "A a": Case(lambda r: r.matrix3() @ r.vec3(), lambda d: d.matrix() @ d.vector(3)),
    "S a": Case(lambda r: r.symmetric3() @ r.vec3(), lambda d: d.symmetric() @ d.vector(3)),
    "A.T": Case(lambda r: r.matrix3().T, lambda d: d.matrix().T),
    "S + S": Case(lambda r: r.symmetric3() + r.symmetric3(), lambda d: d.symmetric() + d.symmetric()),
    "S - S.T": Case(lambda r: r.symmetric3() - r.symmetric3().T, lambda d: d.symmetric() - d.symmetric()),
    # rotations
    "R a": Case(lambda r: r.rotation() @ r.vec3(), lambda d: d.rotation() @ d.vector(3)),
    "R.T a": Case(lambda r: r.rotation().inv_act(r.vec3()), lambda d: d.rotation().T @ d.vector(3)),
    "R.T": Case(lambda r: r.rotation().T, lambda d: d.rotation().T),
    "R R": Case(lambda r: r.rotation() @ r.rotation(), lambda d: d.rotation() @ d.rotation()),
    "R A": Case(lambda r: r.rotation() @ r.matrix3(), lambda d: d.rotation() @ d.matrix()),
    "R S R.T": Case(lambda r: r.rotation() @ r.symmetric3(), lambda d: (R := d.rotation()) @ d.symmetric() @ R.T),
    # poses
    "X": Case(lambda r: r.pose(), lambda d: d.pose()),
    "X X": Case(lambda r: r.pose() @ r.pose(), lambda d: d.pose() @ d.pose()),
    "X.inv()": Case(lambda r: r.pose().inv().formed(), lambda d: inv(d.pose())),
    "X.inv().inv()": Case(lambda r: r.pose().inv().inv(), lambda d: d.pose()),
    "X X.inv()": Case(lambda r: r.pose() @ r.pose().inv(), lambda d: d.pose() @ inv(d.pose())),
    "X.inv() X": Case(lambda r: r.pose().inv() @ r.pose(), lambda d: inv(d.pose()) @ d.pose()),
    "X.inv() X.inv()": Case(lambda r: r.pose().inv() @ r.pose().inv(), lambda d: inv(d.pose()) @ inv(d.pose())),
    "X point": Case(lambda r: r.pose().point(r.vec3()), lambda d: (d.pose() @ [*d.vector(3), 1.0])[:3]),
    "X.inv() point": Case(
        lambda r: r.pose().inv().point(r.vec3()), lambda d: (inv(d.pose()) @ [*d.vector(3), 1.0])[:3]
    ),
    # motions and forces
    "V + V": Case(lambda r: r.motion() + r.motion(), lambda d: d.vector(6) + d.vector(6)),
    "-V - V k": Case(
        lambda r: -r.motion() - r.motion() * r.scalar(), lambda d: -d.vector(6) - d.vector(6) * d.scalar()
    ),
    "F + F": Case(lambda r: r.force() + r.force(), lambda d: d.vector(6) + d.vector(6)),
    "-F - F k": Case(lambda r: -r.force() - r.force() * r.scalar(), lambda d: -d.vector(6) - d.vector(6) * d.scalar()),
    "V . F": Case(lambda r: r.motion().dot(r.force()), lambda d: d.vector(6) @ d.vector(6)),
    "X V": Case(lambda r: r.pose() @ r.motion(), lambda d: motion_matrix(d.pose()) @ d.vector(6)),
    "X.inv() V": Case(lambda r: r.pose().inv() @ r.motion(), lambda d: motion_matrix(inv(d.pose())) @ d.vector(6)),
    "X F": Case(lambda r: r.pose() @ r.force(), lambda d: force_matrix(d.pose()) @ d.vector(6)),
    "X.inv() F": Case(lambda r: r.pose().inv() @ r.force(), lambda d: force_matrix(inv(d.pose())) @ d.vector(6)),
    "V x V": Case(lambda r: cross(r.motion(), r.motion()), lambda d: cross_motion(d.vector(6)) @ d.vector(6)),
    "V x* F": Case(lambda r: cross_star(r.motion(), r.force()), lambda d: -cross_motion(d.vector(6)).T @ d.vector(6)),
    # subspaces
    "S v": Case(lambda r: subspace(r, 3) @ r.take(3), lambda d: columns(d, 3) @ d.vector(3)),
    "S.T F": Case(lambda r: subspace(r, 3).T @ r.force(), lambda d: columns(d, 3).T @ d.vector(6)),
    "X S": Case(
        lambda r: list((r.pose() @ subspace(r, 2)).columns), lambda d: (motion_matrix(d.pose()) @ columns(d, 2)).T
    ),
    "X.inv() S": Case(
        lambda r: list((r.pose().inv() @ subspace(r, 2)).columns),
        lambda d: (motion_matrix(inv(d.pose())) @ columns(d, 2)).T,
    ),
    # inertias
    "I": Case(lambda r: r.inertia(), lambda d: d.inertia()),
    "I + I": Case(lambda r: r.inertia() + r.inertia(), lambda d: d.inertia() + d.inertia()),
    "I V": Case(lambda r: r.inertia() @ r.motion(), lambda d: d.inertia() @ d.vector(6)),
    "X I": Case(lambda r: r.pose() @ r.inertia(), lambda d: moved_inertia(d.pose(), d.inertia())),
    "X.inv() I": Case(lambda r: r.pose().inv() @ r.inertia(), lambda d: moved_inertia(inv(d.pose()), d.inertia())),
    "articulated": Case(lambda r: r.articulated(), lambda d: d.articulated()),
    "articulated of I": Case(lambda r: ArticulatedInertia.of(r.inertia()), lambda d: d.inertia()),
    "articulated sum": Case(lambda r: r.articulated() + r.articulated(), lambda d: d.articulated() + d.articulated()),
    "articulated V": Case(lambda r: r.articulated() @ r.motion(), lambda d: d.articulated() @ d.vector(6)),
    "X articulated": Case(lambda r: r.pose() @ r.articulated(), lambda d: moved_inertia(d.pose(), d.articulated())),
    "X.inv() articulated": Case(
        lambda r: r.pose().inv() @ r.articulated(), lambda d: moved_inertia(inv(d.pose()), d.articulated())
    ),
}


@pytest.mark.light
@pytest.mark.parametrize("name", CASES)
@every_scalar
def test_spatial_products_equal_matrix_products(name: str, run: Any) -> None:
    case = CASES[name]
    draws = [Draw(np.random.default_rng([list(CASES).index(name), k])) for k in range(SAMPLES)]
    references = [np.asarray(case.reference(draw), dtype=float) for draw in draws]
    samples = np.array([np.concatenate(draw.flat) for draw in draws])
    results = run(lambda x: scalars_of(case.computed(Reader(x))), samples)
    for result, expected in zip(results, references, strict=True):
        assert_near(result, expected.ravel(), times=32.0)


# Which things an identity is about, and its two sides.
IDENTITIES: dict[str, tuple[str, Callable[..., tuple[Any, Any]]]] = {
    "(A B) V = A (B V)": ("pose pose motion", lambda A, B, V: ((A @ B) @ V, A @ (B @ V))),
    "(A B) F = A (B F)": ("pose pose force", lambda A, B, F: ((A @ B) @ F, A @ (B @ F))),
    "(A B) I = A (B I)": ("pose pose inertia", lambda A, B, I: ((A @ B) @ I, A @ (B @ I))),
    "X.inv() X V = V": ("pose motion", lambda X, V: (X.inv() @ (X @ V), V)),
    "X X.inv() F = F": ("pose force", lambda X, F: (X @ (X.inv() @ F), F)),
    "X.inv() X I = I": ("pose inertia", lambda X, I: (X.inv() @ (X @ I), I)),
    "X.inv() formed acts as X.inv()": ("pose motion", lambda X, V: (X.inv() @ V, X.inv().formed() @ V)),
    "power is the same in every frame": ("pose motion force", lambda X, V, F: ((X @ V).dot(X @ F), V.dot(F))),
    "X (I V) = (X I) (X V)": ("pose inertia motion", lambda X, I, V: (X @ (I @ V), (X @ I) @ (X @ V))),
    "articulated inertias move as rigid ones do": (
        "pose inertia",
        lambda X, I: (X @ ArticulatedInertia.of(I), ArticulatedInertia.of(X @ I)),
    ),
    "X (V x W) = X V x X W": ("pose motion motion", lambda X, V, W: (X @ cross(V, W), cross(X @ V, X @ W))),
    "(V x W) . F = -W . (V x* F)": (
        "motion motion force",
        lambda V, W, F: (cross(V, W).dot(F), -W.dot(cross_star(V, F))),
    ),
}


@pytest.mark.light
@pytest.mark.parametrize("name", IDENTITIES)
@every_scalar
def test_identities_of_spatial_algebra_hold_for_random_arguments(name: str, run: Any) -> None:
    kinds, sides = IDENTITIES[name][0].split(), IDENTITIES[name][1]
    rows = []
    for k in range(SAMPLES):
        draw = Draw(np.random.default_rng([list(IDENTITIES).index(name), k]))
        for kind in kinds:
            draw.vector(6) if kind in ("motion", "force") else getattr(draw, kind)()
        rows.append(np.concatenate(draw.flat))

    def both(x: list[Any]) -> list[Any]:
        reader = Reader(x)
        return scalars_of(list(sides(*(getattr(reader, kind)() for kind in kinds))))

    for pair in run(both, np.array(rows)):
        left, right = np.split(pair, 2)
        assert_near(left, right, times=64.0)


def test_identity_poses_and_zero_vectors_are_neutral_in_spatial_algebra() -> None:
    X = Pose.identity()
    V, F = Motion.of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), Force.of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert X @ V == V and X.inv() @ V == V
    assert X @ F == F and X.inv() @ F == F
    assert X @ X == X
    assert V + Motion.zero() == V and F + Force.zero() == F
    assert Motion.zero().elements() == Force.zero().elements() == (0.0,) * 6
    assert Vec3.zero() + Vec3(1.0, 2.0, 3.0) == Vec3(1.0, 2.0, 3.0)
    assert Subspace(()) @ [] == Motion.zero()
    assert Subspace(()).T @ F == []
    assert (len(Subspace(())), len(Subspace((V, V)))) == (0, 2)


def test_identity_pose_adds_no_operations_to_a_trace() -> None:
    """Zeros and ones of a pose vanish from the trace."""
    from linkwork.expr.scalar.symbol import Graph

    graph = Graph()
    X, V = Reader(graph.inputs("x", (12,))).pose(), Reader(graph.inputs("v", (6,))).motion()
    before = len(graph.nodes)
    identity = Pose.identity()
    assert all(a is b for a, b in zip((identity @ V).elements(), V.elements(), strict=True))
    assert all(a is b for a, b in zip(scalars_of(identity @ X), scalars_of(X), strict=True))
    assert all(a is b for a, b in zip(scalars_of(X @ identity), scalars_of(X), strict=True))
    assert len(graph.nodes) == before


def test_motion_subspace_times_rates_requires_a_rate_for_each_column() -> None:
    with pytest.raises(ValueError, match="argument 2 is longer"):
        Subspace((Motion.zero(),)) @ [1.0, 2.0]


def test_pose_times_a_float_or_plain_vector_raises_an_error() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        Pose.identity() @ 3.0
    with pytest.raises(TypeError, match="unsupported operand"):
        Pose.identity() @ Vec3.zero()


def test_pose_created_from_a_matrix_has_its_elements() -> None:
    T = random_pose(np.random.default_rng(0))
    assert np.array_equal(Pose.of(T).elements(), T.ravel())
    assert np.array_equal(Pose.of(T.tolist()).elements(), T.ravel())
    assert np.array_equal(Pose.of(T).matrix(), T)
