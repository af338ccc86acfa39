"""Check of the links on the left and the right of a robot: their centres of mass are mirror images of each other.

Links are a pair if their names differ by left and right, their masses and moments of inertia are equal, and their
origins are mirror images in the plane y = 0 or x = 0 with all joints at zero.  Equal parts on both sides are left out:
their centres have the same coordinates in the axes of the links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from linkwork.compare.plausibility.link_checks import SIGNS, LinkMass
from linkwork.compare.plausibility.model_check import ModelFinding, finding
from linkwork.model import Frame
from linkwork.spatial import Pose

__all__ = ["mirrored_findings"]

_EQUAL = 0.01  # relative difference of masses and of moments of inertia
_NEAR = 2e-3  # distance of an origin from the mirror image of the other, relative to the robot's size
_APART = 0.01  # distance of an image from the expected one, relative to the robot's size, from which on it is reported
_FITS = 0.1  # the same with a sign changed, relative to that as stated
_MIRRORS = np.array([1.0, -1.0, 1.0]), np.array([-1.0, 1.0, 1.0])
_SIDE = re.compile("left|right", re.IGNORECASE)


def mirrored_findings(frames: Sequence[Frame], poses: Mapping[int, Pose], size: float) -> Iterator[ModelFinding]:
    """Yield a finding on each pair of links whose centres of mass are mirror images but for a sign.

    ``poses`` are those of the bodies with all joints at zero; ``size`` [m] is that of the robot.
    """
    sides: dict[str, list[Frame]] = {}
    for frame in frames:
        if frame.inertia.mass > 0.0:
            sides.setdefault(_without_side(frame.name), []).append(frame)
    for pair in sides.values():
        if len(pair) == 2 and size > 0.0:
            yield from _of_pair(pair[0], pair[1], poses, size)


def _without_side(name: str) -> str:
    """Return a name that is the same for a link on the left and the one on the right: "FL_calf" and "FR_calf"."""
    return re.sub("[LRlr]", "?", _SIDE.sub("?", name))


def _of_pair(left: Frame, right: Frame, poses: Mapping[int, Pose], size: float) -> Iterator[ModelFinding]:
    own, other = LinkMass.of(left), LinkMass.of(right)
    moments = [np.linalg.eigvalsh(one.about) for one in (own, other)]
    if abs(own.mass - other.mass) > _EQUAL * own.mass or np.ptp(moments, axis=0).max() > _EQUAL * moments[0][-1]:
        return
    X, Y = (poses[one.body].matrix() @ one.placement.matrix() for one in (left, right))
    if np.linalg.norm(own.center - other.center) < _NEAR * size:
        return
    for mirror in _MIRRORS:
        origin = mirror * X[:3, 3]
        if np.linalg.norm(origin - Y[:3, 3]) > _NEAR * size or np.linalg.norm(origin - X[:3, 3]) < 2.0 * _APART * size:
            continue
        image = mirror * (X[:3, :3] @ own.center)
        error = float(np.linalg.norm(image - Y[:3, :3] @ other.center))
        if error < _APART * size:
            return
        for axes, signs in SIGNS.items():
            if np.linalg.norm(image - Y[:3, :3] @ (signs * other.center)) < _FITS * error:
                text = (
                    f"the centre of mass is {error:.3g} m from the mirror image of that of link {left.name!r}, but "
                    f"there with −{axes}: one of both has a wrong sign"
                )
                yield finding("COM_MIRRORED", "link", right.name, text, distance=error)
                return
