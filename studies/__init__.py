"""Programs that make what the package ships, and worlds of experiments. The package needs none of them.

They run from the repository's root. A recipe that names one needs this folder's parent on PYTHONPATH.
"""
