"""Mechanisms that are known in closed form."""

import numpy as np

import linkwork as lw

HINGE = lw.joints.Revolute((0, 1, 0))


def rod(name, length):
    """A thin rod of 1 kg/m from its frame's origin along x."""
    return lw.Link(name, mass=length, com=(length / 2, 0, 0), inertia=(0.0, length**3 / 12, length**3 / 12))


def linkage(crank=1.0, coupler=2.5, rocker=2.0, ground=3.0, **limits):
    """A planar four-bar: the crank at the origin, the rocker at ``ground``, pinned at the coupler's end.

    Angles about y: a crank at q is at −q from x toward z.
    """
    robot = lw.Robot.build(
        "linkage",
        *(rod("crank", crank), rod("coupler", coupler), rod("rocker", rocker)),
        lw.Joint.of(HINGE, name="crank", parent="world", child="crank"),
        lw.Joint.of(HINGE, name="knee", parent="crank", child="coupler", placement=lw.pose((crank, 0, 0))),
        lw.Joint.of(HINGE, name="rocker", parent="world", child="rocker", placement=lw.pose((ground, 0, 0)), **limits),
    )
    robot = robot.with_frame("end", "coupler", lw.pose((coupler, 0, 0)))
    return robot.with_frame("tip", "rocker", lw.pose((rocker, 0, 0))).with_loop("pin", "end", "tip", HINGE)


def freudenstein(angle, crank=1.0, coupler=2.5, rocker=2.0, ground=3.0):
    """The rocker's two angles by the crank's, (..., 2): from K1 cos ψ − K2 cos φ + K3 = cos(φ − ψ)."""
    phi = np.asarray(angle, dtype=float)[..., np.newaxis]
    a, b, c, d = crank, coupler, rocker, ground
    x, z = a * np.cos(phi) - d, a * np.sin(phi)  # from the rocker's pivot to the crank's end
    r = np.hypot(x, z)
    inside = np.arccos((r**2 + c**2 - b**2) / (2 * r * c))
    return np.arctan2(z, x) + np.array([1.0, -1.0]) * inside


def five_bar():
    """Two chains of two rods from the ground, pinned at their ends: two degrees of freedom."""
    parts = []
    for side, x in (("left", 0.0), ("right", 1.5)):
        parts += [rod(f"{side}_upper", 1.0), rod(f"{side}_lower", 1.2)]
        parts.append(
            lw.Joint.of(
                HINGE, name=f"{side}_hip", parent="world", child=f"{side}_upper", placement=lw.pose((x, 0.0, 0.0))
            )
        )
        parts.append(
            lw.Joint.of(
                HINGE,
                name=f"{side}_knee",
                parent=f"{side}_upper",
                child=f"{side}_lower",
                placement=lw.pose((1.0, 0, 0)),
            )
        )
    robot = lw.Robot.build("five-bar", *parts)
    for side in ("left", "right"):
        robot = robot.with_frame(f"{side}_end", f"{side}_lower", lw.pose((1.2, 0.0, 0.0)))
    return robot.with_loop("pin", "left_end", "right_end", HINGE)


LEG_ROOTS = np.array([[0.0, 0.0], [3.0, 0.0], [1.5, 2.6]])
LEG_TIPS = np.array([[-0.5, -0.3], [0.5, -0.3], [0.0, 0.6]])
LEG_RODS = (1.2, 1.1)


def three_legs():
    """A platform in the plane of x and z, carried by three legs of two rods: 3-RRR."""
    parts = [
        lw.Link("sled", mass=0.1, inertia=(0.01, 0.01, 0.01)),
        lw.Link("lift", mass=0.1, inertia=(0.01, 0.01, 0.01)),
        lw.Link("platform", mass=1.0, inertia=(0.1, 0.1, 0.1)),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="x", parent="world", child="sled"),
        lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="z", parent="sled", child="lift"),
        lw.Joint.of(HINGE, name="turn", parent="lift", child="platform"),
    ]
    for k, (x, z) in enumerate(LEG_ROOTS):
        parts += [rod(f"upper{k}", LEG_RODS[0]), rod(f"lower{k}", LEG_RODS[1])]
        root, knee = lw.pose((x, 0, z)), lw.pose((LEG_RODS[0], 0, 0))
        parts.append(lw.Joint.of(HINGE, name=f"hip{k}", parent="world", child=f"upper{k}", placement=root))
        parts.append(lw.Joint.of(HINGE, name=f"knee{k}", parent=f"upper{k}", child=f"lower{k}", placement=knee))
    robot = lw.Robot.build("three legs", *parts)
    for k, (x, z) in enumerate(LEG_TIPS):
        robot = robot.with_frame(f"foot{k}", f"lower{k}", lw.pose((LEG_RODS[1], 0, 0)))
        robot = robot.with_frame(f"corner{k}", "platform", lw.pose((x, 0, z)))
        robot = robot.with_loop(f"ankle{k}", f"foot{k}", f"corner{k}", HINGE)
    return robot


