"""Pairs of links whose contacts a compiled model excludes, and further pairs that it checks.

MuJoCo checks two geoms if their bit masks match (``contype`` and ``conaffinity``), unless their bodies are rigidly
connected, are parent and child (except for the world), or are excluded.  An explicit pair of geoms is always checked.
linkwork checks links, and skips those on bodies that a joint connects.  Geoms of a link that MuJoCo checks against
different geoms become separate links, which are fixed to that link.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from linkwork.formats.description import DisabledPair, JointDescription, Limits, LinkDescription
from linkwork.formats.mjcf.bodies_and_joints import Structure
from linkwork.formats.mjcf.compiled_model import CompiledModel
from linkwork.joints import Fixed
from linkwork.spatial import Inertia, Pose

__all__ = ["read_pairs"]

_MOST_LINKS = 400  # with collision shapes, for which pairs are compared by their bit masks
_MOST_KINDS = 2000  # of geoms with different masks and partners
Pairs = tuple[tuple[DisabledPair, ...], tuple[tuple[str, str], ...]]


@dataclass(slots=True)
class _Kind:
    """Geoms of a link with equal bit masks (contype, conaffinity) and equal partners in explicit contact pairs."""

    link: str
    contype: int
    conaffinity: int
    partners: frozenset[int]
    geoms: list[int]


def read_pairs(source: CompiledModel, structure: Structure) -> Pairs:
    """Return the pairs of links that are not checked for collisions, and additional pairs that are.

    Additional pairs are those that MuJoCo checks although a joint connects the links. If MuJoCo checks some geoms of a
    link against other geoms than the remaining ones, ``structure`` gets a new link for them.
    """
    kinds = _kinds(source, structure)
    links = {kind.link for kind in kinds}
    signatures = source.array("exclude_signature")
    excluded = {frozenset((source.bodies[x >> 16], source.bodies[x & 0xFFFF])) for x in signatures}
    if source.disabled & {"contact", "constraint"}:
        source.ignored("contacts are disabled by the file's option; linkwork checks what the file would check")
    if len(links) > _MOST_LINKS or len(kinds) > _MOST_KINDS:
        source.unsupported(
            f"bit masks and explicit pairs of contacts are not taken: more than {_MOST_LINKS} links "
            f"or {_MOST_KINDS} kinds of geoms collide"
        )
        pairs = [sorted(pair) for pair in excluded if len(pair) == 2]
        return tuple(DisabledPair(a, b, "User") for a, b in pairs), ()
    bodies = _Bodies(source, structure, excluded)
    checked = _checked(kinds, bodies)
    representatives = _separate(source, structure, kinds, checked)
    disabled, enabled = [], []
    for (name, i), (second_name, j) in combinations(representatives.items(), 2):
        pair = kinds[i].link, kinds[j].link
        is_added = any(added != link == source.bodies[0] for added, link in zip((name, second_name), pair, strict=True))
        if bodies.connected(*pair) and not is_added:  # an added link beside "world" is adjacent to none
            enabled += [(name, second_name)] if checked[i, j] else []
        elif not checked[i, j] and not bodies.same(*pair):
            disabled.append(DisabledPair(name, second_name, bodies.reason(*pair)))
    return tuple(disabled), tuple(enabled)


def _kinds(source: CompiledModel, structure: Structure) -> list[_Kind]:
    """Return the sets of collision geoms that MuJoCo treats alike, in the order of the links and the geoms."""
    array = source.array
    partners: dict[int, set[int]] = {}
    for a, b in zip(array("pair_geom1"), array("pair_geom2"), strict=True):
        partners.setdefault(a, set()).add(b)
        partners.setdefault(b, set()).add(a)
    index = {name: i for i, name in enumerate(source.geoms)}
    contype, conaffinity = array("geom_contype"), array("geom_conaffinity")
    result: dict[tuple[str, int, int, frozenset[int]], _Kind] = {}
    for link in structure.links:
        for i in (index[geometry.name] for geometry in link.collisions):
            key = link.name, contype[i], conaffinity[i], frozenset(partners.get(i, ()))
            result.setdefault(key, _Kind(*key, [])).geoms.append(i)
    return [*result.values()]


def _checked(kinds: list[_Kind], bodies: _Bodies) -> np.ndarray:
    """Return a symmetric bool matrix: True for two sets of geoms between which MuJoCo checks collisions."""
    of_link: dict[str, list[int]] = {}
    of_body: dict[str, list[int]] = {}
    for k, kind in enumerate(kinds):
        of_link.setdefault(kind.link, []).append(k)
        of_body.setdefault(bodies.rigid[kind.link], []).append(k)
    may_touch, differ = np.ones((2, len(kinds), len(kinds)), dtype=bool)
    for apart, groups, pairs in ((may_touch, of_link, bodies.excluded), (may_touch, of_body, bodies.families)):
        for a, b in (tuple(pair) for pair in pairs if len(pair) == 2):
            apart[np.ix_(groups.get(a, []), groups.get(b, []))] = False
            apart[np.ix_(groups.get(b, []), groups.get(a, []))] = False
    for indices in of_body.values():
        differ[np.ix_(indices, indices)] = False
    contype = np.array([kind.contype for kind in kinds], dtype=np.int64)
    conaffinity = np.array([kind.conaffinity for kind in kinds], dtype=np.int64)
    match = (contype[:, None] & conaffinity) != 0
    index = {geom: k for k, kind in enumerate(kinds) for geom in kind.geoms}
    paired = np.zeros(match.shape, dtype=bool)
    for k, kind in enumerate(kinds):
        paired[k, [index[geom] for geom in kind.partners if geom in index]] = True
    result: np.ndarray = (paired | ((match | match.T) & may_touch)) & differ
    return result


def _separate(source: CompiledModel, structure: Structure, kinds: list[_Kind], checked: np.ndarray) -> dict[str, int]:
    """Add a link for each set of a link's geoms that collide with other partners than the remaining geoms do.

    The set with the most partners remains on the link. Return the index in ``kinds`` of a set of geoms of each link.
    """
    sets: dict[str, dict[bytes, list[int]]] = {}
    for i, kind in enumerate(kinds):
        sets.setdefault(kind.link, {}).setdefault(checked[i].tobytes(), []).append(i)
    result, links = {}, {}
    for link, kinds_of_link in sets.items():
        first, *further_sets = sorted(kinds_of_link.values(), key=lambda members: -int(checked[members[0]].sum()))
        result[link] = first[0]
        for members in further_sets:
            geoms = [source.geoms[i] for k in members for i in kinds[k].geoms]
            name = source.frame_names.underscored(f"{link}_{geoms[0]}")
            result[name] = members[0]
            links[name] = (link, {*geoms})
    for name, (link, inside) in links.items():
        k, whole = next((k, candidate) for k, candidate in enumerate(structure.links) if candidate.name == link)
        moved = tuple(shape for shape in whole.collisions if shape.name in inside)
        remaining = tuple(shape for shape in whole.collisions if shape.name not in inside)
        structure.links[k] = replace(whole, collisions=remaining)
        structure.links.append(LinkDescription(name, Inertia.zero(), (), moved, whole.where))
        fixed, weld = Fixed(), source.joint_names.underscored(f"{name}_weld")
        structure.joints.append(
            JointDescription(weld, link, name, fixed, Pose.identity(), Limits.none(fixed), (), (), where=whole.where)
        )
    return result


class _Bodies:
    """Rigid connections and parents of a model's links, in linkwork and in MuJoCo, which decide on contacts."""

    def __init__(self, source: CompiledModel, structure: Structure, excluded: set[frozenset[str]]) -> None:
        self.rigid, self.excluded = structure.rigid(), excluded
        rigid, real = self.rigid, {*source.bodies}
        carrier = {rigid[joint.child]: rigid[joint.parent] for joint in structure.joints if joint.joint.nv > 0}
        world = source.bodies[0]
        self.welded = structure.rigid(world)
        moving = [joint for joint in structure.joints if joint.joint.nv > 0]
        self.joined = {(rigid[joint.child], self.welded[joint.parent]) for joint in moving}

        def before(body: str) -> str | None:
            """Return the parent of a rigid body in MuJoCo.

            The massless links that represent several joints of a body are skipped.
            """
            result = carrier.get(body)
            while result is not None and result not in real:
                result = carrier.get(result)
            return result if result is None else rigid[result]

        fixed, bodies = rigid[world], {*rigid.values()} if "filterparent" not in source.disabled else set()
        parents = {body: parent for body in bodies if (parent := before(body)) is not None}
        self.families = {frozenset(pair) for pair in parents.items() if fixed not in pair}  # which MuJoCo skips

    def same(self, a: str, b: str) -> bool:
        """Return True if links a and b are on the same rigid body."""
        return self.rigid[a] == self.rigid[b]

    def connected(self, a: str, b: str) -> bool:
        """Return True for links whose bodies a joint of linkwork connects: see `linkwork.model.collision_pairs`."""
        return any((self.rigid[x], self.welded[y]) in self.joined for x, y in ((a, b), (b, a)))

    def reason(self, a: str, b: str) -> str:
        """Return the reason, as text, why MuJoCo does not check links a and b for collisions."""
        is_family = frozenset((self.rigid[a], self.rigid[b])) in self.families
        return "User" if frozenset((a, b)) in self.excluded else "Adjacent" if is_family else "Default"
