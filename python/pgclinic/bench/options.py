"""The options of ``pgclinic bench``: all of pgbench 18's, under its names, and our own."""

from __future__ import annotations

from pgclinic.bench.getopt_long import Option

INITIALIZE = (
    Option("initialize", "create and fill the standard tables", "i"),
    Option("init-steps", 'steps to run, in this order (default "dtgvp")', "I", "[dtgGvpf]+"),
    Option("fillfactor", "fill factor of the tables, 10 to 100", "F", "NUM"),
    Option("quiet", "one progress message every 5 seconds", "q"),
    Option("foreign-keys", "create foreign keys between the tables"),
    Option("index-tablespace", "tablespace for the indexes", metavar="TABLESPACE"),
    Option("partition-method", "range (default) or hash", metavar="METHOD"),
    Option("partitions", "partition pgbench_accounts into NUM parts (default 0)", metavar="NUM"),
    Option("tablespace", "tablespace for the tables", metavar="TABLESPACE"),
    Option("unlogged-tables", "create unlogged tables"),
)
WHAT_RUNS = (
    Option("builtin", 'add a builtin script ("-b list" lists them)', "b", "NAME[@W]"),
    Option("file", "add a script file, - for standard input", "f", "FILE[@W]"),
    Option("skip-some-updates", "same as -b simple-update; -N@W gives it a weight", "N", weighted=True),
    Option("select-only", "same as -b select-only; -S@W gives it a weight", "S", weighted=True),
)
BENCHMARK = (
    Option("client", "number of clients (default 1)", "c", "NUM"),
    Option("connect", "a new connection for every transaction", "C"),
    Option("define", "a variable for the scripts", "D", "NAME=VALUE"),
    Option("jobs", "number of threads (default 1)", "j", "NUM"),
    Option("log", "write transaction times to a log file", "l"),
    Option("latency-limit", "count transactions of more than NUM ms as late", "L", "NUM"),
    Option("protocol", "simple (default), extended or prepared", "M", "MODE"),
    Option("no-vacuum", "no VACUUM before the run, or in -i", "n"),
    Option("progress", "a progress line every NUM seconds", "P", "NUM"),
    Option("report-per-command", "latencies, failures and retries of every command", "r"),
    Option("report-latencies", "the name that --report-per-command had before pgbench 14", own=True, hidden=True),
    Option("rate", "offer NUM transactions a second: open loop", "R", "NUM"),
    Option("scale", "scaling factor (default 1)", "s", "NUM"),
    Option("transactions", "transactions of each client (default 10)", "t", "NUM"),
    Option("time", "seconds to run", "T", "NUM"),
    Option("vacuum-all", "vacuum all four standard tables before the run", "v"),
    Option("aggregate-interval", "log sums over NUM seconds", metavar="NUM"),
    Option("exit-on-abort", "end the run when any client is aborted"),
    Option("failures-detailed", "failures by type"),
    Option("log-prefix", 'prefix of the log files (default "pgbench_log")', metavar="PREFIX"),
    Option("max-tries", "tries for a transaction that fails to serialize (default 1)", metavar="NUM"),
    Option("progress-timestamp", "Unix time in progress lines"),
    Option("random-seed", '"time", "rand" or a number', metavar="SEED"),
    Option("sampling-rate", "share of transactions to log", metavar="NUM"),
    Option("show-script", "print a builtin script and exit", metavar="NAME"),
    Option("verbose-errors", "print the message of every kind of error"),
)
COMMON = (
    Option("debug", "print how the command line was parsed"),
    Option("dbname", "database, connection string or URI", "d", "DBNAME"),
    Option("host", "host name or socket directory", "h", "HOST"),
    Option("port", "port", "p", "PORT"),
    Option("username", "database user", "U", "NAME"),
)
OWN = (
    Option(
        "lab",
        "run on a server of the lab, started and filled for this run",
        metavar="VERSION",
        own=True,
        optional=r"\d+(\.\d+)*",
    ),
    Option("set", "a setting of the lab's server", metavar="NAME=VALUE", own=True),
    Option("twin", "build a captured database in the lab; without -f run its workload", metavar="FILE", own=True),
    Option("twin-scale", "rows of the twin per row of the original (default 1)", metavar="NUM", own=True),
    Option("warm-up", "run this long before measuring, such as 5s", metavar="TIME", own=True),
    Option("percentiles", "percentiles to print (default 50,90,95,99,99.9,99.99)", metavar="LIST", own=True),
    Option("latency-percentiles", "print the percentiles of every script and command too", own=True),
    Option("seconds", "write a row per second; .jsonl or .parquet; repeatable", metavar="FILE", own=True),
    Option("hdr", "write histograms in the HDR interchange format", metavar="FILE", own=True),
    Option("find-rate", 'find the highest rate that meets a target, such as "p99<20ms"', metavar="TARGET", own=True),
    Option("until-stable", "end as soon as the TPS are stable; -T is the limit (default 300)", own=True),
    Option("fail-if", 'exit with 3 when this holds, such as "p99>50ms"; repeatable', metavar="THRESHOLD", own=True),
    Option("spin", "never wait for the kernel: for the latency of single sessions; uses one core per thread", own=True),
    Option("observe", "also show why: waits, CPU, work of the server; one more connection", own=True),
    Option(
        "report",
        "observe, and write it all as one HTML file (default DATE-bench-SEED.html)",
        metavar="FILE",
        own=True,
        optional=r".+\.html?",
    ),
    Option("runs", "store the run in a folder below DIR", metavar="DIR", own=True),
    Option(
        "export",
        "export live figures: prometheus:127.0.0.1:9187 or otlp:http://127.0.0.1:4318; repeatable",
        metavar="RECEIVER",
        own=True,
    ),
    Option("plain", "show progress as plain lines, also on a terminal", own=True),
    Option("json", "print the result as JSON", own=True),
)
TPCC = (
    Option("tpcc", "run TPC-C instead of scripts; with -i fill its tables", own=True),
    Option("warehouses", "number of warehouses to fill, or that a run expects (default 1)", metavar="NUM", own=True),
    Option("terminals", "the same as -c (default 10 per warehouse)", metavar="NUM", own=True),
    Option("convention", "interpretation of TPC-C: benchbase (default) or spec", metavar="NAME", own=True),
    Option("isolation", "read-committed, repeatable-read or serializable (default)", metavar="LEVEL", own=True),
    Option("waits", "key and think times, with --convention spec", own=True),
    Option("check-consistency", "check TPC-C's conditions after the run (with --lab always done)", own=True),
    Option("no-check-consistency", "omit this check with --lab and -i", own=True),
    Option("replace", "with -i: drop existing TPC-C tables and fill them again", own=True),
    Option("seed", "the same as --random-seed", metavar="SEED", own=True, hidden=True),
)
ALL_OPTIONS = (*INITIALIZE, *WHAT_RUNS, *BENCHMARK, *COMMON, *TPCC, *OWN)

