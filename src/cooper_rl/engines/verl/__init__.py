"""Cooper on verl: a trainer for verl's V1 loop, loaded as a plugin. `translate` and `samples` import no verl."""
