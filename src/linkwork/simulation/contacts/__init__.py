"""Contacts in simulation: ground, shapes, materials."""
