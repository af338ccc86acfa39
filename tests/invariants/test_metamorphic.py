"""Invariants 33 to 41: results that stay equal, or change in a known way, when a robot is described differently."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from invariants.cases import Case, Functions, cases, cases_of_files, floating_cases, matrix
from invariants.changes import (
    flipped,
    in_other_units,
    on_sliders_and_a_ball,
    renamed,
    renamed_text,
    reordered,
    split_text,
    turned,
    with_split_body,
)
from linkwork.model.body import Frame
from linkwork.model.random_tree import random_pose
from linkwork.model.tree_edits import reroot
from linkwork.spatial import Quaternion, Rotation, Vec3


def at_rest(f, q):
    """Poses, M and g."""
    return {name: f(name, q) for name in ("forward_kinematics", "mass_matrix", "gravity_force")}


def outcomes(f, q, v, a):
    """These, and inverse and forward dynamics, a taken for forces."""
    return at_rest(f, q) | {name: f(name, q, v, a) for name in ("inverse_dynamics", "forward_dynamics")}


def half_square(M, v):
    """½ vᵀ M v."""
    return 0.5 * np.einsum("ni,nij,nj->n", v, M, v)


def assert_same(case: Case, actual, tolerance, label="", expected=None):
    """Assert equality with the case, accelerations to 2 · cond · eps · n where that is more."""
    expected = outcomes(case.f, case.q, case.v, case.a) if expected is None else expected
    for name, value in expected.items():
        bound = max(tolerance, 2.0 * case.cond * case.eps) if name == "forward_dynamics" else tolerance
        core = 2 if name in ("forward_kinematics", "mass_matrix") else 1
        case.close(actual[name], value, bound, f"{label} {name}".strip(), core=core)


def permuted(case: Case, permuted_tree, of_q, of_v, bodies):
    """Return results of a tree with permuted coordinates and bodies, in the case's order."""
    q, v, a = np.empty_like(case.q), np.empty_like(case.v), np.empty_like(case.a)
    q[:, of_q], v[:, of_v], a[:, of_v] = case.q, case.v, case.a
    results = outcomes(Functions(permuted_tree), q, v, a)
    results["forward_kinematics"] = results["forward_kinematics"][:, bodies]
    results["mass_matrix"] = results["mass_matrix"][:, of_v][:, :, of_v]
    for name in ("inverse_dynamics", "forward_dynamics", "gravity_force"):
        results[name] = results[name][:, of_v]
    return results


def permutation_between(tree, permuted_tree, name_of):
    """Return the positions of a tree's coordinates q and v, and of its bodies, in another tree."""
    of_q, of_v = np.zeros(tree.nq, dtype=int), np.zeros(tree.nv, dtype=int)
    for i, body in tree.stacked():
        j = permuted_tree.joint_index(name_of(body.joint_name))
        of_q[tree.q_slices[i]] = np.r_[permuted_tree.q_slices[j]]
        of_v[tree.v_slices[i]] = np.r_[permuted_tree.v_slices[j]]
    names = [body.name for body in permuted_tree.bodies]
    return of_q, of_v, [names.index(name_of(body.name)) for body in tree.bodies]


def as_read(name):
    """The free joint of a floating base is no joint of the file, and keeps its name."""
    return name if name == "floating_base" else renamed(name)


@pytest.mark.slow(every=3)
def test_33_names_and_order_of_links_and_joints_do_not_change_results():
    """33. Links and joints renamed and reordered, in trees and in files: the same numbers, permuted: 1e-13."""
    for case in cases():
        reordered_tree = reordered(case.tree)
        actual = permuted(case, reordered_tree, *permutation_between(case.tree, reordered_tree, renamed))
        assert_same(case, actual, 1e-13)
    for case, example in cases_of_files():
        reordered_tree = example.load(renamed_text(example.text())).tree
        actual = permuted(case, reordered_tree, *permutation_between(case.tree, reordered_tree, as_read))
        assert_same(case, actual, 1e-13, "file")


