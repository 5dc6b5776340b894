"""The `math` verifier: finds the answer in a completion, strips its markup, reads its form and compares it."""
