"""Control laws over any scalar: joint forces from measured states and targets."""
