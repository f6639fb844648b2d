"""What is PostgreSQL's own: connections, versions, settings, configuration files, SQL texts.

Importing this package costs nothing; psycopg is imported by ``pgclinic.pg.connect`` alone.
"""

from pgclinic.pg.sql import query

__all__ = ["query"]