def three_leg_angles(x, z, turn):
    """Return the hips' and knees' angles (3, 2, 2) of both branches of each leg, by the platform's pose."""
    result = np.zeros((3, 2, 2))
    for k in range(3):
        cx, cz = LEG_TIPS[k]  # a turn about y by t takes x to x cos t + z sin t, z to −x sin t + z cos t
        dx = x + cx * np.cos(turn) + cz * np.sin(turn) - LEG_ROOTS[k][0]
        dz = z - cx * np.sin(turn) + cz * np.cos(turn) - LEG_ROOTS[k][1]
        a, b = LEG_RODS
        knee = np.arccos((dx**2 + dz**2 - a**2 - b**2) / (2 * a * b))
        for branch, sign in enumerate((1.0, -1.0)):
            bent = sign * knee
            hip = np.arctan2(-dz, dx) - np.arctan2(b * np.sin(bent), a + b * np.cos(bent))
            result[k, branch] = hip, bent
    return result


SLIDER = {"crank": 0.4, "rod": 1.3, "aside": 0.35}


def _length_of_rod(k):
    pin, slider = k.point("pin"), k.point("slider_pin")
    apart = pin - slider
    return (apart.dot(apart) - SLIDER["rod"] ** 2) / (2 * SLIDER["rod"])


def spatial_slider_crank():
    """A crank about y and a slider along x beside its plane, a rod with balls at both ends between them."""
    robot = lw.Robot.build(
        "spatial slider-crank",
        rod("crank", SLIDER["crank"]),
        lw.Link("slider", mass=1.0, inertia=(0.1, 0.1, 0.1)),
        lw.Joint.of(HINGE, name="crank", parent="world", child="crank"),
        lw.Joint.of(
            lw.joints.Prismatic((1, 0, 0)),
            name="slide",
            parent="world",
            child="slider",
            placement=lw.pose((0.0, SLIDER["aside"], 0.0)),
        ),
    )
    robot = robot.with_point("pin", "crank", (SLIDER["crank"], 0, 0)).with_point("slider_pin", "slider", (0, 0, 0))
    return robot.with_constraints(lw.constraints.Holonomic("rod", _length_of_rod))


def hexapod(closing=None):
    """A platform on six legs, each a universal joint, a slider and a joint ``closing`` its loop, a ball by default."""
    leg = lw.joints.Prismatic((0, 0, 1)) if closing is None else lw.joints.Cylindrical((0, 0, 1))
    inertia = (0.01, 0.01, 0.01)
    parts = [
        lw.Link("platform", mass=2.0, inertia=(0.1, 0.1, 0.1)),
        lw.Joint.of(lw.joints.Floating(), name="carried", parent="world", child="platform"),
    ]
    for k, angle in enumerate(np.radians([-10, 10, 110, 130, 230, 250])):
        root = lw.pose((0.5 * np.cos(angle), 0.5 * np.sin(angle), 0))
        parts += [lw.Link(f"cylinder{k}", mass=0.2, inertia=inertia), lw.Link(f"piston{k}", mass=0.2, inertia=inertia)]
        parts.append(
            lw.Joint.of(lw.joints.Universal(), name=f"tilt{k}", parent="world", child=f"cylinder{k}", placement=root)
        )
        parts.append(lw.Joint.of(leg, name=f"leg{k}", parent=f"cylinder{k}", child=f"piston{k}"))
    robot = lw.Robot.build("hexapod", *parts)
    for k, angle in enumerate(np.radians([-50, 50, 70, 170, 190, 290])):
        robot = robot.with_frame(f"corner{k}", "platform", lw.pose((0.3 * np.cos(angle), 0.3 * np.sin(angle), 0)))
        robot = robot.with_loop(f"top{k}", f"piston{k}", f"corner{k}", closing or lw.joints.Spherical())
    return robot
