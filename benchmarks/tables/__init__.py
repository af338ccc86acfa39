"""Rows and tables of figures, their targets, and the pages that show them."""
