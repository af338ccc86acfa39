"""Laws of control, over any scalar: forces by what is measured and what is aimed at."""
