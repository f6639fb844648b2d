"""The build backend: what it does beside maturin."""

from __future__ import annotations

import subprocess
from pathlib import Path

from fixtures.tool import tool

backend = tool("wheel_backend.py")


def test_a_program_is_stripped_by_the_rust_toolchain_and_still_runs(tmp_path: Path) -> None:
    source, built, stripped = tmp_path / "hello.rs", tmp_path / "hello", tmp_path / "stripped"
    source.write_text('fn main() { println!("hello"); }\n', encoding="utf-8")
    subprocess.run(["rustc", "-g", "-o", built, source], check=True)
    subprocess.run(backend.cross_strip(built, stripped), check=True)
    assert stripped.stat().st_size < built.stat().st_size / 2
    assert subprocess.run([stripped], check=True, capture_output=True, text=True).stdout == "hello\n"
