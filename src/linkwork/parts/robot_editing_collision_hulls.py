"""A robot's meshes as hulls that distances can be measured of."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from linkwork.errors import Issue, Location
from linkwork.kernels.robot_base import edits
from linkwork.model.tree import Report
from linkwork.parts.construction.robot_constructors import Constructors
from linkwork.shapes import Mesh, Polytope
from linkwork.shapes.mesh_files import load_mesh

__all__ = ["CollisionHullMethods"]


class CollisionHullMethods(Constructors):
    """How a robot whose shapes are known is made of one with files of meshes."""

    __slots__ = ()

    @edits
    def with_collision_hulls(
        self,
        folders: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        at_most: int | None = 32,
        pieces: bool = False,
        unit: float | None = None,
    ) -> Self:
        """The robot with the convex hull of each mesh that collides in the mesh's place; this opens the files.

        The files are looked for in ``folders`` and are opened nowhere else (`linkwork.shapes.load_mesh`, which takes
        the `mesh` extra).  A hull of more than ``at_most`` vertices becomes an outer hull of so many, which holds the
        mesh; by how much it is too large is said by its ``excess`` [m], and by `report`: an issue MESH_HULL a mesh, and
        MESH_OPEN for a surface that is open or inside out.  With ``pieces``, the mesh is taken apart into convex pieces
        first (`LoadedMesh.convex_pieces`, the `decompose` extra), and hollows stay hollow.  ``unit`` [m] is that of the
        files' numbers.  Other shapes, and what links look like, stay as they are.

        Raises what `load_mesh` does, with the link's name before it.
        """
        known: dict[Mesh, tuple[Polytope, ...]] = {}
        issues: list[Issue] = []
        frames = []
        for frame in self._tree.frames:
            found = []
            for geometry in frame.collisions:
                mesh = geometry.shape
                if not isinstance(mesh, Mesh):
                    found.append(geometry)
                    continue
                if mesh not in known:
                    known[mesh], told = _hulls(frame.name, mesh, folders, at_most, pieces, unit)
                    issues += told
                found += [replace(geometry, shape=hull) for hull in known[mesh]]
            frames.append(replace(frame, collisions=tuple(found)))
        report = Report((*self._tree.report.warnings, *issues))
        return type(self)(replace(self._tree, frames=tuple(frames), report=report))


def _hulls(
    link: str, mesh: Mesh, folders: object, at_most: int | None, pieces: bool, unit: float | None
) -> tuple[tuple[Polytope, ...], list[Issue]]:
    where = Location(element=f"link[{link}]/collision/mesh[{mesh.uri}]")
    try:
        loaded = load_mesh(mesh, folders, unit=unit)  # type: ignore[arg-type]
        hulls = loaded.convex_pieces(at_most) if pieces else (loaded.convex_hull(at_most),)
    except (ValueError, OSError) as error:
        raise type(error)(f"with_collision_hulls: link {link!r}: {error}") from error
    issues = [Issue("MESH_OPEN", f"{loaded.file.name}: {odd}: its hull stands for it", where) for odd in loaded.issues]
    most = max(hull.excess for hull in hulls)
    count = max(len(hull.vertices) for hull in hulls)
    message = f"{loaded.file.name}: {len(hulls)} hull(s) of at most {count} vertices, {most:.3g} m too large at most"
    return hulls, [*issues, Issue("MESH_HULL", message, where)]
