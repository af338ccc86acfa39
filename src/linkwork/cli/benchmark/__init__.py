"""Timings of a robot's functions for `linkwork bench`, beside Pinocchio where it is installed."""
