"""Functions of one joint: between its two frames and, in either direction, between its two links.

F is the frame before the joint (the stator), M the frame after it (the rotor).  P is the link that an input ``parent_``
means and B its child; where they are swapped, P is the link after the joint, and everything is as if the joint led the
other way, with the signs of q, v and τ kept.
"""

from .forces import ROWS as _FORCES
from .kinematics import ROWS as _KINEMATICS
from .links import ROWS as _LINKS
from .manifold import ROWS as _MANIFOLD
from .rates import ROWS as _RATES
from .site import Site

__all__ = ["ROWS", "Site"]

ROWS = (*_KINEMATICS, *_FORCES, *_RATES, *_MANIFOLD, *_LINKS)
