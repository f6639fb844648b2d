//! The three scripts that pgbench brings along. Their statements and random functions are published in its manual.

/// A script known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// The name of `-b`.
    pub name: &'static str,
    /// The line for lists and reports.
    pub description: &'static str,
    /// The script.
    pub text: &'static str,
}

/// In pgbench's order.
pub const BUILTINS: [Builtin; 3] = [
    Builtin {
        name: "tpcb-like",
        description: "<builtin: TPC-B (sort of)>",
        text: TPCB_LIKE,
    },
    Builtin {
        name: "simple-update",
        description: "<builtin: simple update>",
        text: SIMPLE_UPDATE,
    },
    Builtin {
        name: "select-only",
        description: "<builtin: select only>",
        text: SELECT_ONLY,
    },
];

impl Builtin {
    /// The builtin that `name` begins, if there is exactly one.
    pub fn find(name: &str) -> Option<Self> {
        let mut matches = BUILTINS.into_iter().filter(|builtin| builtin.name.starts_with(name));
        let found = matches.next()?;
        if matches.next().is_some() {
            return None;
        }
        Some(found)
    }
}

const TPCB_LIKE: &str = "\
\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
";

const SIMPLE_UPDATE: &str = "\
\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
";

const SELECT_ONLY: &str = "\
\\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
";