@pytest.mark.slow(every=3)
def test_34_splitting_and_fusing_fixed_joints_changes_no_result():
    """34. A body split by a fixed joint, and links of files split and fused: the same M, g and poses: 1e-12."""
    for case in cases():
        for host in {0, len(case.tree.bodies) - 1}:
            together, apart = with_split_body(case.tree, host)
            actual = at_rest(Functions(apart), case.q)
            actual["forward_kinematics"] = actual["forward_kinematics"][:, :-1]
            assert_same(case, actual, 1e-12, expected=at_rest(Functions(together), case.q))
    for case, example in cases_of_files():
        split_tree = example.load(split_text(example.text())).tree
        assert len(split_tree.frames) > len(case.tree.frames)
        assert_same(case, at_rest(Functions(split_tree), case.q), 1e-12, "file", at_rest(case.f, case.q))


def carried_by(case, link):
    """The floating tree whose base joint carries another link, in the same states: its q and v."""
    rerooted = reroot(case.tree, link)
    base = case.tree.bodies[0]
    X = np.linalg.inv(matrix(base.placement)) @ case.f(("pose", link), case.q)
    R = Rotation(*(Vec3(*np.moveaxis(X[..., k, :3], -1, 0)) for k in range(3)))
    w, *xyz = Quaternion.of(R).elements()
    coordinates = [*xyz, w] if base.joint.scalar_last else [w, *xyz]
    q, v = case.q.copy(), case.v.copy()
    q[..., :7] = np.concatenate([np.stack(coordinates, axis=-1), X[..., :3, 3]], axis=-1)
    v[..., :6] = case.f(("twist", link, {"expressed_in": link}), case.q, case.v)
    return rerooted, q, v


def test_35_another_root_of_a_floating_tree_changes_no_energy_and_momentum():
    """35. A floating tree with another root: the same kinetic energy and momentum: 1e-11."""
    for case in floating_cases():
        for link in case.frames:
            tree, q, v = carried_by(case, link)
            rerooted = Functions(tree)
            case.close(half_square(rerooted("mass_matrix", q), v), half_square(case.M, case.v), 1e-11, link, core=0)
            for name in ("kinetic_energy", "momentum", "centroidal_momentum"):
                expected = case.f(name, case.q, case.v)
                case.close(rerooted(name, q, v), expected, 1e-11, f"{link}: {name}", core=expected.ndim - 1)


def test_36_reversing_joint_axes_changes_only_the_signs_of_results():
    """36. Axes reversed, and the signs of q, v and τ: the same physics: 1e-13."""
    for case in cases():
        flipped_tree, s_q, s_v = flipped(case.tree)
        actual = outcomes(Functions(flipped_tree), case.q * s_q, case.v * s_v, case.a * s_v)
        for name in ("inverse_dynamics", "forward_dynamics", "gravity_force"):
            actual[name] = actual[name] * s_v
        actual["mass_matrix"] = actual["mass_matrix"] * np.outer(s_v, s_v)
        assert_same(case, actual, 1e-13)


def test_37_rotating_the_world_with_gravity_changes_no_joint_force():
    """37. The whole world and gravity turned: the same joint forces: 1e-12."""
    X = random_pose(np.random.default_rng(8))
    for case in cases():
        actual = outcomes(Functions(turned(case.tree, X)), case.q, case.v, case.a)
        actual["forward_kinematics"] = np.linalg.inv(matrix(X)) @ actual["forward_kinematics"]
        assert_same(case, actual, 1e-12)


