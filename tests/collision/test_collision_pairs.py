"""Collision pairs: adjacent, disabled, found by sampling and proof, as in SRDF; attached objects."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from linkwork.collision import pair_classification, separation_proof
from linkwork.errors import ModelError, UnknownNameError
from linkwork.model.collision_pairs import link_shapes
from linkwork.shapes import Box, Sphere

LINKS = ("base", "upper", "lower", "tip")


def arm(limit=1.0):
    """Three hinges in a plane, links of 1 m, with a ball at the end of each but the base."""
    hinge, parts = lw.joints.Revolute((0.0, 0.0, 1.0)), [lw.Link(name, mass=1.0) for name in LINKS]
    for k, (a, b) in enumerate(pairwise(LINKS)):
        at, name = (float(k > 0), 0.0, 0.0), f"j{k}"
        parts.append(lw.Joint.of(hinge, name=name, parent=a, child=b, placement=at, lower=-limit, upper=limit))
    robot = lw.Robot.build("planar", *parts)
    robot = robot.with_collisions("base", Sphere(0.1))
    for name in LINKS[1:]:
        robot = robot.with_collisions(name, Sphere(0.1).at((1.0, 0, 0)))
    return robot


@pytest.mark.slow(every=5)
def test_collision_pairs_are_classified_as_always_never_or_sometimes() -> None:
    robot = arm()
    assert robot.collision_pairs == (("base", "lower"), ("base", "tip"), ("upper", "tip"))
    pair_report = robot.find_collision_pairs(num_samples=300, seed=1)
    kinds = {(pair.a, pair.b): (pair.kind, pair.proved) for pair in pair_report.classifications}
    assert kinds["base", "upper"] == ("adjacent", True)
    assert kinds["base", "lower"] == kinds["upper", "tip"] == ("never", True)  # they stay 2 cos(1/2) apart
    assert kinds["base", "tip"] == ("never", True)
    wide = arm(2.9)
    pair_report = wide.find_collision_pairs(num_samples=300, seed=1)
    kinds = {(pair.a, pair.b): pair.kind for pair in pair_report.classifications}
    assert kinds["base", "tip"] == "sometimes"
    selected = wide.with_collision_pairs(pair_report)
    assert selected.collision_pairs == pair_report.pairs and "sometimes" in str(pair_report)
    fat = arm().with_collisions("tip", Sphere(5.0))
    kinds = {
        (pair.a, pair.b): (pair.kind, pair.proved) for pair in fat.find_collision_pairs(num_samples=50).classifications
    }
    assert kinds["base", "tip"] == kinds["upper", "tip"] == ("always", True)
    for shape, proved in ((lw.shapes.Capsule(5.0, 0.1), True), (lw.shapes.Cylinder(5.0, 9.0), False)):
        fat = arm().with_collisions("tip", shape).with_collisions("base", lw.shapes.Capsule(0.1, 0.1))
        kinds = {
            (pair.a, pair.b): (pair.kind, pair.proved)
            for pair in fat.find_collision_pairs(num_samples=20).classifications
        }
        assert kinds["base", "tip"] == ("always", proved)  # depths that are searched for prove nothing
    few = arm(2.9).find_collision_pairs(num_samples=1, seed=0)
    assert any(
        pair.kind == "sometimes" and pair.min_distance > 0.0 for pair in few.classifications
    )  # refuted by the proof


def chain(rng, shapes, limit):
    """Hinges about any axes, with a shape on each link."""
    names = [f"link{k}" for k in range(len(shapes))]
    parts = [lw.Link(name, mass=1.0) for name in names]
    for k, (a, b) in enumerate(pairwise(names)):
        axis, at = rng.normal(size=3), rng.uniform(0.2, 0.5, 3)
        parts.append(
            lw.Joint.of(
                lw.joints.Revolute(axis), name=f"j{k}", parent=a, child=b, placement=at, lower=-limit, upper=limit
            )
        )
    robot = lw.Robot.build("chain", *parts)
    for name, shape in zip(names, shapes, strict=True):
        robot = robot.with_collisions(name, shape.at(rng.uniform(-0.1, 0.1, 3)))
    return robot


def test_kind_of_a_pair_depends_on_the_signs_of_its_sampled_distances() -> None:
    kinds = {
        (1e-9, 1.0, 1e-9): "never",
        (0.0, 1.0, 1e-9): "sometimes",
        (1e-9, 1.0, 0.0): "default",
        (-1.0, 0.0, 0.0): "always",
        (-1.0, 1e-9, 0.0): "default",
        (-1.0, 0.0, 1e-9): "sometimes",
    }
    for (least, most, neutral), kind in kinds.items():
        samples = pair_classification._Samples(least, most, np.zeros(3), neutral)
        assert pair_classification._kind(samples) == kind, (least, most, neutral)


def test_depths_of_pairs_are_exact_where_all_their_shapes_have_closed_forms() -> None:
    robot = arm().with_collisions("lower", lw.shapes.Capsule(0.1, 0.2))
    for shape, expected in (
        (lw.shapes.Capsule(0.1, 0.3), True),
        (lw.shapes.Cone(0.1, 0.3), False),
        (lw.shapes.HeightField(np.zeros((2, 2)), 0.1), False),
    ):
        changed = robot.with_collisions("tip", Sphere(0.1), shape)
        assert pair_classification._has_exact_depths(changed.tree, "base", "upper")
        assert pair_classification._has_exact_depths(changed.tree, "tip", "lower") == expected


def test_configurations_in_doubt_refute_that_a_pair_never_touches() -> None:
    """Distances of two pairs in two doubts each: a pair is refuted by its own doubts, from a distance of 0."""
    tree, pairs = arm().tree, [("base", "lower"), ("base", "tip")]
    doubts = {pair: np.full((2, 3), float(k)) for k, pair in enumerate(pairs)}

    class Distances:
        def __init__(self, pairs, distance):
            self.pairs, self.distance = tuple(pairs), np.array(distance)

    for distance, expected in (
        ([[0.1, -1.0], [0.2, -1.0], [-1.0, 0.1], [-1.0, 0.2]], []),  # negative in the doubts of others alone
        ([[0.1, 0.1], [0.0, 0.1], [0.1, 0.1], [0.1, 0.1]], pairs[:1]),
        ([[0.1, 0.1], [0.1, 0.1], [0.1, 0.1], [0.1, -1e-9]], pairs[1:]),
    ):
        requested = []

        def measure(q, names, distance=distance, requested=requested):
            requested.append(q.tolist())
            return Distances(names, distance)

        assert pair_classification._refuted(tree, measure, doubts) == expected
        assert requested == [np.repeat([[0.0] * 3, [1.0] * 3], 2, axis=0).tolist()]
    assert pair_classification._refuted(tree, None, {}) == []  # type: ignore[arg-type]


@pytest.mark.slow(every=9)
def test_boxes_of_joint_angles_certified_as_collision_free_contain_no_collision() -> None:
    """Against distances at configurations in it, for every kind of shape."""
    rng = np.random.default_rng(0)
    hull = lw.shapes.Polytope(rng.uniform(-0.2, 0.2, (8, 3)))
    box, cone = Box((0.3, 0.1, 0.2)), lw.shapes.Cone(0.2, 0.3)
    robot = chain(rng, [cone, lw.shapes.Ellipsoid((0.1, 0.2, 0.3)), lw.shapes.Capsule(0.1, 0.3), box, hull], 2.0)
    configurations, proved = [], []
    for a, b in robot.collision_pairs:
        ranges = separation_proof.JointRanges.between(robot.tree, a, b)
        links = [[shape for shape in link_shapes(robot.tree) if shape.link == name] for name in (a, b)]
        pair_joints = [*range(int(a[4:]), int(b[4:]))]
        centers, half = (
            rng.uniform(-1.0, 1.0, (6, len(pair_joints))),
            10.0 ** rng.uniform(-2.0, -0.5, (6, len(pair_joints))),
        )
        proved.append(separation_proof._evaluated(robot.tree, links, ranges, centers, half))
        q = np.zeros((6, 30, robot.nq))
        q[..., pair_joints] = centers[:, None] + half[:, None] * rng.uniform(-1.0, 1.0, (6, 30, len(pair_joints)))
        q[:, :20, pair_joints] = centers[:, None] + half[:, None] * rng.choice([-1.0, 1.0], (6, 20, len(pair_joints)))
        q[:, 0, pair_joints] = centers
        configurations.append(q)
    tight = 0
    for k, result in enumerate(proved):
        d = robot.distances(configurations[k]).distance[..., k]
        assert (result.distance <= d[:, 0] + 1e-12).all() and (result.gap <= d.min(1)).all()
        tight += (result.distance - result.gap < 5.0 * (d[:, 0] - d.min(1))).sum()
    assert tight >= 5  # and it is no idle bound


def test_pairs_far_apart_are_certified_as_collision_free_for_long_chains_and_full_turns() -> None:
    rng = np.random.default_rng(1)
    small = chain(rng, [Sphere(0.05)] * 7, 0.3)
    pair_report = {(pair.a, pair.b): pair for pair in small.find_collision_pairs(num_samples=20).classifications}
    assert pair_report["link0", "link6"].kind == "never" and pair_report["link0", "link6"].proved
    # what samples miss is found where a proof meets it
    straight = arm(1.2)
    straight = straight.with_collisions("base", Sphere(0.05).at((0.5, 1.95, 0.0)))
    few = {(pair.a, pair.b): pair for pair in straight.find_collision_pairs(num_samples=1, seed=3).classifications}
    assert few["base", "tip"].kind == "sometimes" and few["base", "tip"].min_distance > 0.0
    parts = [lw.Link(name, mass=1.0) for name in LINKS[:3]]
    for a, b in pairwise(LINKS[:3]):
        hinge = lw.joints.Revolute((0.0, 0.0, 1.0))
        parts.append(lw.Joint.of(hinge, name=b, parent=a, child=b, placement=(0.2, 0.0, 0.4)))
    turning = lw.Robot.build("turning", *parts).with_collisions("base", Sphere(0.1))
    turning = turning.with_collisions("lower", lw.shapes.Cylinder(0.2, 0.3)).with_collisions("upper", Sphere(0.01))
    (pair,) = [pair for pair in turning.find_collision_pairs(num_samples=20).classifications if pair.kind != "adjacent"]
    assert (pair.kind, pair.proved) == ("never", True)


def test_collision_pairs_that_early_samples_decide_are_not_sampled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = arm(2.9)
    whole = robot.find_collision_pairs(num_samples=400, prove=False)
    monkeypatch.setattr(pair_classification, "_MANY", 0)
    sampled = []
    measure = type(robot).distances
    monkeypatch.setattr(
        type(robot), "distances", lambda self, q, **more: sampled.append(more) or measure(self, q, **more)
    )
    again = robot.find_collision_pairs(num_samples=400, prove=False)
    assert [(classification.a, classification.b, classification.kind) for classification in whole.classifications] == [
        (classification.a, classification.b, classification.kind) for classification in again.classifications
    ]
    assert ("base", "tip") in sampled[1]["pairs"] and ("base", "tip") not in sampled[2]["pairs"]


def test_selected_collision_pairs_are_written_to_srdf_and_read_again() -> None:
    robot = arm()
    selected = robot.with_collision_pairs([("tip", "base"), ("base", "upper")])
    assert selected.collision_pairs == (("base", "upper"), ("base", "tip")) and robot != selected
    again = arm().with_srdf_document(selected.srdf_document())
    assert again.collision_pairs == selected.collision_pairs and again.srdf_document() == selected.srdf_document()
    assert arm().with_srdf_document(robot.srdf_document()) == robot
    pair_report = robot.with_collision_pairs(robot.find_collision_pairs(num_samples=100))
    assert 'reason="Never"' in pair_report.srdf_document() and pair_report.collision_pairs == ()
    with pytest.raises(ValueError, match="no enabled collision pair"):
        pair_report.distances(np.zeros(3))
    with pytest.raises(UnknownNameError, match="tip"):
        robot.with_collision_pairs([("base", "tpi")])
    with pytest.raises(ValueError, match="twice"):
        robot.with_collision_pairs([("base", "base")])


def test_invalid_srdf_collision_pairs_are_errors() -> None:
    begin = '<robot name="planar"><group name="arm"/>'
    for body, said in (
        ('<disable_collisions link1="base" link2="tpi"/>', "tip"),
        ('<disable_collisions link1="base"/>', "needs the attribute 'link2'"),
        ('<disable_collisions link1="base" link2="base"/>', "expected two links, got 'base' twice"),
        ('<disable_collisions link1="base" link2="tip"/><enable_collisions link1="tip" link2="base"/>', "line 1"),
        ('<disable_default_collisions link="tpi"/>', "tip"),
        ('<disable_default_collisions link="tip" reason="x"/>', "attribute 'reason'"),
        ('<disable_collision link1="base" link2="tip"/>', "disable_collisions"),
        ('<disable_collisions link1="base" link2="tip" why="x"/>', "attribute 'why'"),
        ('<link name="base"/>', "URDF"),
    ):
        with pytest.raises(ModelError, match=said):
            arm().with_srdf_document(f"{begin}{body}</robot>", strict=True)
    with pytest.raises(ModelError, match="the file is empty"):
        arm().with_srdf_document("")
    reason = '<disable_collisions link1="base" link2="tip" reason="Never"/>'
    for body in (reason, 2 * reason):
        assert ("base", "tip") not in arm().with_srdf_document(f"{begin}{body}</robot>").collision_pairs


def test_links_with_disabled_default_collisions_keep_only_explicitly_enabled_pairs() -> None:
    """MoveIt's order: first links without default collisions, then enabled pairs, then disabled pairs."""
    robot = arm().with_attached("stick", "tip", Sphere(0.2))
    free = '<disable_default_collisions link="base"/>'
    enabled = '<enable_collisions link1="tip" link2="base"/>'
    for body, pairs in (
        (free, {("upper", "tip"), ("upper", "stick")}),
        (enabled + free, {("upper", "tip"), ("upper", "stick"), ("base", "tip")}),
        (free + free + '<disable_default_collisions link="upper"/>', set()),
    ):
        edited = robot.with_srdf_document(f'<robot name="planar">{body}</robot>')
        assert set(edited.collision_pairs) == pairs, body
        assert robot.with_srdf_document(edited.srdf_document()).collision_pairs == edited.collision_pairs


