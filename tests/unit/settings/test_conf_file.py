"""postgresql.conf is read as the server reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgclinic.errors import UsageError
from pgclinic.settings.conf_file import parse_conf, render_settings


def test_all_ways_to_write_a_setting() -> None:
    text = """
# a comment
work_mem = 64MB           # another
shared_buffers=128MB
random_page_cost 1.1
log_line_prefix = '%m [%p] # no comment '
search_path = '"$user", public'
archive_command = 'cp ''%p'' there'
listen = 'a\\nb'
WORK_MEM_LIKE = on
work_mem = '8MB'
"""
    assert parse_conf(text, "f").settings == {
        "shared_buffers": "128MB",
        "random_page_cost": "1.1",
        "log_line_prefix": "%m [%p] # no comment ",
        "search_path": '"$user", public',
        "archive_command": "cp '%p' there",
        "listen": "a\nb",
        "work_mem_like": "on",
        "work_mem": "8MB",
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("work_mem = 1MB\nthis is wrong = =", "f, line 2"),
        ("work_mem = 'open", "is no setting"),
    ],
)
def test_what_is_no_setting_is_named_with_its_line(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_conf(text, "f")


def test_other_files_are_named_and_not_read() -> None:
    conf = parse_conf("include_dir 'conf.d'\nwork_mem = 1MB\nInclude = '/etc/passwd'\n", "f")
    assert conf.settings == {"work_mem": "1MB"}
    assert conf.included == ("include_dir conf.d", "include /etc/passwd")


NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,20}", fullmatch=True).filter(lambda name: not name.startswith("include"))
VALUES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=30)


@given(st.dictionaries(NAMES, VALUES, max_size=6))
def test_what_the_lab_writes_is_read_back(settings: dict[str, str]) -> None:
    assert parse_conf(render_settings(settings), "f").settings == settings