def test_38_other_units_scale_results_by_their_dimension():
    """38. Lengths × L, masses × m: M × m L², g × L m: 1e-12; of joints whose numbers are known to be lengths."""
    L, m = 3.0, 5.0
    for case in cases(ours=True):
        scaled_tree, s_q, s_v = in_other_units(case.tree, L, m)
        force = m * L * L / s_v
        actual = outcomes(Functions(scaled_tree), case.q * s_q, case.v * s_v, case.a * s_v)
        forces = case.a * s_v / force  # which the other robot is given as a · s_v
        expected = outcomes(case.f, case.q, case.v, case.a)
        expected["forward_dynamics"] = case.f("forward_dynamics", case.q, case.v, forces)
        actual["forward_kinematics"][..., :3, 3] /= L
        actual["inverse_dynamics"] = actual["inverse_dynamics"] / force
        actual["gravity_force"] = actual["gravity_force"] / force
        actual["mass_matrix"] = actual["mass_matrix"] / np.outer(force, 1.0 / s_v)
        actual["forward_dynamics"] = actual["forward_dynamics"] / s_v
        assert_same(case, actual, 1e-12, expected=expected)


def test_39_a_massless_frame_changes_no_bit():
    """39. A frame without mass more: nothing changes, to the bit."""
    X = random_pose(np.random.default_rng(1))
    for case in cases():
        extra = Frame("extra", len(case.tree.bodies) // 2, X)
        extended = Functions(replace(case.tree, frames=(extra, *case.tree.frames)))
        actual = outcomes(extended, case.q, case.v, case.a)
        for name, value in outcomes(case.f, case.q, case.v, case.a).items():
            assert np.array_equal(actual[name], value), f"{case.name}: {name}"


def rotation_of(base, q):
    """(samples, 3, 3) of a floating joint's quaternion."""
    w, x, y, z = np.moveaxis(q[..., [3, 0, 1, 2] if base.scalar_last else [0, 1, 2, 3]], -1, 0)
    return np.moveaxis(np.array(Quaternion(w, x, y, z).rotation().rows()), -1, 0)


def test_40_sliders_and_a_ball_move_as_a_floating_joint():
    """40. Three sliders and a ball in the place of a floating joint: the same energy and accelerations: 1e-10."""
    for case in floating_cases():
        equivalent = Functions(on_sliders_and_a_ball(case.tree))
        R = rotation_of(case.tree.bodies[0].joint, case.q)
        q = np.concatenate([case.q[..., 4:7], case.q[..., :4], case.q[..., 7:]], axis=-1)

        def equivalent_vector(x, R=R):
            """Reorder velocities or joint forces: linear ones first, in the axes of F."""
            return np.concatenate([(R @ x[..., 3:6, None])[..., 0], x[..., :3], x[..., 6:]], axis=-1)

        case.close(
            half_square(equivalent("mass_matrix", q), equivalent_vector(case.v)),
            half_square(case.M, case.v),
            1e-10,
            core=0,
        )
        a = case.f("forward_dynamics", case.q, case.v, case.a)
        a_there = equivalent("forward_dynamics", q, equivalent_vector(case.v), equivalent_vector(case.a))
        expected = a.copy()
        expected[..., 3:6] += np.cross(case.v[..., :3], case.v[..., 3:6])  # (R v)˙ = R (v̇ + ω × v)
        case.close(a_there, equivalent_vector(expected), case.solving(1e-10), "accelerations", core=1)


def test_41_results_of_revolute_and_continuous_joints_are_equal_within_the_limits():
    """41. Revolute joints of files made continuous: the same numbers inside the limits, to the bit."""
    count, files = 0, cases_of_files()
    for case, example in files:
        xml = ET.fromstring(example.text())
        revolute = [joint for joint in xml.findall("joint") if joint.get("type") == "revolute"]
        for joint in revolute:
            joint.set("type", "continuous")
        continuous = example.load(ET.tostring(xml, encoding="unicode"))
        actual = outcomes(Functions(continuous.tree), case.q, case.v, case.a)
        for name, value in outcomes(case.f, case.q, case.v, case.a).items():
            assert np.array_equal(actual[name], value), f"{case.name}: {name}"
        count += bool(revolute)
    assert count > len(files) // 3
