"""Commands in pages."""

from __future__ import annotations

from markupsafe import Markup

from pgclinic.report.parts.command import unbroken


def test_what_is_copied_is_the_command() -> None:
    command = "pgclinic compare  --b 'set:work_mem=1MB' \\\n  --measure 10s"
    assert Markup(unbroken(command)).unescape().replace('<span class="w">', "").replace("</span>", "") == command


def test_an_option_is_one_element_and_is_escaped() -> None:
    assert unbroken("run <b> --b=<i>") == 'run &lt;b&gt; <span class="w">--b=&lt;i&gt;</span>'
