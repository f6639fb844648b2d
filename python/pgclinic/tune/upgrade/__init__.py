"""Another major version for the workload of a twin: what has to be done before, and how each statement changes."""
