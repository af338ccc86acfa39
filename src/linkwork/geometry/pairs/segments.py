"""Two segments: what capsules are without their radius.

The nearest points center + s half and center' + t half' minimise a convex quadratic function of (s, t) over a square:
in its inside, or on one of its edges.

Source: Ericson, Real-Time Collision Detection, 2005, section 5.1.9.
"""

from __future__ import annotations

from ...expr.functions import fmax, fmin, lt, where
from ..cores import SegmentCore
from ..distance import SignedDistance
from .point import towards

__all__ = ["segment_segment"]

_PARALLEL = 1e-14  # sin² of the angle below which segments are taken to be parallel
_NOTHING = 1e-300


def segment_segment(a: SegmentCore, b: SegmentCore) -> SignedDistance:
    """Of two segments, either of which may be a point."""
    u, w, r = a.half, b.half, a.center - b.center
    uu, ww, uw, ur, wr = u.dot(u), w.dot(w), u.dot(w), u.dot(r), w.dot(r)
    across = uu * ww - uw * uw
    crossing = lt(_PARALLEL * uu * ww, across)
    s = where(crossing, (uw * wr - ww * ur) / where(crossing, across, 1.0), 0.0)
    s = fmin(fmax(s, -1.0), 1.0)
    t = (uw * s + wr) / where(lt(_NOTHING, ww), ww, 1.0)
    t = fmin(fmax(t, -1.0), 1.0)
    s = (uw * t - ur) / where(lt(_NOTHING, uu), uu, 1.0)
    s = fmin(fmax(s, -1.0), 1.0)
    found = towards(a.center + u * s, b.center + w * t)
    return SignedDistance(found.distance, found.normal, found.on_a, found.on_b, where(crossing, found.unique, 0.0))
