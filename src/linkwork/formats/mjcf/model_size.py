"""Size of the model that MuJoCo would create, counted before compilation: copies, numbers, vertices and pixels."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from linkwork._util.file_access import Budget
from linkwork.errors import Issue, Location
from linkwork.formats.description import Findings
from linkwork.formats.xml_document import Element

__all__ = ["SIZES", "ModelSize"]

SIZES = frozenset(("actdim", "dim", "nsample", "num"))
"""Attributes of sensors and actuators that state how many numbers MuJoCo stores."""

Where = Callable[[], Location]

_ELEMENTS_OF_PARTS = 8.0  # of a composite or a flexible body, for each of its parts: a body, joints, geoms, edges
_USER = {"jnt": "joint", "cam": "camera", "actuator": "", "sensor": "", "tendon": ""}  # elements; "" for all


@dataclass(slots=True)
class ModelSize:
    """Counts of the elements of all documents, with which `check` compares the budget."""

    budget: Budget
    findings: Findings
    models: dict[tuple[str, str], set[str]] = field(default_factory=dict)  # attached files, by document and name
    _totals: dict[str, float] = field(default_factory=dict)  # by the name of a limit
    _total: float = 0.0  # elements of all documents, with copies
    _refused: set[str] = field(default_factory=set)  # limits that are exceeded
    _elements: dict[str, int] = field(default_factory=dict)  # by tag
    _element_counts: dict[str, float] = field(
        default_factory=dict
    )  # elements that a document makes, with copies, by file
    _attached: dict[str, list[tuple[float, str]]] = field(default_factory=dict)  # copies and model's name, by file
    _resolution: float = 1.0  # most pixels of a camera
    _sizes: list[tuple[str, float, Where]] = field(default_factory=list)  # attributes of <size>, and sensors of cameras

    def add(self, element: Element, file: str, where: Where) -> None:
        """Count an element of a document; ``where`` returns its location for an error."""
        tag, attributes = element.tag, element.attributes
        self._elements[tag] = self._elements.get(tag, 0) + 1
        copies = _copies(element)
        if tag in ("composite", "flexcomp"):
            copies *= _ELEMENTS_OF_PARTS * max(_product(attributes.get(key, "")) for key in ("count", "cellcount"))
        self._element_counts[file] = self._element_counts.get(file, 0.0) + copies
        self._total += copies
        if self._total > self.budget.max_compiled:  # MuJoCo's time grows with its square
            subject = f"elements: this one makes {copies:.0f} copies" if copies > 1.0 else "elements, with copies"
            self.count("max_compiled", subject, self._total, where)
            self.findings.raise_errors()
        for key in SIZES.intersection(attributes):
            self._count_values(_product(attributes[key]), where)
        if tag == "camera":
            self._resolution = max(self._resolution, _product(attributes.get("resolution", "")))
        elif tag == "rangefinder" and "camera" in attributes:  # a number for each pixel
            self._sizes.append(("rangefinder", 0.0, where))
        if tag == "attach":
            self._attached.setdefault(file, []).append((copies, attributes.get("model", "")))
        elif tag == "texture" and "builtin" in attributes:
            width = _product(attributes.get("width", ""))
            height = _product(attributes.get("height", "")) if "height" in attributes else width
            sides = 1.0 if attributes.get("type") == "2d" else 6.0
            self.count("max_pixels", "pixels", sides * width * height, where)
        elif tag == "hfield":
            self._count_values(_product(attributes.get("nrow", "")) * _product(attributes.get("ncol", "")), where)
        elif tag == "numeric":
            self._count_values(_product(attributes.get("size", "")), where)
        elif tag == "mesh" and "builtin" in attributes:
            self.count("max_vertices", "vertices of built-in meshes", copies * _vertices(attributes), where)
        elif tag == "size":
            self._sizes += [(key, _product(value), where) for key, value in attributes.items()]

    def count(self, limit: str, subject: str, number: float, where: Where) -> None:
        """Add ``number`` to the total of ``limit``; record one error TOO_LARGE when the total exceeds the budget."""
        total = self._totals[limit] = self._totals.get(limit, 0.0) + number
        most = getattr(self.budget, limit)
        if total > most and limit not in self._refused:
            self._refused.add(limit)
            message = f"more than {most} {subject}"
            self.findings.error(Issue("TOO_LARGE", message, where(), self.budget.remedy(limit)))

    def check(self, parts: Mapping[str, Sequence[str]], where: Where) -> None:
        """Record errors for totals beyond the budget.

        ``parts`` lists the documents that each document includes or attaches.
        """
        for key, number, at in self._sizes:
            if key.startswith("nuser_"):
                tag = _USER.get(key[6:], key[6:])
                number *= self._elements.get(tag, 0) if tag else sum(self._elements.values())
            elif key == "nkey":
                number *= sum(self._elements.get(tag, 0) for tag in ("joint", "freejoint", "body", "motor")) * 7.0
            elif key == "rangefinder":
                number = self._resolution
            elif key == "memory":
                continue  # of a simulation
            self._count_values(number, at)
        if not self.findings.errors:  # of documents that include each other in a cycle
            total = sum(self._expanded(parts).values())
            self.count("max_compiled", "elements, with copies and attached models", total, where)

    def _count_values(self, number: float, where: Where) -> None:
        self.count("max_numbers", "numbers of height fields and arrays", number, where)

    def _expanded(self, parts: Mapping[str, Sequence[str]]) -> dict[str, float]:
        """Return the number of elements of each document, with those of the models that it attaches."""
        result: dict[str, float] = {}
        anything = set[str]().union(*self.models.values())
        attached = {
            file: [(copies, self.models.get((file, name)) or anything) for copies, name in entries]
            for file, entries in self._attached.items()
        }
        waiting, begun = [(file, False) for file in self._element_counts], set[str]()
        while waiting:
            file, is_done = waiting.pop()
            if not is_done and file not in begun:
                begun.add(file)
                inner = {model for _, models in attached.get(file, ()) for model in models} | {*parts.get(file, ())}
                waiting += [(file, True), *((model, False) for model in inner - begun)]
            if not is_done:
                continue
            total = self._element_counts.get(file, 0.0)
            total += sum(
                copies * max((result.get(model, 0.0) for model in models), default=0.0)
                for copies, models in attached.get(file, ())
            )
            result[file] = min(total, 1e30)
        return result


def _copies(element: Element) -> float:
    """Return the number of copies of an element that its enclosing <replicate> elements make."""
    copies: float = 1.0
    outer: Element | None = element
    while outer is not None:
        if outer.tag == "replicate":
            copies *= _product(outer.attributes.get("count", ""))
        outer = outer.parent
    return min(copies, 1e30)


def _vertices(attributes: Mapping[str, str]) -> float:
    """Return an upper bound on the number of vertices of a built-in mesh, from its resolutions."""
    sizes = [*_floats(attributes.get("params", ""))][:2]
    largest = min(max(sizes, default=1.0), 1e6)
    return 10.0 * 4.0 ** min(largest, 40.0) if attributes["builtin"] == "sphere" else largest**2


def _floats(text: str) -> Iterator[float]:
    """Return the numbers of a text, up to the first word that is not a number."""
    for word in re.finditer(r"\S+", text):
        try:
            number = float(word[0])
        except ValueError:
            return
        yield number if math.isfinite(number) else 1e30


def _product(text: str) -> float:
    """Return the product of the numbers above 1 in ``text``; 1 if it has none."""
    return min(math.prod(max(1.0, number) for number in _floats(text)), 1e30)
