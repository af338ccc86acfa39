"""Long files, good and bad, of any size, for tests that reading takes work in proportion to the size."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import sdf_texts as sdf
from urdf_texts import joint, link, robot

__all__ = ["DOCUMENTS", "LOOPS", "ROBOTS", "SCENES", "SDF"]

_SPHERE = "<geometry><sphere radius='1'/></geometry>"


def _links(n: int) -> list[str]:
    return [link(f"some_link_{i}", "") for i in range(n)]


def _chain(n: int, kind: str = "revolute") -> str:
    return robot(*_links(n), *(joint(f"j{i}", f"some_link_{i}", f"some_link_{i + 1}", kind) for i in range(n - 1)))


def _materials(n: int) -> str:
    visuals = "".join(f'<visual>{_SPHERE}<material name="n{i}"/></visual>' for i in range(n))
    return robot(*(f'<material name="m{i}"><color rgba="1 1 1 1"/></material>' for i in range(n)), link("a", visuals))


def _long_names(n: int) -> str:
    """Many names of the greatest length that hints compare, all alike, and as many joints that miss one."""
    known = (f"{'ab' * 57}{i:06}" for i in range(n))
    return robot(*(link(name, "") for name in known), *(joint(f"j{i}", f"{'ba' * 57}x{i:05}", "y") for i in range(n)))


ROBOTS: dict[str, Callable[[int], str]] = {
    "chain": _chain,
    "welded chain": lambda n: _chain(n, "fixed"),
    "unknown links": lambda n: robot(*_links(n), *(joint(f"j{i}", f"some_lin_{i}", f"link_{i}") for i in range(n))),
    "roots": lambda n: robot(*_links(n)),
    "star": lambda n: robot(*_links(n), *(joint(f"j{i}", "some_link_0", f"some_link_{i}") for i in range(1, n))),
    "alike names": _long_names,
    "longer names": lambda n: robot(*(link("x" * 1000 + str(i)) + joint(f"j{i}", "x" * 1001, "y") for i in range(n))),
    "unknown tags": lambda n: robot(link("a", ""), *(f"<tag_number_{i}/>" for i in range(n))),
    "unknown attributes": lambda n: robot("<link name='a' " + " ".join(f"number_{i}=''" for i in range(n)) + "/>"),
    "materials": _materials,
    "digits": lambda n: robot(link("a", f'<visual><geometry><box size="1 2 {"9" * n}"/></geometry></visual>' * 10)),
    "words": lambda n: robot(link("a", f'<visual><origin xyz="{"1 " * n}"/>{_SPHERE}</visual>')),
}


def _sdf(n: int, ends: Callable[[int], tuple[int, int]], inner: Callable[[int], str] = lambda i: "") -> str:
    """A model of n links, and n - 1 joints between two of them."""
    joints = (sdf.joint(f"j{i}", *(f"link_{k}" for k in ends(i))) for i in range(n - 1))
    return sdf.sdf(sdf.model(*(sdf.link(f"link_{i}", inner(i)) for i in range(n)), *joints))


def _relative(i: int) -> str:
    return f'{sdf.INERTIAL}<pose relative_to="{"j" + str(i - 1) if i else "__model__"}">0 0 1 0 0 0</pose>'


SDF: dict[str, Callable[[int], str]] = {
    "chain": lambda n: _sdf(n, lambda i: (i, i + 1)),
    "chain of poses": lambda n: _sdf(n, lambda i: (i, i + 1), _relative).replace(
        "<parent>", '<pose relative_to="__model__"/><parent>'
    ),
    "chain of frames": lambda n: sdf.sdf(
        sdf.model(
            sdf.link("a"), *(f'<frame name="f{i}" attached_to="{f"f{i - 1}" if i else "a"}"/>\n' for i in range(n))
        )
    ),
    "chain that is read from its end": lambda n: _sdf(n, lambda i: (n - 2 - i, n - 1 - i)),
    "joints to one child": lambda n: _sdf(n, lambda i: (i, n - 1)),
    "joints against the tree": lambda n: _sdf(n, lambda i: (i + 1, i) if i % 2 else (i, i + 1)),
    "loops": lambda n: _sdf(n, lambda i: (i // 2, i // 2 + 1)),
    "links that float": lambda n: sdf.sdf(sdf.model(*(sdf.link(f"link_{i}") for i in range(n)))),
    "models": lambda n: sdf.world(*(sdf.model(sdf.link("a"), name=f"m{i}") for i in range(n))),
    "unknown frames": lambda n: sdf.sdf(
        sdf.model(*(sdf.link(f"link_{i}", f'<pose relative_to="lnk_{i}"/>') for i in range(n)))
    ),
    "nested names": lambda n: sdf.sdf(
        sdf.model(sdf.link("a", f'<pose relative_to="{"m::" * n}a"/>'), sdf.model(sdf.link("a")))
    ),
    "unknown tags": lambda n: sdf.sdf(sdf.model(sdf.link("a"), *(f"<tag_{i}/>" for i in range(n)))),
}

DOCUMENTS: dict[str, Callable[[int], str]] = {
    "open comment": lambda n: "<!--" + ">" * n,
    "comments": lambda n: "<!-- -->" * n + "<a/>",
    "long attribute": lambda n: f"<a b='{'x' * n}'/>",
    "many attributes": lambda n: "<a " + " ".join(f"b{i}=''" for i in range(n)) + "/>",
    "pieces of text": lambda n: "<a>" + "<!-- -->x" * n + "</a>",
    "long name": lambda n: "<a" + "a" * n,
    "elements": lambda n: "<a>" + "<b/>" * n + "</a>",
    "processing instructions": lambda n: "<?b?>" * n + "<a/>",
    "spaces": lambda n: " " * n + "<a/>",
}


def _loops(**entries: list[dict[str, Any]]) -> str:
    """A document beside a robot's that has a link "some_link_0" ... "some_link_2"."""
    return json.dumps({"version": 1, **entries})


def _marks(n: int, key: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": f"mark_{i}", "on": "some_link_1", key: [0.0, 0.0, 1.0 + i], **more} for i in range(n)]


def _distances(n: int) -> list[dict[str, Any]]:
    ends = {"a": "mark_0", "b": "mark_1", "length": 1.0}
    return [{"kind": "distance", "name": f"distance {i}", **ends} for i in range(n)]


LOOPS: dict[str, Callable[[int], str]] = {
    "frames on frames": lambda n: _loops(
        frames=[{"name": f"frame_{i}", "on": f"frame_{i - 1}" if i else "some_link_1"} for i in range(n)]
    ),
    "points": lambda n: _loops(points=_marks(n, "xyz")),
    "directions": lambda n: _loops(directions=_marks(n, "vector")),
    "unknown frames": lambda n: _loops(frames=[{"name": f"frame_{i}", "on": f"none_{i}"} for i in range(n)]),
    "constraints": lambda n: _loops(
        frames=[{"name": f"mark_{i}", "on": f"some_link_{i + 1}"} for i in range(2)], constraints=_distances(n)
    ),
}

SCENES: dict[str, Callable[[int], str]] = {
    "spheres": lambda n: _scene(f"ball {i}" for i in range(n)),
    "a name at last twice": lambda n: _scene(f"ball {min(i, n - 2)}" for i in range(n)),
    "keys twice": lambda n: "{" + ", ".join(f'"k{min(i, n - 2)}": 1' for i in range(n)) + "}",
}


def _scene(names: Any) -> str:
    ball = {"shape": {"type": "sphere", "radius": 0.1}}
    return json.dumps({"version": 1, "obstacles": [{"name": name, **ball} for name in names]})
