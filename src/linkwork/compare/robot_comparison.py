"""The result of a comparison of robots: what was compared, what differs, and by how much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.lazy_imports import published_in
from linkwork._util.messages import cut, escaped, label, table
from linkwork._util.result import ReturnedValue

__all__ = ["ComparedQuantity", "Comparer", "RobotComparison", "RobotDifference"]


@published_in("linkwork.parts")
@dataclass(frozen=True, slots=True)
class RobotDifference:
    """A value that differs between two robots, or an element that only one of them has.

    ``left`` and ``right`` are the values in both, as text; "-" means that a robot has no value. ``absolute`` is the
    difference in the unit of ``quantity``, and ``relative`` is that difference divided by the scale of the quantity;
    both are None for values that are not numbers.

    ``group`` is a group of `Robot.compare`, and ``subject`` is the link, joint or other part.
    """

    group: str
    quantity: str
    subject: str
    left: str
    right: str
    absolute: float | None = None
    relative: float | None = None

    def __str__(self) -> str:
        by = "" if self.absolute is None else f", by {self.absolute:.3g} ({self.relative:.2g} relative)"
        return f"{self.quantity} of {self.subject!r}: {self.left} and {self.right}{by}"

    def as_dict(self) -> dict[str, Any]:
        """Return all fields as a plain dict; numbers that are not finite become None."""
        return {
            "group": self.group,
            "quantity": self.quantity,
            "subject": self.subject,
            "left": self.left,
            "right": self.right,
            "absolute": _plain(self.absolute),
            "relative": _plain(self.relative),
        }


@published_in("linkwork.parts")
@dataclass(frozen=True, slots=True)
class ComparedQuantity:
    """A quantity with the number of values compared and differing, and its largest relative difference.

    ``group`` is a group of `Robot.compare`, and ``where`` is the link, joint or frame of the largest difference.
    """

    group: str
    quantity: str
    compared: int
    differing: int
    largest: float  # relative; infinite if one robot has no value
    where: str  # the link, joint or frame of the largest difference; "" for none

    def as_dict(self) -> dict[str, Any]:
        """Return all fields as a plain dict; an infinite number is None."""
        return {
            "group": self.group,
            "quantity": self.quantity,
            "compared": self.compared,
            "differing": self.differing,
            "largest": _plain(self.largest),
            "where": self.where,
        }


def _plain(x: float | None) -> float | None:
    return x if x is not None and math.isfinite(x) else None


@published_in("linkwork.parts")
@dataclass(frozen=True, repr=False, init=False)
class RobotComparison(ReturnedValue):
    """Result of a comparison of two robots, by the names of links and joints.

    ``left`` and ``right`` are the names of the robots. A number differs if its difference is more than ``tolerance``
    times its scale, which is the larger of both values, or a size typical of the quantity. For positions this is the
    robot's size, for an element of the mass matrix that of its diagonal elements. ``notes`` say how joints were
    matched.
    """

    left: str
    right: str
    tolerance: float
    samples: int  # number of random configurations
    quantities: tuple[ComparedQuantity, ...]
    differences: tuple[RobotDifference, ...]
    notes: tuple[str, ...]

    @property
    def same(self) -> bool:
        """True if the comparison found no difference."""
        return not self.differences

    def of(self, group: str) -> tuple[RobotDifference, ...]:
        """Return the differences in a group of quantities, such as "inertias" or "limits"."""
        return tuple(x for x in self.differences if x.group == group)

    def as_dict(self) -> dict[str, Any]:
        """Return all values as plain dicts, lists, numbers and strings."""
        return {
            "left": self.left,
            "right": self.right,
            "same": self.same,
            "tolerance": self.tolerance,
            "samples": self.samples,
            "quantities": [x.as_dict() for x in self.quantities],
            "differences": [x.as_dict() for x in self.differences],
            "notes": [*self.notes],
        }

    def __repr__(self) -> str:
        return f"<RobotComparison of {self.left!r} and {self.right!r}: {self._verdict()}>"

    def _verdict(self) -> str:
        count = len(self.differences)
        return "same" if self.same else f"{count} difference{'' if count == 1 else 's'}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, columns: int | None = None, most: int = 40) -> list[str]:
        """Return tables of the compared quantities and of up to ``most`` differences, in at most ``columns`` columns.

        Each quantity has up to five differences in the table, so that one quantity does not hide another.
        """
        lines = [
            f"{label(self.left)} and {label(self.right)}: {self._verdict()} (tolerance {self.tolerance:g} relative)"
        ]
        rows = [
            [
                x.quantity,
                str(x.compared),
                str(x.differing or "-"),
                f"{x.largest:.2g}" if x.largest > 0.0 else "0",
                label(x.where) or "-",
            ]
            for x in self.quantities
        ]
        if rows:
            lines += ["", *table(("quantity", "compared", "differing", "largest, relative", "of"), rows, left=(0, 4))]
        shown = self._shown(most)
        if shown:
            cells = [
                [
                    x.quantity,
                    label(x.subject),
                    label(x.left),
                    label(x.right),
                    "-" if x.absolute is None else f"{x.absolute:.3g}",
                    "-" if x.relative is None else f"{x.relative:.2g}",
                ]
                for x in shown
            ]
            header = ("differs", "of", label(self.left), label(self.right), "difference", "relative")
            lines += ["", *table(header, cells, left=(0, 1, 2, 3))]
        if len(shown) < len(self.differences):
            lines.append(f"and {len(self.differences) - len(shown)} more differences")
        lines += ["", *map(escaped, self.notes)] if self.notes else []
        return lines if columns is None else [cut(line, columns) for line in lines]

    def _shown(self, most: int) -> list[RobotDifference]:
        """Return up to ``most`` differences, and of each quantity up to `_MOST_OF_ONE`."""
        left = dict.fromkeys((x.quantity for x in self.differences), _MOST_OF_ONE)
        result = []
        for x in self.differences:
            left[x.quantity] -= 1
            result += [x] if left[x.quantity] >= 0 else []
        return result[:most]


_MOST_OF_ONE = 5  # differences of one quantity that are shown


class Comparer:
    """Collector of compared values and differences, for the groups that are not ignored."""

    def __init__(self, tolerance: float, ignore: tuple[str, ...] = ()) -> None:
        self.tolerance, self.ignore = tolerance, frozenset(ignore)
        self._counts: dict[tuple[str, str], list[int]] = {}
        self._largest: dict[tuple[str, str], tuple[float, str]] = {}
        self.differences: list[RobotDifference] = []
        self.notes: list[str] = []

    def values(self, group: str, quantity: str, subject: str, left: Any, right: Any, scale: float = 0.0) -> None:
        """Compare numbers or arrays of one shape; the scale is the largest of ``scale`` and their magnitudes.

        Infinite values are the same if they are equal, and differ from all others.
        """
        a, b = (np.atleast_1d(np.asarray(x, dtype=float)) for x in (left, right))
        if a.shape != b.shape:
            self.record(group, quantity, subject, _text(a), _text(b), math.inf, math.inf)
            return
        finite = np.isfinite(a) & np.isfinite(b)
        if not np.array_equal(a[~finite], b[~finite]):
            self.record(group, quantity, subject, _text(a), _text(b), math.inf, math.inf)
            return
        a, b = a[finite], b[finite]
        absolute = float(np.abs(a - b).max(initial=0.0))
        size = max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)), scale)
        shown = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
        self.record(
            group, quantity, subject, _text(shown[0]), _text(shown[1]), absolute, absolute / size if size > 0.0 else 0.0
        )

    def record(
        self, group: str, quantity: str, subject: str, left: str, right: str, absolute: float, relative: float
    ) -> None:
        """Record a compared value; it is a difference if ``relative`` is NaN or more than the tolerance."""
        if group in self.ignore:
            return
        differs = not relative <= self.tolerance
        self._count(group, quantity, subject, differs, relative)
        if differs:
            known = (absolute, relative) if math.isfinite(relative) else (None, None)
            self.differences.append(RobotDifference(group, quantity, subject, left, right, *known))

    def texts(self, group: str, quantity: str, subject: str, left: str, right: str) -> None:
        """Compare texts, such as types, for equality."""
        self.record(group, quantity, subject, left, right, math.inf, 0.0 if left == right else math.inf)

    def only(self, group: str, quantity: str, subject: str, *, left: bool) -> None:
        """Record that only the left (``left``) or only the right robot has the element ``subject``."""
        self.texts(group, quantity, subject, "there" if left else "-", "-" if left else "there")

    def _count(self, group: str, quantity: str, subject: str, differs: bool, relative: float) -> None:
        key = group, quantity
        count = self._counts.setdefault(key, [0, 0])
        count[0] += 1
        count[1] += differs
        if relative > self._largest.get(key, (0.0, ""))[0]:
            self._largest[key] = relative, subject

    def result(self, left: str, right: str, samples: int) -> RobotComparison:
        quantities = tuple(
            ComparedQuantity(group, quantity, compared, differing, *self._largest.get((group, quantity), (0.0, "")))
            for (group, quantity), (compared, differing) in self._counts.items()
        )
        order = {x.quantity: k for k, x in enumerate(quantities)}
        self.differences.sort(key=lambda x: order[x.quantity])
        return RobotComparison._make(
            left, right, self.tolerance, samples, quantities, tuple(self.differences), tuple(self.notes)
        )


def _text(values: np.ndarray) -> str:
    """Return numbers as text with nine digits; for more than six numbers only the shape."""
    if values.size > 6:
        return f"({' × '.join(map(str, values.shape))})"
    shown = [f"{x + 0.0:.9g}" for x in values.ravel()]
    return shown[0] if values.size == 1 else f"({', '.join(shown)})"
