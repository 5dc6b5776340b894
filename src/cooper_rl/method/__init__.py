"""Cooper's loop: the reward, the pairs, the reward model's step, and the trainer that joins them to GRPO."""
