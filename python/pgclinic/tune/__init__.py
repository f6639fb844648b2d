"""Which settings matter, how far they go, and in which release a workload changed: levels, search, assay, bisect."""
