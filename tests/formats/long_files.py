"""Long files, good and bad, of any size: what reading them takes must not grow faster than they do."""

from __future__ import annotations

from collections.abc import Callable

from urdf_texts import joint, link, robot

__all__ = ["DOCUMENTS", "ROBOTS"]

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