#: What pgbench refuses together with -i, and what it refuses without.
ONLY_BENCHMARK = frozenset(
    option.name
    for option in (*WHAT_RUNS, *BENCHMARK, *TPCC, *OWN)
    if option.name not in {"no-vacuum", "scale", "show-script", "plain"}
)
ONLY_INITIALIZE = frozenset(option.name for option in INITIALIZE if option.name != "initialize")

_HEADINGS = (
    ("Initialization", INITIALIZE),
    ("Scripts", WHAT_RUNS),
    ("Benchmarking", BENCHMARK),
    ("Connection", COMMON),
    ("TPC-C", TPCC),
    ("Options that pgbench does not have", OWN),
)


def help_text() -> str:
    """The text of ``pgclinic bench --help``."""
    lines = [
        "Usage: pgclinic bench [OPTION]... [DBNAME]",
        "",
        "Run a load test. pgbench's options and scripts have the same meaning as in pgbench.",
    ]
    for heading, options in _HEADINGS:
        lines += ["", f"{heading}:"]
        lines += [f"  {_spelled(option):<34} {option.help}" for option in options if not option.hidden]
    lines += [
        "  -?, --help                         show this help; -V, --version the version",
        "",
        "Exit codes: 0 done, 1 nothing was run, 2 clients were aborted or data are inconsistent, 3 a --fail-if holds.",
    ]
    return "\n".join(lines)


def _spelled(option: Option) -> str:
    long = f"--{option.name}" + ("" if option.metavar is None else f"={option.metavar}")
    if option.optional is not None:
        long = f"--{option.name}[={option.metavar}]"
    return f"-{option.short}, {long}" if option.short else f"    {long}"
