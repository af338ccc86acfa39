"""Pairs of links whose contacts a compiled model excludes, and further pairs that it checks.

MuJoCo checks two geoms if their bit masks match (``contype`` and ``conaffinity``), unless their bodies are rigidly
connected, are parent and child (except for the world), or are excluded.  An explicit pair of geoms is always checked.
linkwork skips links on bodies that a joint connects.
"""

from __future__ import annotations

from itertools import combinations

from linkwork.formats.mjcf.bodies_and_joints import Structure
from linkwork.formats.mjcf.compiled_model import CompiledModel
from linkwork.model.body import DisabledPair

__all__ = ["read_pairs"]

_MOST_LINKS = 400  # with collision shapes, for which pairs are compared by their bit masks
Pairs = tuple[tuple[DisabledPair, ...], tuple[tuple[str, str], ...]]


def read_pairs(source: CompiledModel, structure: Structure) -> Pairs:
    """Return the pairs of links that are not checked, and those that are checked though a joint connects them."""
    array = source.array
    links = {link.name: link for link in structure.links}
    masks: dict[str, set[tuple[int, int]]] = {}  # of each link with collision shapes
    geoms = zip(array("geom_bodyid"), array("geom_contype"), array("geom_conaffinity"), strict=True)
    bodies = array("geom_bodyid")
    for body, contype, conaffinity in geoms:
        if links[source.bodies[body]].collisions and (contype or conaffinity):
            masks.setdefault(source.bodies[body], set()).add((contype, conaffinity))
    stated = {
        frozenset((source.bodies[bodies[a]], source.bodies[bodies[b]]))
        for a, b in zip(array("pair_geom1"), array("pair_geom2"), strict=True)
    }
    for pair in stated:
        for name in pair:
            masks.setdefault(name, set())
    excluded = {
        frozenset((source.bodies[x >> 16], source.bodies[x & 0xFFFF])): "User" for x in array("exclude_signature")
    }
    if source.disabled & {"contact", "constraint"}:
        source.ignored("contacts are disabled by the file's option; linkwork checks what the file would check")
    if len(masks) > _MOST_LINKS:
        source.ignored(f"bit masks of contacts are not taken: more than {_MOST_LINKS} links have collision shapes")
        pairs = [sorted(pair) for pair in excluded if len(pair) == 2 and pair not in stated]
        return tuple(DisabledPair(a, b, "User") for a, b in pairs), ()
    return _compared(source, structure, masks, stated, excluded)


def _compared(
    source: CompiledModel,
    structure: Structure,
    masks: dict[str, set[tuple[int, int]]],
    stated: set[frozenset[str]],
    excluded: dict[frozenset[str], str],
) -> Pairs:
    rigid = structure.rigid()
    carrier = {rigid[joint.child]: rigid[joint.parent] for joint in structure.joints if joint.joint.nv > 0}
    joined = {frozenset(pair) for pair in carrier.items()}
    real = {*source.bodies}

    def before(body: str) -> str | None:
        """Return the body before a rigid body in MuJoCo, across the links of a body's several joints."""
        result = carrier.get(body)
        while result is not None and result not in real:
            result = carrier.get(result)
        return result if result is None else rigid[result]

    parents = {body: before(body) for body in {*rigid.values()}}
    fixed = rigid[source.bodies[0]]
    filter_parents = "filterparent" not in source.disabled
    touching: dict[tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]]], bool] = {}
    sets = {name: frozenset(mask) for name, mask in masks.items()}
    disabled, enabled = [], []
    for a, b in combinations(masks, 2):
        one, other = rigid[a], rigid[b]
        if one == other:
            continue
        pair = frozenset((a, b))
        family = fixed not in (one, other) and (parents[one] == other or parents[other] == one)
        key = sets[a], sets[b]
        if key not in touching:
            touching[key] = any(x & v or y & u for u, v in key[0] for x, y in key[1])
        checked = pair in stated or (touching[key] and pair not in excluded and not (family and filter_parents))
        if checked and frozenset((one, other)) in joined:
            enabled.append((a, b))
        elif not checked and frozenset((one, other)) not in joined:
            reason = "User" if pair in excluded else "Adjacent" if family and filter_parents else "Default"
            disabled.append(DisabledPair(a, b, reason))
    return tuple(disabled), tuple(enabled)
