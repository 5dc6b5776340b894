"""The mathematics of the `math` verifier: where an answer stands, its markup, its form, and whether two are equal."""
