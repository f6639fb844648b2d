"""A live database rebuilt without its data: rows from statistics, a workload from counters, and how alike they are."""
