"""Proof that a loop cannot close: a bar that is longer than the others together.

Joints that turn about a point have this point at a constant position on both of their bodies.  Around a loop of such
joints the distances between consecutive points, the bars, are constant.  They form a closed polygon, so the longest is
at most the sum of the others.  Fixed joints join their two bodies to one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np

from linkwork import joints
from linkwork.constraints import LoopJoint
from linkwork.model import WORLD, Tree

__all__ = ["LongBar", "long_bars"]

_POINT_JOINTS = (
    *(joints.Revolute, joints.UnboundedRevolute, joints.Universal),
    *(joints.Spherical, joints.SphericalEuler, joints.SphericalMRP),
)
_ROUNDING = 1e-9  # of lengths, relative to the longest bar


class LongBar(NamedTuple):
    """A bar of a loop that the other bars cannot span."""

    loop: str
    ends: tuple[str, str]  # names of its joints
    length: float  # [m]
    reach: float  # sum of the lengths of the other bars [m]
    fixed: tuple[str, ...]  # fixed joints of the loop, whose values the proof depends on

    def __str__(self) -> str:
        values = f"for these values of {', '.join(map(repr, self.fixed))}" if self.fixed else "for any joint positions"
        return (
            f"the loop of {self.loop!r} cannot close {values}: the bar between {self.ends[0]!r} and {self.ends[1]!r} "
            f"is {self.length:.6g} m long, the others reach {self.reach:.6g} m; shorten this bar or lengthen another"
        )


def long_bars(tree: Tree, poses: np.ndarray, fixed: Collection[str] = ()) -> Iterator[LongBar]:
    """Yield a bar for each loop that is proved not to close.

    ``poses`` (nb, 4, 4) are the poses of the bodies in any configuration [m] in which the ``fixed`` joints have their
    values.  A proof without the fixed joints comes first.
    """
    X = np.concatenate([poses, np.eye(4)[None]])  # index -1 is the world
    for constraint in tree.constraints:
        if isinstance(constraint, LoopJoint):
            for constant in ((), fixed) if fixed else ((),):
                bar = _long_bar(tree, X, constraint, constant)
                if bar is not None:
                    yield bar
                    break


def _long_bar(tree: Tree, X: np.ndarray, loop: LoopJoint, fixed: Collection[str]) -> LongBar | None:
    """Return the bar of one loop that is too long; None without a proof."""
    first, second = tree.frame(loop.relative_to), tree.frame(loop.frame)
    up, down = list(_ancestors(tree, first.body)), list(_ancestors(tree, second.body))
    common = {*up} & {*down}
    chain = [k for k in up if k not in common] + [k for k in down if k not in common][::-1]
    turning = [(tree.bodies[k].joint_name, tree.bodies[k].joint, _ends(tree, X, k)) for k in chain]
    turning = [entry for entry in turning if entry[0] not in fixed]
    turning.append((loop.name, loop.joint, (_at(X, second), _at(X, first))))
    if len(turning) < 2 or not all(isinstance(joint, _POINT_JOINTS) for _, joint, _ in turning):
        return None
    climbing = {tree.bodies[k].joint_name for k in chain if k in up}
    # along the loop, each joint is left on the side of the next one
    points = [(ends if name in climbing else ends[::-1]) for name, _, ends in turning[:-1]]
    points.append(turning[-1][2])
    names = [name for name, *_ in turning]
    after = [*range(1, len(points)), 0]
    bars = np.array([np.linalg.norm(points[k][1] - points[after[k]][0]) for k in range(len(points))])
    k = int(np.argmax(bars))
    reach = float(bars.sum() - bars[k])
    if not bars[k] > reach + _ROUNDING * bars[k]:  # also for NaN
        return None
    used = tuple(name for name in fixed if name in {tree.bodies[k].joint_name for k in chain})
    return LongBar(loop.name, (names[k], names[after[k]]), float(bars[k]), reach, used)


def _ancestors(tree: Tree, body: int) -> Iterator[int]:
    """Yield a body and those that carry it, without the world."""
    while body != WORLD:
        yield body
        body = tree.bodies[body].parent


def _ends(tree: Tree, X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the point of a joint as a point of its moving body and of the body that carries it (3,) [m]."""
    body = tree.bodies[k]
    moving = X[k] @ body.rotor.inv().formed().matrix()
    carried = X[body.parent] @ body.placement.matrix()
    return moving[:3, 3], carried[:3, 3]


def _at(X: np.ndarray, frame: Any) -> np.ndarray:
    """Return the position (3,) of a frame [m]."""
    result: np.ndarray = (X[frame.body] @ frame.placement.matrix())[:3, 3]
    return result
