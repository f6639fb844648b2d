"""pgclinic: the performance clinic for PostgreSQL."""

__version__ = "0.1.0"
