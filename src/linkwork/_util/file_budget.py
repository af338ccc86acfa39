"""The table of limits for all files that are read: sizes before a parser sees a file, and resources of a process."""

from __future__ import annotations

from typing import Final

from linkwork._util.lazy_dataclass import dataclass

__all__ = ["LOOPS", "MESH", "MODEL", "ROBOT", "SCENE", "Budget"]

_MEBI = 2**20


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a file and of all files that it names, which are counted before they are parsed.

    The defaults suit the files of robots.  `linkwork.load` takes another budget for a file that needs more.
    """

    max_bytes: int = 64 * _MEBI  # [bytes] of one document
    max_elements: int = 1_000_000  # elements or values of one document
    max_depth: int = 256  # nested elements, values or names of a path
    max_files: int = 10_000  # files that a model names
    max_total_bytes: int = 512 * _MEBI  # [bytes] of all files together
    max_compiled: int = 40_000  # elements that MuJoCo compiles, with copies, attached models and composites
    max_prims: int = 200_000  # prims of a composed USD stage
    max_numbers: int = 30_000_000  # numbers of height fields and of arrays that a file states by their sizes
    max_vertices: int = 1_000_000  # distinct vertices of a mesh, and of all meshes that a file states by formulas
    max_pixels: int = 2**26  # of all pictures together
    max_memory: int = 384 * _MEBI  # [bytes] of a process that reads an untrusted file, besides its libraries
    max_seconds: float = 8.0  # [s] of the processor and of the clock, for an untrusted file

    def remedy(self, name: str, purpose: str = "for more") -> str:
        """Return the option that raises a limit, for messages."""
        return f"{purpose}, pass budget=linkwork.formats.Budget({name}=...), now {getattr(self, name)}"


MODEL: Final = Budget()  # URDF, MJCF, SDF, USD
ROBOT: Final = Budget(max_elements=1_500_000, max_depth=64)  # linkwork's own files of robots
LOOPS: Final = Budget(max_bytes=8 * _MEBI, max_elements=200_000, max_depth=64)
MESH: Final = Budget(max_bytes=100_000_000)  # STL, OBJ, DAE, PLY, GLB
SCENE: Final = Budget(max_bytes=256 * _MEBI, max_elements=4_000_000, max_depth=64)  # obstacles, with fields and clouds
