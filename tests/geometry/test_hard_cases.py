"""Cases that broke other libraries, with distances by reasoning, by facets, or to forty digits."""

from __future__ import annotations

import itertools

import numpy as np

from linkwork.geometry import BoxCore, Solid
from linkwork.geometry.contacts import contacts
from linkwork.spatial import Pose, Rotation, Vec3

from .minkowski import signed_distance_of_hulls
from .pairs import compiled, corners, off_surface, rotations, rows
from .test_exact import check

X, Y, Z = np.eye(3)
TILTED = np.array([  # of stacked boxes: fcl 493 and 495
    [0.94096063217417758029, 0.29296840037289501035, 0.16959541586174811667],
    [-0.23569836841299879326, 0.92661523595848427348, -0.29296840037289506586],
    [-0.2429801799032638987, 0.23569836841299884878, 0.94096063217417758029]])  # fmt: skip


def row(size, position=(0.0, 0.0, 0.0), R=X):
    """Return the array of a box with the edges."""
    R = np.eye(3) if R is X else np.asarray(R)
    return np.concatenate([R.ravel(), position, 0.5 * np.asarray(size)])


def test_distances_of_boxes_that_almost_touch_are_exact() -> None:
    kernel = compiled("box", "box")
    unit = row((1.0, 1.0, 1.0))
    known = [
        (unit, row((1.0, 1.0, 1.0), axis * 4.0), 3.0, axis) for axis in (X, Y, Z)  # fcl 508
    ] + [
        # fcl 398: a plate on a table; 428: a box in another, whose least way out is down
        (row((0.614, 3.0, 0.037), (-0.675, 0.0, 0.9115)), row((0.494, 0.552, 0.01), (-0.692, 0.0, 0.935)), 0.0, Z),
        (row((0.2, 0.33, 0.1), (-0.071, -0.772, 0.8)),
         row((0.452, 0.27, 0.6), (0.121, -0.78769605692727695523, 0.53422044196125151316)), -0.08422044196125151, -Z),
        # fcl 578: a support point in the plane of a face, by faces, edges and corners that coincide
        (unit, row((1.0, 1.0, 1.0), (1.0, 0.0, 0.0)), 0.0, None),
        (unit, row((1.0, 1.0, 1.0), (1.0, 1.0, 0.0)), 0.0, None),
        (unit, row((1.0, 1.0, 1.0), (1.0, 1.0, 1.0)), 0.0, None),
        (unit, row((1.0, 2.0, 3.0), (0.0, 1.5, 2.0)), 0.0, None),
        (unit, row((1.0, 1.0, 1.0), (0.5, 0.5, 0.5)), -0.5, None),
        (unit, unit, -1.0, None),
    ]  # fmt: skip
    for dim, gap in itertools.product((0.01, 0.25, 0.5, 10.0, 1000.0), (-1e-9, -1e-15, 0.0, 1e-16, 1e-15, 1e-9)):
        gap = gap * max(1.0, dim)
        size, low = (dim, dim, dim), np.array([0.0, 0.0, 5.0 * dim])
        upper = row(size, low + TILTED @ (0.0, dim + gap, 0.0), TILTED)
        known.append((row(size, low, TILTED), upper, gap, TILTED[:, 1]))
    for a, b, expected, normal in known:
        outputs = kernel(a, b)
        scale = max(1.0, np.abs(b).max())
        assert abs(outputs[0] - expected) < 2e-15 * scale, (expected, outputs[0])
        assert normal is None or np.abs(outputs[1:4] - normal).max() < 1e-15, (expected, outputs[1:4])
        assert np.abs(outputs[7:10] - outputs[4:7] - outputs[0] * outputs[1:4]).max() < 2e-15 * scale


