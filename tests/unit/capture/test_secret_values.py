"""What a snapshot keeps of values: no secrets of settings, no constants of statements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgclinic.capture.reader import _statements_major
from pgclinic.capture.secret_values import without_secrets
from pgclinic.sql.fingerprint import without_constants


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("primary_conninfo", "host=a password=s3cret user=b", "host=a password=*** user=b"),
        ("primary_conninfo", "password = 's3 ''cret' host=a", "password = *** host=a"),
        ("primary_conninfo", "postgres://app:s3cret@db:5432/x", "postgres://app:***@db:5432/x"),
        ("archive_command", "AWS_SECRET_ACCESS_KEY=abc aws s3 cp %p", "AWS_SECRET_ACCESS_KEY=*** aws s3 cp %p"),
        ("archive_command", "push --api-key abc %p", "push --api-key *** %p"),
        ("archive_command", "cp %p /archive/%f", "cp %p /archive/%f"),
        ("ssl_passphrase_command", "echo s3cret", "***"),
        ("password_encryption", "scram-sha-256", "scram-sha-256"),
        ("app.anything", "s3cret", "***"),
        ("pg_stat_statements.max", "5000", "5000"),
        ("work_mem", "4MB", "4MB"),
    ],
)
def test_secrets_of_settings_are_not_kept(name: str, value: str, kept: str) -> None:
    known = {"primary_conninfo", "archive_command", "password_encryption", "pg_stat_statements.max", "work_mem"}
    assert without_secrets(name, value, known) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("select 1, 'a''b', $1, E'\\'x', 0x1F, 1.5e3", "select ?, ?, $1, ?, ?, ?"),
        ("select $tag$ secret $tag$", "select ?"),
        ("select 'cut off here", "select ?"),
        ("select $$cut off here", "select ?"),
        ("select 1 /* cut off", "select ?"),
        ("select a -- secret\nfrom b /* secret */ where c", "select a\nfrom b  where c"),
        ('select "Name 1" from t1', 'select "Name 1" from t1'),
        ("alter role x password 'md5'", "alter role x password ?"),
    ],
)
def test_constants_of_statements_are_not_kept(text: str, kept: str) -> None:
    assert without_constants(text).replace(" \n", "\n").strip() == kept.replace(" \n", "\n").strip()


@given(st.text(max_size=40).filter(lambda value: "\\" not in value), st.integers(0, 60))
def test_no_part_of_a_literal_is_kept_wherever_the_text_is_cut_off(value: str, length: int) -> None:
    quoted = "'" + value.replace("'", "''") + "'"
    text = f"select {quoted} from t"[: 8 + length]
    kept = without_constants(text)
    assert kept in {"select ?", *(f"select ?{' from t'[:end]}" for end in range(8)), "select ", "select ??"}


@pytest.mark.parametrize(
    ("version", "major", "generation"),
    [
        ("1.8", 18, 13),
        ("1.9", 18, 14),
        ("1.10", 16, 15),
        ("1.11", 17, 17),
        ("1.12", 18, 18),
        ("1.13", 19, 18),
        ("1.7", 13, 0),
        ("odd", 16, 16),
    ],
)
def test_the_columns_are_those_of_the_extension(version: str, major: int, generation: int) -> None:
    assert _statements_major(version, major) == generation
