"""Read-only recordings of a live server: its state, its xmin horizon, schema, statistics and workload."""
