"""Cooper on TRL: a GRPOTrainer whose reward model is trained along."""
