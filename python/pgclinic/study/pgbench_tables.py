"""pgbench's standard tables as the statements of a fill: the server makes the rows itself."""

from __future__ import annotations

from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.pg.sql import query

_TIMEOUT_MS = 30_000
BRANCHES, TELLERS, ACCOUNTS = 1, 10, 100_000
#: From here on account numbers do not fit into an int.
SCALE_BIGINT = 20_000

_FILL = """
create table pgbench_history(tid int, bid int, aid {number}, delta int, mtime timestamp, filler char(22));
create table pgbench_tellers(tid int not null, bid int, tbalance int, filler char(84)) with (fillfactor = 100);
create table pgbench_accounts(aid {number} not null, bid int, abalance int, filler char(84)) with (fillfactor = 100);
create table pgbench_branches(bid int not null, bbalance int, filler char(88)) with (fillfactor = 100);
insert into pgbench_branches(bid, bbalance) select n, 0 from generate_series(1, {branches}) as n;
insert into pgbench_tellers(tid, bid, tbalance)
  select n, (n - 1) / {tellers_each} + 1, 0 from generate_series(1, {tellers}) as n;
insert into pgbench_accounts(aid, bid, abalance, filler)
  select n, (n - 1) / {accounts_each} + 1, 0, '' from generate_series(1, {accounts}) as n;
alter table pgbench_branches add primary key (bid);
alter table pgbench_tellers add primary key (tid);
alter table pgbench_accounts add primary key (aid);
vacuum analyze pgbench_branches;
vacuum analyze pgbench_tellers;
vacuum analyze pgbench_accounts;
vacuum analyze pgbench_history;
"""


def pgbench_fill(scale: int) -> str:
    """What ``pgbench -i -s scale`` leaves behind, as SQL."""
    return _FILL.format(
        number="bigint" if scale >= SCALE_BIGINT else "int",
        branches=BRANCHES * scale,
        tellers=TELLERS * scale,
        tellers_each=TELLERS,
        accounts=ACCOUNTS * scale,
        accounts_each=ACCOUNTS,
    ).lstrip()


def existing_scale(access: Access) -> int:
    """The scale of the tables that a database has; 1 where it has none. Raises what a session raises."""
    with Session(access, statement_timeout_ms=_TIMEOUT_MS, application_name="pgclinic") as session:
        try:
            (scale,) = session.row(query("pgbench_scale", access.major))
        except QueryError as error:
            if error.sqlstate is None:
                raise
            return 1
    return max(1, int(scale))
