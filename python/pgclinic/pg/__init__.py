"""What is PostgreSQL's own: connections, versions, plans, logs, the queries that are sent to it.

psycopg takes as long to import as the rest of a command together, so functions that speak to a server import it; the
modules ``bounded`` and ``feedback`` import it at their start, and are imported by such functions alone.
"""

from pgclinic.pg.query_files import query

__all__ = ["query"]
