"""Cooper on verl: a trainer for verl's V1 loop, loaded as a plugin. `translate` and `verl_data` import no verl."""
