"""Distances, contacts, hulls and checks of collisions of shapes, fields and robots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import shapes
from recorded_results.case import case
from recorded_results.contents import placeless
from recorded_results.machines import armed, obstacles
from recorded_results.robots import arm, inside

_POINTS = np.random.default_rng(7).normal(size=(9, 3)) * [0.2, 0.15, 0.25]
SOLIDS: dict[str, Any] = {
    "sphere": shapes.Sphere(0.2),
    "box": shapes.Box((0.3, 0.4, 0.5)),
    "capsule": shapes.Capsule(0.1, 0.4),
    "cylinder": shapes.Cylinder(0.2, 0.5),
    "cone": shapes.Cone(0.2, 0.4),
    "ellipsoid": shapes.Ellipsoid((0.2, 0.3, 0.4)),
    "half-space": shapes.HalfSpace(),
    "rounded": shapes.Rounded(shapes.Box((0.3, 0.2, 0.1)), 0.05),
    "polytope": shapes.Polytope(_POINTS),
}
_AT_A = np.array([lw.pose((0.4, 0.2, 0.3), rpy=(0.3, 0.4, 0.5)), lw.pose((0.14, 0.2, 0.1), rpy=(0.3, 1.4, 0.5))])
_AT_B = np.array(
    [lw.pose((-0.4, -0.2, -0.13), rpy=(-0.3, 0.6, 1.5)), lw.pose((-0.04, 0.02, -0.03), rpy=(-0.3, 0.6, 1.5))]
)
PAIRS = (
    "sphere box",
    "sphere cylinder",
    "sphere cone",
    "sphere ellipsoid",
    "box box",
    "box capsule",
    "box cylinder",
    "capsule capsule",
    "capsule cylinder",
    "cylinder cylinder",
    "half-space cylinder",
    "half-space rounded",
    "cone half-space",
    "ellipsoid half-space",
    "sphere rounded",
    "sphere polytope",
)
CONVEX = ("ellipsoid ellipsoid", "cone box", "polytope polytope")
TOUCHING = ("box box", "capsule box", "half-space cone", "cylinder box", "half-space polytope", "capsule capsule")


def _of(pair: str) -> tuple[Any, Any]:
    first, second = pair.split()
    return SOLIDS[first], SOLIDS[second]


@case(1e-7)
def distances_of_pairs_of_shapes(_: Any) -> Any:
    result: dict[str, Any] = {}
    for pair in PAIRS:
        a, b = _of(pair)
        d = lw.signed_distance(a, _AT_A, b, _AT_B)
        result[pair] = [d.distance, d.point_a, d.point_b, d.normal, d.unique]
    return result


@case(1e-6)
def distances_of_convex_shapes(_: Any) -> Any:
    result: dict[str, Any] = {}
    for pair in CONVEX:
        a, b = _of(pair)
        d = lw.signed_distance(a, _AT_A, b, _AT_B)
        result[pair] = [d.distance, d.normal]
    return result


@case(1e-6)
def contacts_of_shapes(_: Any) -> Any:
    result: dict[str, Any] = {}
    for pair in TOUCHING:
        a, b = _of(pair)
        c = lw.contact_points(a, _AT_A[1], b, _AT_B[1], max_distance=0.03)
        result[pair] = [c.depth[c.mask], c.point_a[c.mask], c.point_b[c.mask], c.normal, int(c.mask.sum())]
    return result


@case(1e-7)
def distances_to_fields_and_clouds(_: Any) -> Any:
    scene, result = obstacles(), {}
    for name in ("hills", "dust", "blob"):
        obstacle = scene[name]
        for kind in ("sphere", "capsule") if name == "hills" else ("sphere",):
            d = lw.signed_distance(SOLIDS[kind], _AT_A, obstacle.shape, obstacle.pose)
            result[f"{name} {kind}"] = [d.distance, d.normal]
    field = lw.distance_field([shapes.Box((0.2, 0.3, 0.1)).at((0.02, 0.01, 0.03))], (0.1, 0.09, 0.08), margin=0.15)
    return {**result, "field": [field.values, field.origin, field.spacing, field.error]}


@case(1e-6)
def distances_of_an_arm_to_obstacles(_: Any) -> Any:
    robot, scene = arm(), obstacles().only(["crate", "ball", "pole", "floor"])
    q = inside(robot, 3, 5)
    d = robot.distances(q, scene)
    near = robot.nearest_pair(q[0], scene)
    slopes = robot.distance_derivatives(q[0], scene.only(["crate", "pole"]))
    return {
        "distance": d.distance,
        "normal": d.normal,
        "pairs": [str(x) for x in d.pairs],
        "near": str(near),
        "minimum": robot.minimum_distance(q, scene),
        "collision": [robot.in_collision(q, scene, margin=m) for m in (0.0, 0.1, 0.3)],
        "gradient": slopes.gradient,
        "pairs of gradient": [str(x) for x in slopes.pairs],
    }


@case(1e-6)
def smooth_distances_and_second_derivatives(_: Any) -> Any:
    robot, scene = arm(), obstacles().only(["ball", "pole"])
    q = inside(robot, 1, 5)[0]
    hessian = robot.distance_hessian(q, scene)
    return {
        "hessian": hessian.hessian,
        "exists": hessian.exists,
        "smooth": [
            robot.smooth_minimum_distance(q, scene, sharpness=17.0),
            robot.smooth_minimum_distance_gradient(q, scene, sharpness=17.0),
        ],
    }


@case(1e-5)
def motions_checked_for_collisions(_: Any) -> Any:
    robot, scene = arm(), obstacles().only(["crate", "ball", "pole"])
    q = inside(robot, 6, 11)
    checks = {
        "certified": robot.is_motion_free(q[:3], q[3:], scene, tolerance=1e-3),
        "margin": robot.is_motion_free(q[:3], q[3:], scene, margin=0.08, tolerance=1e-3),
        "sampled": robot.is_motion_free(q[:3], q[3:], scene, collision_check="sampled", resolution=0.11),
    }
    return {k: [x.free, x.success, np.round(x.t, 3), np.char.mod("%s", x.status)] for k, x in checks.items()}


@case()
def pairs_of_links_classified(_: Any) -> Any:
    classified = armed().find_collision_pairs(num_samples=60, seed=3)
    return {
        "kinds": [[x.a, x.b, x.kind, x.proved, x.min_distance, x.max_distance] for x in classified.classifications],
        "pairs": [str(x) for x in classified.pairs],
        "disabled": [str(x) for x in classified.disabled],
        "text": str(classified),
        "robot": [str(x) for x in armed().with_collision_pairs(classified).collision_pairs],
    }


@case(1e-6)
def mass_properties_and_bounds_of_shapes(_: Any) -> Any:
    more = {
        "rounded cone": shapes.Rounded(shapes.Cone(0.2, 0.4), 0.03),
        "rounded egg": shapes.Rounded(SOLIDS["ellipsoid"], 0.05),
        "rounded cylinder": shapes.Rounded(SOLIDS["cylinder"], 0.04),
        "rounded polytope": shapes.Rounded(SOLIDS["polytope"], 0.02),
    }
    result: dict[str, Any] = {}
    directions = np.random.default_rng(3).normal(size=(5, 3))
    for name, shape in {**SOLIDS, **more}.items():
        if name != "half-space":
            ball = shape.bounding_sphere
            result[name] = [
                shape.volume,
                list(shape.center),
                np.array([*shape.unit_inertia().elements()], dtype=float)
                if hasattr(shape.unit_inertia(), "elements")
                else str(shape.unit_inertia()),
                shape.origin_radius,
                shape.support(directions),
                str(ball),
                str(shape),
            ]
    cloud = np.random.default_rng(5).normal(size=(40, 3)) * [0.1, 0.2, 0.4]
    fits = {
        "sphere": shapes.bounding_sphere(cloud),
        "box": shapes.bounding_box(cloud),
        "capsule": shapes.bounding_capsule(cloud),
    }
    hull, coarse = shapes.convex_hull(cloud), shapes.convex_hull(cloud, max_vertices=8)
    return {
        **result,
        **{f"fit {k}": [x.shape.volume, x.overestimate] for k, x in fits.items()},
        "hulls": [hull.volume, len(hull.vertices), len(hull.triangles), coarse.volume, coarse.overestimate],
    }


@case(1e-6)
def mesh_files_of_every_format(folder: Path) -> Any:
    import trimesh

    ring = trimesh.creation.torus(0.3, 0.1, major_sections=7, minor_sections=5)
    ring.apply_transform(lw.pose((0.3, 0.2, 0.1), rpy=(0.3, 0.2, 0.1)))
    result: dict[str, Any] = {}
    for kind in ("stl", "obj", "ply", "glb", "dae"):
        ring.export(folder / f"ring.{kind}")
        mesh = shapes.load_mesh(shapes.Mesh(f"ring.{kind}", (1.1, 0.9, -1.2)), [folder])
        order = np.lexsort(np.round(mesh.vertices, 5).T)
        result[kind] = [
            np.round(mesh.vertices[order], 6),
            len(mesh.triangles),
            mesh.unit,
            placeless(list(mesh.issues)),
            mesh.convex_hull().volume,
            mesh.convex_hull(10).overestimate,
        ]
    trimesh.Trimesh(ring.vertices, ring.faces[:-3], process=False).export(folder / "open.stl")
    return {**result, "open": placeless(list(shapes.load_mesh("open.stl", [folder]).issues))}