def test_distances_of_boxes_in_special_positions_equal_those_from_facets() -> None:
    turned = lambda *rows: np.linalg.qr(np.array(rows))[0] * np.sign(np.diag(np.linalg.qr(np.array(rows))[1]))  # noqa: E731
    pairs = [
        # fcl 445: apart by no more than rounding; 388: a link along a shelf
        (row((0.3165, 0.2276, 0.1768), (1.2652949075960071568, 1.4551012423210101243, 0.49480006232932938204), turned(
            (0.44540578475530234748, 0.89532881496493399442, -8.8937407685638678971e-09),
            (-0.89532881496493377238, 0.44540578475530190339, -2.8948680226084145336e-08),
            (-2.1957263975186326105e-08, 2.0856732016652919226e-08, 0.99999999999999955591))),
         row((0.4943, 0.3546, 0.0752), (1.1304016226141906376, 1.8410802645284281009, 0.44400006232932492933), turned(
            (0.44171122913485860728, 0.8971572827861190591, -1.622764514865468214e-09),
            (-0.8971572827861190591, 0.44171122913485860728, -5.1621053952306079594e-09),
            (-3.9144271413829990148e-09, 3.7360349218094348098e-09, 1.0)))),
        (row((0.03, 0.12, 0.1), (0.63499979627350811029, -0.48500002215636439651, 1.0778146458339641356), turned(
            (-3.0627937852578681533e-08, -1.0, -2.8893865161583314238e-08),
            (1.0, -3.0627939739957803544e-08, 6.4729926918527511769e-08),
            (-6.4729927722963847085e-08, -2.8893863029448751323e-08, 1.0))),
         row((0.025, 0.35, 1.845), (0.8, -0.4575, 1.0225), (-Y, X, Z))),
        # fcl 395: a plate and a small box; 415; drake 21673 and 21675: boxes of a shelf, one in the other
        (row((0.46, 0.48, 0.01), (-0.721, -0.772, 0.81)),
         row((0.049521, 0.146, 0.0725), (-0.42677133002999478872, -0.76596851247746788882, 0.80746731400091054098),
         turned(
            (0.10758262492983036718, -0.6624881850015212903, -0.74130653817877356637),
            (0.22682184885125472595, -0.709614040775253474, 0.6670830248314786326),
            (-0.96797615037608542021, -0.23991106241273435495, 0.07392465377049164954)))),
        (row((0.49, 0.05, 0.21), (-0.44, -0.61499999999858001587, 0.355), (-Y, X, Z)),
         row((0.035, 0.12, 0.03), (-0.40653441507331000704, -0.69166166923735727945, 0.43057093858718892276), turned(
            (0.83512153565236335595, -0.55006546945762568868, 0.0),
            (0.55006546945762568868, 0.83512153565236313391, 0.0), (0.0, 0.0, 1.0)))),
        (row((0.05, 0.55, 0.3), (0.75, 0.0, 0.15), turned(
            (0.00079632671073326442932, -0.99999968293183538748, 0.0),
            (0.99999968293183538748, 0.00079632671073326442932, 0.0), (0.0, 0.0, 1.0))),
         row((0.25, 0.2, 0.15), (0.75, 0.0, 0.15), (Z, -X, -Y))),
    ]  # fmt: skip
    for a, b in pairs:
        expected = signed_distance_of_hulls(corners("box", a), corners("box", b))
        for x, y in ((a, b), (b, a)):
            assert abs(compiled("box", "box")(x, y)[0] - expected) < 4e-15, expected


