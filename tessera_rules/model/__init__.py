"""What rules mean: nodes become ops, targets, candidates and rules with every name resolved (`model.load.load`)."""
