"""Programs that make what the package ships; the package needs none of them. They run from the repository's root."""
