"""Where two bodies touch: as many points as a pair needs, with their depths and one normal, over any scalar."""

from .contact import Contact, Touching
from .of_shapes import touching_shapes
from .table import CONTACTS, contacts

__all__ = ["CONTACTS", "Contact", "Touching", "contacts", "touching_shapes"]
