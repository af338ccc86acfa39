"""Tuple of all kinds of force elements, which loop files and the reference use."""

from __future__ import annotations

from linkwork.force_elements.bushing import Bushing
from linkwork.force_elements.force_element import ForceElement
from linkwork.force_elements.spring_damper import SpringDamper

__all__ = ["ALL"]

ALL: tuple[type[ForceElement], ...] = (SpringDamper, Bushing)
