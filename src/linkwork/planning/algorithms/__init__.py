"""Path finding as loops over any scalar."""
