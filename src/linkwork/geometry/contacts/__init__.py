"""Contact points of two bodies with depths and a common normal, over any scalar."""

from linkwork.geometry.contacts.contact_manifold import Contact, Touching
from linkwork.geometry.contacts.shape_contacts import CONTACTS, contacts, touching_shapes

__all__ = ["CONTACTS", "Contact", "Touching", "contacts", "touching_shapes"]
