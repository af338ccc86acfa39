"""Contacts in simulation: ground, collision shapes and materials."""
