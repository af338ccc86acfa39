"""Function specifications become kernels, and kernels become calls that check their arguments."""
