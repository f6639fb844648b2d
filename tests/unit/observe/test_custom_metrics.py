"""Custom metrics: any SQL number, but none that no record can hold."""

from __future__ import annotations

from decimal import Decimal

import pytest

from pgclinic.errors import RunFailedError
from pgclinic.observe.custom_metrics import number_of


def test_numbers_of_every_type_are_read() -> None:
    assert [number_of("g", value) for value in (1, 2.5, Decimal("3.25"), True, "4")] == [1, 2.5, 3.25, 1, 4]


@pytest.mark.parametrize(
    "value", [float("nan"), float("-inf"), Decimal("NaN"), Decimal("1e400"), "many", b"x", 10**400]
)
def test_what_is_no_finite_number_fails_the_trial(value: object) -> None:
    """Such a record could be written and not be read again."""
    with pytest.raises(RunFailedError, match=r"the custom metric g returned .* not a finite number"):
        number_of("g", value)
