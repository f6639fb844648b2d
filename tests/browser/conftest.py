"""One browser for all tests of pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from fixtures.chromium import ARGUMENTS, CHROMIUM

if TYPE_CHECKING:
    from playwright import sync_api


@pytest.fixture(scope="session")
def browser() -> Iterator[sync_api.Browser]:
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()
