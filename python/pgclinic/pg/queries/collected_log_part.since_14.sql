-- What a log file holds from a position on. The length is limited, so that a busy log cannot fill our memory.
select pg_catalog.pg_read_binary_file(%(file)s, %(position)s, %(length)s)
