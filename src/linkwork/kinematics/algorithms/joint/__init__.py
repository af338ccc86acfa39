"""Functions of one joint: between its two frames and, in either direction, between its two links.

F is the frame before the joint (the stator), M the frame after it (the rotor).  P is the link that an input ``parent_``
means and B its child; where they are swapped, P is the link after the joint, and everything is as if the joint led the
other way, with the signs of q, v and τ kept.
"""

from linkwork.kinematics.algorithms.joint.joint_functions import ROWS as _KINEMATICS
from linkwork.kinematics.algorithms.joint.joint_link_functions import ROWS as _LINKS
from linkwork.model.function_spec import table
from linkwork.model.joint_site import Site

__all__ = ["TABLE", "Site"]

TABLE = table((*_KINEMATICS, *_LINKS))
