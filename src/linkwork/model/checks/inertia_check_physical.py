"""The rotational inertias that a body can have, and the nearest of them to one that none has.

With Σ = ∫ r rᵀ dm, the second moments of mass about the centre, the rotational inertia is J = tr(Σ) 1 − Σ, and some
distribution of mass has it exactly where Σ = ½ tr(J) 1 − J has no negative eigenvalue: moments that are not negative
and the triangle inequality between them are the same in one.  (Σ is the upper block of the pseudo-inertia, a 4 × 4
matrix of the ten inertial parameters, about the centre of mass; see Wensing, Kim and Slotine, 2018.)

The nearest possible inertia is that of the nearest such Σ in the Frobenius norm, which does not depend on the axes: the
negative second moments along principal axes become zero, and all others, the mass and its centre stay as they are.
"""

from __future__ import annotations

import numpy as np

from linkwork.spatial import Inertia, Symmetric3, Vec3

__all__ = ["nearest_possible", "taken_apart"]


def taken_apart(inertia: Inertia) -> tuple[float, Vec3, Symmetric3]:
    """Mass, centre of mass and the rotational inertia about it, in the same axes: what `Inertia.at_center` is made of.

    Where there is no mass, the origin stands for its centre.
    """
    if inertia.mass == 0.0:
        return 0.0, Vec3.zero(), inertia.about
    center = inertia.moment * (1.0 / inertia.mass)
    return float(inertia.mass), center, inertia.shifted(-center).about


def nearest_possible(about: Symmetric3) -> tuple[Symmetric3, float]:
    """The rotational inertia about the centre of mass that a body can have and that is nearest to this one, and how
    far it is: ‖Σ' − Σ‖ / ‖Σ‖, a number from 0 (it is itself possible) to 1 (nothing of it is).
    """
    xx, xy, xz, yy, yz, zz = about.elements()
    scale = max(abs(a) for a in about.elements())  # so that nothing leaves float64's range on the way
    if scale == 0.0:
        return about, 0.0
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) / scale
    moments, axes = np.linalg.eigh(0.5 * np.trace(J) * np.eye(3) - J)
    missing = np.maximum(-moments, 0.0)
    if not missing.any():
        return about, 0.0
    change = (axes * missing) @ axes.T
    change = scale * (np.trace(change) * np.eye(3) - change)
    upper = [float(change[i, j]) for i in range(3) for j in range(i, 3)]
    return about + Symmetric3(*upper), float(np.linalg.norm(missing) / np.linalg.norm(moments))
