"""Texts of USD stages, one robot each, from short calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import linkwork as lw

HEAD = 'defaultPrim = "r" metersPerUnit = {length} kilogramsPerUnit = {mass} upAxis = "{up}"'


def stage(*prims: str, length: float = 1, mass: float = 1, up: str = "Z", scene: str = "", root: str = "") -> str:
    """A stage with one Xform "r" that contains the prims."""
    head = HEAD.format(length=length, mass=mass, up=up)
    return (
        f"#usda 1.0\n(\n{head.replace(' kilo', chr(10) + 'kilo').replace(' meters', chr(10) + 'meters')}\n)\n".replace(
            " upAxis", "\nupAxis"
        )
        + prim("Xform", "r", root, *prims)
        + scene
    )


def prim(kind: str, name: str, values: str = "", *inner: str, schemas: str = "", extra: str = "") -> str:
    """A prim of a type with attributes, one a line or separated by semicolons, and prims inside."""
    lines = [line.strip() for line in values.replace(";", "\n").splitlines() if line.strip()]
    listed = ", ".join(f'"{schema}"' for schema in schemas.split())
    metadata = "\n".join([*([f"prepend apiSchemas = [{listed}]"] if listed else []), *([extra] if extra else [])])
    meta = f" (\n{metadata}\n)" if metadata else ""
    return f'def {kind} "{name}"{meta}\n{{\n' + "\n".join([*lines, *inner]) + "\n}\n"


def at(x: float = 0, y: float = 0, z: float = 0, orient: str = "", scale: str = "") -> str:
    """The transform of a prim: its translation, and optionally the texts of a quaternion (w, x, y, z) and of scales."""
    ops = ["xformOp:translate"]
    lines = [f"double3 xformOp:translate = ({x}, {y}, {z})"]
    if orient:
        lines.append(f"quatf xformOp:orient = {orient}")
        ops.append("xformOp:orient")
    if scale:
        lines.append(f"float3 xformOp:scale = {scale}")
        ops.append("xformOp:scale")
    listed = ", ".join(f'"{op}"' for op in ops)
    return "\n".join([*lines, f"uniform token[] xformOpOrder = [{listed}]"])


def body(name: str, values: str = "", *inner: str, schemas: str = "", mass: float | None = 1) -> str:
    """A rigid body, by default of 1 kg with unit moments of inertia."""
    if mass is not None:
        values += f"\nfloat physics:mass = {mass}\nfloat3 physics:diagonalInertia = (1, 1, 1)"
    return prim("Xform", name, values, *inner, schemas=f"PhysicsRigidBodyAPI PhysicsMassAPI {schemas}")


def collider(kind: str, name: str, values: str = "", schemas: str = "", extra: str = "") -> str:
    return prim(kind, name, values, schemas=f"PhysicsCollisionAPI {schemas}", extra=extra)


def joint(kind: str, name: str, first: str, second: str, values: str = "", schemas: str = "") -> str:
    """A joint prim between two bodies inside "r"; "" is the world."""
    ends = "".join(f"rel physics:body{k} = </r/{end}>\n" for k, end in enumerate((first, second)) if end)
    return prim(f"Physics{kind}Joint", name, ends + values, schemas=schemas)


def written(folder: Path, text: str, name: str = "robot.usda") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def load(folder: Path, text: str, **options: Any) -> lw.Robot:
    return lw.load(written(folder, text), **options)
