"""Settings of PostgreSQL: names, values and units, the catalog of each version, configuration files. Pure."""
