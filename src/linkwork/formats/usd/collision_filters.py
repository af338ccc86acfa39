"""Pairs of links without collisions: filtered pairs, collision groups, and articulations without self-collisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

from linkwork.formats.description import DisabledPair
from linkwork.formats.usd.body_masses import Collider
from linkwork.formats.usd.prim_values import PrimReader

__all__ = ["disabled_pairs"]

_MAX_PAIRS = 1_000_000  # of colliders that are compared


def disabled_pairs(
    reader: PrimReader, prims: list[Any], links: Mapping[str, str], colliders: Mapping[str, list[Collider]]
) -> list[DisabledPair]:
    """Return the pairs of links between which a stage disables all collisions.

    ``prims`` are all prims of the stage, ``links`` the names of links by the path of their prims, and ``colliders``
    the colliders of each link by the link's name. A pair of links is disabled only if the stage disables all pairs of
    their colliders.
    """
    owner = {str(c.prim.GetPath()): link for link, colliders_of_link in colliders.items() for c in colliders_of_link}
    if len(owner) ** 2 > _MAX_PAIRS:
        if any(_is_filter(prim) for prim in prims):
            message = (
                f"filters of collisions between {len(owner)} colliders are not read: all pairs of links are checked"
            )
            reader.note(prims[0], message)
        return []
    filtered: set[frozenset[str]] = set()
    groups: dict[str, tuple[Any, list[str]]] = {}
    for prim in prims:
        schemas = prim.GetAppliedSchemas()
        if "PhysicsFilteredPairsAPI" in schemas:
            paths = _below(str(prim.GetPath()), owner)
            for target in reader.targets(prim, "physics:filteredPairs"):
                filtered |= _products(paths, _below(str(target), owner))
        if str(prim.GetTypeName()) == "PhysicsCollisionGroup":
            groups[str(prim.GetPath())] = prim, _members(prim, owner)
        for name in ("newton:selfCollisionEnabled", "physxArticulation:enabledSelfCollisions"):
            if prim.HasAttribute(name) and len({owner[path] for path in _below(str(prim.GetPath()), owner)}) > 1:
                paths = [] if reader.flag(prim, name, True) else _below(str(prim.GetPath()), owner)
                filtered |= _products(paths, paths)
    filtered |= _between_groups(reader, groups, owner)
    if not filtered:
        return []
    by_link: dict[str, list[str]] = {}
    for path, link in owner.items():
        by_link.setdefault(link, []).append(path)
    result = []
    for a, b in combinations(by_link, 2):
        pairs = [frozenset((x, y)) for x in by_link[a] for y in by_link[b]]
        count = sum(pair in filtered for pair in pairs)
        if count == len(pairs):
            result.append(DisabledPair(a, b))
        elif count:
            message = f"collisions between links {a!r} and {b!r} are filtered for some shapes only: all are checked"
            reader.note(links_prim(links, a), message)
    return result


def links_prim(links: Mapping[str, str], name: str) -> str:
    """Return the path of a link's prim by the link's name; the root for the world."""
    return next((path for path, link in links.items() if link == name), "/")


def _is_filter(prim: Any) -> bool:
    return "PhysicsFilteredPairsAPI" in prim.GetAppliedSchemas() or str(prim.GetTypeName()) == "PhysicsCollisionGroup"


def _below(path: str, owner: Mapping[str, str]) -> list[str]:
    """Return the paths of the colliders at or below a path."""
    return [collider for collider in owner if collider == path or collider.startswith(path.rstrip("/") + "/")]


def _products(first: Iterable[str], second: Iterable[str]) -> set[frozenset[str]]:
    second_paths = [*second]
    return {frozenset((a, b)) for a in first for b in second_paths if a != b}


def _members(group: Any, owner: Mapping[str, str]) -> list[str]:
    from pxr import Sdf, Usd

    query = Usd.CollectionAPI(group, "colliders").ComputeMembershipQuery()
    return [path for path in owner if query.IsPathIncluded(Sdf.Path(path))]


def _between_groups(
    reader: PrimReader, groups: Mapping[str, tuple[Any, list[str]]], owner: Mapping[str, str]
) -> set[frozenset[str]]:
    """Return the pairs of colliders that collision groups exclude; groups with the same mergeGroup are one group."""
    merged: dict[str, list[str]] = {}
    for path, (prim, _) in groups.items():
        merged.setdefault(str(reader.value(prim, "physics:mergeGroup") or path), []).append(path)
    name_of = {path: name for name, paths in merged.items() for path in paths}
    members = {name: {x for path in paths for x in groups[path][1]} for name, paths in merged.items()}
    result: set[frozenset[str]] = set()
    for name, paths in merged.items():
        inverted = any(reader.flag(groups[path][0], "physics:invertFilteredGroups", False) for path in paths)
        named = {
            name_of.get(str(target), "")
            for path in paths
            for target in reader.targets(groups[path][0], "physics:filteredGroups")
        }
        allowed: set[str] = set()
        for group in named:
            allowed |= members.get(group, set())
        result |= _products(members[name], set(owner) - allowed if inverted else allowed)
    return result
