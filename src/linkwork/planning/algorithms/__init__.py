"""Path search as loops over any scalar."""
