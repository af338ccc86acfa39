"""Motion profiles from state to state in closed form, over any scalar."""
