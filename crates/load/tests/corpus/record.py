"""Record what the real pgbench does with every script of this folder: `python record.py /path/to/pgbench`.

For each `name.sql` the lines of `name.expected` are what `debug()` printed, then the SQL that was sent, then `aborted`
if the client stopped. A server that accepts everything stands in for PostgreSQL, so no statement has to make sense.
`refused.sql` is different: each line is a script of its own, and its line in `refused.expected` is the verdict. A line
`-- define name=value` becomes the option `-D name=value`.
"""

import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading

SEED = "42"
FOLDER = pathlib.Path(__file__).parent


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


READY = message(b"Z", b"I")


class AcceptEverything:
    """Just enough of the simple protocol for pgbench."""

    def __init__(self, folder: str) -> None:
        self.queries: list[str] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{folder}/.s.PGSQL.5432")
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client.makefile("rwb"),), daemon=True).start()

    def serve(self, stream) -> None:
        while True:
            (length,) = struct.unpack("!I", stream.read(4))
            (code,) = struct.unpack("!I", stream.read(length - 4)[:4])
            if code == 3 << 16:
                break
            self.reply(stream, b"N")  # neither TLS nor GSSAPI
        encoding = message(b"S", b"client_encoding\0UTF8\0")
        self.reply(stream, message(b"R", struct.pack("!I", 0)) + encoding + READY)
        while (kind := stream.read(1)) == b"Q":
            (length,) = struct.unpack("!I", stream.read(4))
            self.queries.append(stream.read(length - 4)[:-1].decode())
            self.reply(stream, message(b"C", b"SELECT 0\0") + READY)
        assert kind in (b"X", b""), kind

    @staticmethod
    def reply(stream, data: bytes) -> None:
        stream.write(data)
        stream.flush()


def run(pgbench: str, folder: str, script: str, server: AcceptEverything) -> tuple[int, list[str]]:
    path = pathlib.Path(folder, "script.sql")
    path.write_text(script, newline="")
    server.queries.clear()
    defined = [word for name in re.findall(r"^-- define (.*)$", script, re.M) for word in ("-D", name)]
    options = ["-n", "-c", "1", "-t", "1", "--random-seed", SEED, "-h", folder, "-p", "5432", "-U", "recorder"]
    command = [pgbench, *options, *defined, "-f", str(path), "db"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    debug = re.findall(r"^debug\(script=\d+,command=\d+\): (.*)$", done.stderr, re.M)
    lines = [f"debug {value}" for value in debug]
    lines += ["sql " + query.replace("\\", "\\\\").replace("\n", "\\n") for query in server.queries]
    return done.returncode, lines + ["aborted"] * (done.returncode == 2)


def main(pgbench: str) -> None:
    verdicts = {0: "runs", 1: "refused", 2: "aborts"}
    with tempfile.TemporaryDirectory() as folder:
        server = AcceptEverything(folder)
        for path in sorted(FOLDER.glob("*.sql")):
            script = path.read_bytes().decode()
            if path.stem == "refused":
                lines = [verdicts[run(pgbench, folder, line + "\n", server)[0]] for line in script.splitlines()]
            else:
                lines = run(pgbench, folder, script, server)[1]
            path.with_suffix(".expected").write_text("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    main(sys.argv[1])
