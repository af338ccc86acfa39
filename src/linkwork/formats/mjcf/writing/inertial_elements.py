"""Inertias of links as <inertial> of MJCF, within the bounds that MuJoCo's compiler checks.

MuJoCo refuses a principal moment that exceeds the sum of the others by one rounding, and a moving body whose mass or
least moment is below 1e-15.  The inertias of thin rods, flat plates and points are at these bounds.  Such an inertia is
written by its principal moments, which MuJoCo does not compute anew.
"""

from __future__ import annotations

import numpy as np

from linkwork.formats.description import mass_properties, moments_possible
from linkwork.formats.mjcf.writing.mjcf_document import MjcfDocument, quaternion_text
from linkwork.formats.written_content import LEAST_MOMENT, is_at_bounds
from linkwork.formats.xml_text import Node, number_list_text, number_text
from linkwork.model import Frame
from linkwork.spatial import Rotation, Symmetric3, Vec3

__all__ = ["add_inertial"]

_EXACT = 1e-13  # relative change of a moment that is rounding of float64


def add_inertial(document: MjcfDocument, node: Node, link: Frame, *, moves: bool) -> None:
    """Add the mass, the centre of mass and the rotational inertia of a link to its <body>."""
    mass, center, about = mass_properties(link.inertia)
    element = f"link[{link.name}]"
    if moves and mass < LEAST_MOMENT:
        document.log.lost(element, f"MuJoCo refuses a moving link with a mass below {0.5 * LEAST_MOMENT:g} kg")
    moments, axes = _principal(about)
    low, middle, high = moments
    if not moments_possible(mass, moments)[1]:
        message = f"MuJoCo refuses the principal moments {low:.6g}, {middle:.6g}, {high:.6g} kg m², which no body has"
        document.log.lost(element, message, 'load the robot with inertia="nearest"')
    elif is_at_bounds(moments):
        written = _admissible(moments, LEAST_MOMENT if moves else 0.0)
        if any(abs(a - b) > _EXACT * high for a, b in zip(written, moments, strict=True)):
            message = (
                f"moments of inertia at MuJoCo's bounds (A + B >= C, {LEAST_MOMENT:g} kg m²) are written within them"
            )
            document.log.changed(element, message)
        node.add(
            "inertial",
            pos=number_list_text(center),
            mass=number_text(mass),
            quat=None if axes == Rotation.identity() else quaternion_text(axes),
            diaginertia=number_list_text(written),
        )
        return
    full = (about.xx, about.yy, about.zz, about.xy, about.xz, about.yz)
    node.add("inertial", pos=number_list_text(center), mass=number_text(mass), fullinertia=number_list_text(full))


def _principal(about: Symmetric3) -> tuple[tuple[float, float, float], Rotation]:
    """Return the principal moments in ascending order, and the rotation of the principal axes."""
    scale = max(map(abs, about.elements())) or 1.0
    xx, xy, xz, yy, yz, zz = (x / scale for x in about.elements())
    moments, axes = np.linalg.eigh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    low, middle, high = (float(x) * scale for x in moments)
    return (low, middle, high), Rotation(*(Vec3.of(row) for row in axes.tolist()))


def _admissible(moments: tuple[float, float, float], least: float) -> tuple[float, float, float]:
    """Return moments of at least a bound, each at most the sum of the other two in float64."""
    low, middle, high = (max(x, least) for x in moments)
    return low, middle, min(high, low + middle)