def test_distances_of_boxes_and_cylinders_in_special_poses_are_exact() -> None:
    kernel = compiled("box", "cylinder")
    can = lambda radius, length, position, R: np.concatenate([np.asarray(R).ravel(), position, [radius, 0.5 * length]])  # noqa: E731
    c, s = np.cos(2.0 * 0.130526), np.sin(2.0 * 0.130526)
    # fcl 319: beside a table, 0.8 − 0.39/2 − 0.4 − 0.18 from it; 324: a can in a crate
    table = row((0.05, 0.39, 1.47), (0.8, -0.385, 0.735), (-Y, X, Z))
    shelf = row((0.025, 0.35, 1.845), (0.8, -0.4575, 1.0225), (-Y, X, Z))
    beside = kernel(table, can(0.18, 0.18, (0.4, -0.4, 0.93), ((c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0))))
    assert abs(beside[0] - 0.025) < 1e-15 and np.abs(beside[1:4] + X).max() < 1e-13
    inside = kernel(row((1.0, 1.0, 1.0)), can(0.25, 0.25, (0.2, 0.0, 0.0), np.eye(3)))
    assert abs(inside[0] + 0.55) < 1e-15 and np.abs(inside[1:4] - X).max() < 1e-13
    # fcl 390: a can askew near a shelf; and one that lies along it, 1.6e-8 apart, tilted by 6.3e-6
    position = (0.87472781461138560122, -0.4038687881347159947, 1.5871328698116491385)
    z = np.array([0.19526123781136842106, 0.97072639199619581429, 0.13986894183635001365])
    askew = can(0.05, 0.06, position, frame(z))
    check("box", "cylinder", shelf, askew, kernel(shelf, askew), "fcl 390")
    tilt, position = 6.3260669e-06, np.array([0.57500009756757608503, -0.42711963046787942977, 1.1867093358746836351])
    lying = can(0.05, 0.06, position, frame(np.array([tilt, 1.0, 0.0]) / np.hypot(tilt, 1.0)))
    outputs = kernel(shelf, lying)
    along = (-0.445 - position[1]) * tilt  # of the axis, where the shelf ends
    assert abs(outputs[0] - ((0.625 - position[0] - along) / np.hypot(tilt, 1.0) - 0.05)) < 1e-15
    # fcl 408: a ball of 0.06 just over an edge of a box
    ball = compiled("point", "box")((1.7855056639081962e-10, 0.04, 0.33), row((0.1, 0.1, 0.1), (0.05, 0.15, 0.35)))
    assert abs(ball[0] - 0.06) < 1e-16


