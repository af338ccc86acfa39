"""Timing in turns with a peer, the machine, and the robots that are measured."""
