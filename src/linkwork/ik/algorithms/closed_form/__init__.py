"""Closed-form inverse kinematics: recognition of arms, and all their branches."""
