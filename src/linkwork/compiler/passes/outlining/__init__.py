"""Programs whose steps repeat: finding the steps that are alike, and writing the program as rows of them."""
