"""What is PostgreSQL's own: connections, versions, plans, logs, the queries that are sent to it.

Importing this package costs nothing; psycopg is imported by ``pgclinic.pg.connect`` alone.
"""

from pgclinic.pg.query_files import query

__all__ = ["query"]