def frame(z):
    """A rotation whose z axis is this one."""
    x = np.cross((0.0, 0.0, 1.0), z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def test_small_box_on_a_large_box_has_four_contact_points() -> None:
    """mujoco_warp 1430: half sizes of 1 to 100 m, with a small box that rests on them, anywhere."""
    kernel = compiled("box", "box")
    upright = lambda *p: Pose(Rotation.identity(), Vec3(*p))  # noqa: E731
    for half in (1.0, 10.0, 25.0, 50.0, 100.0):
        for part, gap in itertools.product((0.0, 0.3, 0.9), (1e-3, 1e-9, 0.0, -1e-9, -1e-3)):
            position = (part * half, -part * half, 0.35 + gap)
            outputs = kernel(row((2.0 * half, 2.0 * half, 0.5)), row((0.2, 0.2, 0.2), position))
            assert abs(outputs[0] - gap) < 1e-16 * half and np.abs(outputs[1:4] - Z).max() < 1e-15
            assert outputs[10] == 0.0
            large = Solid(BoxCore(upright(0.0, 0.0, 0.0), Vec3(half, half, 0.25)))
            points = contacts(large, Solid(BoxCore(upright(*position), Vec3(0.1, 0.1, 0.1))), within=0.01).points
            assert [abs(p.depth + gap) < 1e-16 * half for p in points if p.exists] == [True] * 4, (half, part, gap)


def test_signed_distances_of_hulls_equal_the_gap_along_the_normal() -> None:
    """mujoco 3383: random hulls; planes across the normal prove the distance."""
    rng = np.random.default_rng(7)
    n = 3000
    x, y = rows("hull", rng, n), rows("hull", rng, n)
    x[:, 12:], y[:, 12:] = x[0, 12:], y[0, 12:]
    x[:, 12:] *= 0.2
    y[:, 12:] *= 0.2
    y[:, 9:12] = x[:, 9:12] + rng.uniform(-0.5, 0.5, (n, 3))
    outputs = compiled("hull", "hull")(x, y)
    d, normal = outputs[:, 0], outputs[:, 1:4]
    heights = lambda x: np.einsum("ni,nvi->nv", normal, np.array([corners("hull", v) for v in x]))  # noqa: E731
    gap = heights(y).min(1) - heights(x).max(1)
    assert np.abs(gap - d).max() < 2e-15 and (d > 0.01).sum() > 1500 and (d < 0.0).sum() > 300
    apart = np.flatnonzero(d > 0.0)
    between = outputs[apart, 7:10] - outputs[apart, 4:7]
    assert np.abs(np.linalg.norm(between, axis=1) - d[apart]).max() < 1e-15
    for kind, v, points in (("hull", x, outputs[:, 4:7]), ("hull", y, outputs[:, 7:10])):
        assert off_surface(kind, v[apart[:300]], points[apart[:300]]).max() < 2e-15
    directions = rng.normal(size=(128, 3))  # and no plane of any other direction leaves more, apart or not
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    for k in range(0, n, 10):
        a, b = corners("hull", x[k]), corners("hull", y[k])
        assert ((b @ directions.T).min(0) - (a @ directions.T).max(0)).max() <= d[k] + 2e-15


def test_penetration_depth_of_overlapping_prisms_is_exact() -> None:
    """drake 21673: a wheel's prism of six sides and a triangle's; and just touching."""
    position, (c, s) = (4.2864836941313040342, 7.3869576872253679412), (-0.94039051098122172778, 0.34009658459984087875)
    ring = [(np.cos(k * np.pi / 3.0), np.sin(k * np.pi / 3.0)) for k in range(6)] @ np.array(
        [[s, -c], [c, s]]
    ) + position
    triangle = ((4.149402, 8.493709), (5.188451, 7.476263), (3.931647, 7.374503))
    wheel, wedge = (np.array([(*p, h) for p in points for h in (-0.5, 0.5)]) for points in (ring, triangle))
    pose_row = np.concatenate([np.eye(3).ravel(), np.zeros(3)])
    a, b = np.r_[pose_row, wheel.ravel()], np.r_[pose_row, wedge.ravel(), wedge.ravel()]  # each corner twice
    outputs = compiled("hull", "hull")(a, b)
    assert abs(outputs[0] - signed_distance_of_hulls(wheel, wedge)) < 1e-14 and outputs[0] < -0.4
    for gap in (1e-9, 0.0, -1e-9):
        b[9:12] -= (outputs[0] - gap) * outputs[1:4]
        outputs = compiled("hull", "hull")(a, b)
        assert abs(outputs[0] - gap) < 1e-14


def test_pairs_of_shapes_without_a_unique_normal_have_exact_distances() -> None:
    """Spheres about one center, segments along each other, parallel edges, and concentric bodies."""
    rng = np.random.default_rng(3)
    R = rotations(rng, 1)[0]
    center = np.array([0.1, -0.2, 0.3])
    half = {"cylinder": (0.3, 0.5), "cone": (0.3, 0.5), "ellipsoid": (0.3, 0.4, 0.5)}
    for kind, sizes in half.items():
        body = np.concatenate([R.ravel(), center, sizes])
        outputs = compiled("point", kind)(center, body)
        least = 0.3 * 1.0 / np.hypot(1.0, 0.3) * 0.5 if kind == "cone" else 0.3  # a cone's side is nearer than its base
        assert abs(outputs[0] + least) < 1e-15 and np.isfinite(outputs).all() and outputs[10] == 0.0, (kind, outputs)
    same = compiled("point", "point")(center, center)
    assert same[0] == 0.0 and np.linalg.norm(same[1:4]) == 1.0 and same[10] == 0.0
    along = compiled("segment", "segment")(np.r_[center, R[:, 2]], np.r_[center + 0.4 * R[:, 0], 0.5 * R[:, 2]])
    assert abs(along[0] - 0.4) < 1e-15 and along[10] == 0.0
