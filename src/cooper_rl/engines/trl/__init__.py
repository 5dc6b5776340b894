"""Cooper on TRL: a GRPOTrainer that trains the reward model along with the policy."""
