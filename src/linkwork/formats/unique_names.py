"""Names that differ from all others of their kind."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Names"]


class Names:
    """Names in use, and functions that make a new name unique.

    Written files number repeated names; robots that are read get underscores.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = {*taken}
        self._counts: dict[str, int] = {}

    def new(self, name: str) -> str:
        """Return the name, or "name_2", "name_3" ..., and count it as used."""
        result, count = name, self._counts.get(name, 1)
        while result in self.taken:
            count += 1
            result = f"{name}_{count}"
        self._counts[name] = count
        self.taken.add(result)
        return result

    def underscored(self, name: str) -> str:
        """Return the name, followed by "_" as often as necessary to make it new, and count it as used."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name
