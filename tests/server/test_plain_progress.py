"""``--plain`` on a terminal, for each verb with a live view: lines that stay, and no control sequence."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from fixtures.command import PGCLINIC, Command, wait_for
from fixtures.patient import patient
from pgclinic.pg.dsn import dsn_of

BLOCKS = ("--no-calibrate", "--sequential", "--blocks", "20")
SHORT = ("--script", "builtin:select-only", "-c", "2", "--measure", "1s", "--warm-up", "0s", "--seed", "3")
#: The words of a verb, and a line that it writes for a trial or a second.
VERBS = {
    "study": (("study", "run", "small.toml", "--seed", "7"), rb" TPS over"),
    "compare": (("compare", "--a", "set:work_mem=4MB", "--b", "set:work_mem=8MB", *SHORT, *BLOCKS), rb" TPS over"),
    "bench": (("bench", "--lab", "-S", "-T", "60"), rb" TPS   p50 .* p99 .* left"),
    "assay": (("assay", "--set", "random_page_cost=1e300", *SHORT, "--budget", "60s"), rb" TPS over"),
    "search": (("search", "--worst", "--only", "work_mem", *SHORT, "--budget", "60s"), rb" TPS over"),
}


class Written:
    """What a command writes to a terminal as its stderr."""

    def __init__(self, folder: Path, words: tuple[str, ...]) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [PGCLINIC, *words, "--plain"],
            cwd=folder,
            env={**os.environ, "TERM": "xterm"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
        )
        os.close(theirs)
        self.text = b""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        try:
            while block := os.read(self._ours, 4096):
                self.text += block
        except OSError:
            pass  # the terminal is gone with the process

    def end(self) -> None:
        """Interrupt it, as Ctrl-C does, and read what is left."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(120)
        self._reader.join()
        os.close(self._ours)


def plainly_written(folder: Path, words: tuple[str, ...], line: bytes) -> bytes:
    """All that a command writes until it is interrupted, behind its first such line."""
    written = Written(folder, words)
    try:
        wait_for(lambda: re.search(line, written.text) or written.process.poll() is not None, 60)
    finally:
        written.end()
    assert re.search(line, written.text), written.text.decode()
    assert written.process.returncode == 130
    # The terminal makes two characters of the end of a line; no other line is drawn over another.
    return written.text.replace(b"\r\n", b"\n")


@pytest.mark.drawn(0.3)
@pytest.mark.parametrize("verb", VERBS)
def test_plain_lines_have_no_control_sequence(verb: str, command: Command) -> None:
    command.study(blocks=2)
    words, line = VERBS[verb]
    text = plainly_written(command.folder, words, line)
    assert b"\x1b" not in text and b"\r" not in text


@pytest.mark.drawn(0.3)
def test_plain_lines_of_proofs_have_none(command: Command) -> None:
    with patient("18", {}) as server:
        server.sql(
            "create table orders (id int primary key, customer int not null, note text not null)",
            "insert into orders select n, n % 2000, repeat('x', 80) from generate_series(1, 20000) n",
            "vacuum analyze orders",
            *["select count(*) from orders where customer = 77"] * 60,
        )
        server.until("select seq_scan >= 60 from pg_stat_user_tables where relname = 'orders'")
        words = ("checkup", dsn_of(server.access.server), "--observe", "0", "--prove", "--budget", "90s")
        text = plainly_written(command.folder, words, rb"\d s  [^\n]*: [^\n]*plans")
    assert b"\x1b" not in text and b"\r" not in text