def test_attached_shapes_are_checked_for_collisions() -> None:
    robot = arm()
    loaded = robot.with_attached("stick", "tip", Sphere(0.2), (1.5, 0, 0))
    assert ("upper", "stick") in loaded.collision_pairs and ("lower", "stick") not in loaded.collision_pairs
    q, scene = np.array([0.1, 0.2, 0.3]), lw.Scene().with_sphere("ball", 0.1, (5.0, 0, 0))
    at = loaded.pose(q, "stick")[:3, 3]
    distances = loaded.distances(q, scene).of("stick", "ball")
    assert abs(distances.distance - (np.linalg.norm(at - [5.0, 0, 0]) - 0.3)) < 1e-14
    free = robot.with_attached("stick", "tip", Sphere(0.2), (1.5, 0, 0), touching=["base", "upper"])
    assert [pair for pair in free.collision_pairs if "stick" in pair] == []
    assert free.without_attached("stick") == robot == loaded.without_attached("stick")
    two = robot.with_collisions("tip", Sphere(0.1), Sphere(0.2).at((0.5, 0, 0)))
    assert two.collision_shapes[-2:] == ("tip/0", "tip/1") and len(two.distances(q).pairs) == 5
    assert two.distances(q, pairs=[("base", "tip")]).pairs == (("base", "tip/0"), ("base", "tip/1"))
    with pytest.raises(UnknownNameError, match="stick"):
        loaded.without_attached("stik")
    with pytest.raises(UnknownNameError, match="tip"):
        robot.without_attached("tip")
    with pytest.raises(ValueError, match="already"):
        loaded.with_attached("stick", "tip", Box((1, 1, 1)))
    with pytest.raises(TypeError, match="shape"):
        robot.with_attached("stick", "tip", "box")
    with pytest.raises(ValueError, match="'can': color: expected three or four numbers between 0 and 1"):
        robot.with_attached("can", "tip", Box((1, 1, 1)), color=(0.0, 2.0, 0.0))
    with pytest.raises(UnknownNameError, match="upper"):
        robot.with_attached("stick", "tip", Sphere(0.1), touching=["uper"])


@pytest.mark.slow(every=9)
def test_pairs_that_touch_rarely_and_have_no_proof_stay_in_the_collision_pairs() -> None:
    """Two links of an arm touch in few samples: neither samples nor proofs exclude them."""
    robot = lw.load("arm7")
    pair_report = robot.find_collision_pairs(num_samples=50)
    kinds = {(pair.a, pair.b): pair for pair in pair_report.classifications}
    rare = kinds["upper_arm_proximal", "flange"]
    assert rare.kind == "sometimes" or not rare.proved
    assert ("upper_arm_proximal", "flange") in robot.with_collision_pairs(pair_report).collision_pairs
    dropped = set(kinds) - set(pair_report.pairs)
    assert all(kinds[pair].proved or kinds[pair].kind in ("always", "default") for pair in dropped)
    assert {(disabled_pair.a, disabled_pair.b) for disabled_pair in pair_report.disabled} == dropped
