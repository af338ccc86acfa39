"""State to state in closed form: a kind of profile a file; over any scalar."""
