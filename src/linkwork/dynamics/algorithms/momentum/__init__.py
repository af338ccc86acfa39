"""Centre of mass, energies and momentum of the whole robot."""
