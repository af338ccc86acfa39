"""Independent references: textbook mechanics in homogeneous matrices, closed forms, Pinocchio and MuJoCo."""
