"""Pairs from random searches: overlaps with depths or points that rounding once spoiled.

Of the polytopes, slivers among the facets of their difference take more nested cuts than there is room for; the others
are touched next to the end of a side, which seemed to be touched itself.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.geometry import PolytopeCore
from linkwork.geometry.pairs.convex.convex_pair import convex
from linkwork.spatial import Vec3

from .minkowski import signed_distance_of_hulls
from .pairs import CORES, corners, heights, off_surface, placed

CASES = json.loads((Path(__file__).parent / "found.json").read_text(encoding="utf-8"))
FLAT = ("segment", "box", "hull")


def core(kind: str, x: Any) -> Any:
    if kind != "hull":
        return CORES[kind][1](x)
    return PolytopeCore(placed(x), [Vec3.of(x[k : k + 3]) for k in range(12, len(x), 3)])


@cache
def compiled(a: str, b: str, na: int, nb: int) -> lw.Kernel:
    def measured(x: Any, y: Any) -> Any:
        result = convex(core(a, x), core(b, y))  # the search, also where a pair has a function of its own by now
        return np.array([result.distance, *result.normal, *result.on_a, *result.on_b], dtype=object)

    return lw.compile(measured, x=na, y=nb)


@pytest.mark.slow(every=9)
def test_penetration_depths_and_witness_points_of_difficult_pairs_are_exact() -> None:
    for pair in CASES:
        (a, b), x, y = pair["kinds"], np.array(pair["a"]), np.array(pair["b"])
        outputs = compiled(a, b, len(x), len(y))(x, y)
        d, n, on_a, on_b = outputs[0], outputs[1:4], outputs[4:7], outputs[7:10]
        assert d < 0.0 and np.abs(on_b - on_a - d * n).max() < 1e-15
        gap = -heights(a, x[None], n[None, None]) - heights(b, y[None], -n[None, None])
        assert abs(gap[0, 0] - d) < 2e-15, (a, b)
        off = off_surface(a, x[None], on_a[None])[0], off_surface(b, y[None], on_b[None])[0]
        assert max(off) < 3e-15, (a, b, off)
        if a in FLAT and b in FLAT:
            assert abs(d - signed_distance_of_hulls(corners(a, x), corners(b, y))) < 3e-15, (a, b)
