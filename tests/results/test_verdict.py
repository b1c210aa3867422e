from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.results.verdict import counts_printed_as, of_mean, of_share, prints_as


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_single_and_double_rounding_as_decimal_does_it(pair: tuple[int, int]) -> None:
    count, n = pair
    exact = Decimal(100 * count) / Decimal(n)
    once = exact.quantize(Decimal("0.1"), ROUND_HALF_UP)
    twice = exact.quantize(Decimal("0.01"), ROUND_HALF_UP).quantize(Decimal("0.1"), ROUND_HALF_UP)
    shown = prints_as(Fraction(count, n))
    assert {str(once), str(twice)} <= shown
    assert all(abs(Decimal(one) - exact) <= Decimal("0.055") for one in shown)
    for one in shown:
        assert count in counts_printed_as(one, n)


@pytest.mark.parametrize(
    ("printed", "right", "n", "says"),
    [
        ("54.6", 228, 418, "exact"),
        ("54.5", 228, 418, "exact"),
        ("54.6", 227, 418, "off by 1 of 418"),
        ("54.6", 231, 418, "off by 3 of 418"),
        ("54.6", 227.5, 418, "off by 0.5 of 418"),
        ("100.0", 150, 150, "exact"),
        ("100.0", 0, 150, "off by 150 of 150"),
        ("54.6", 100, 200, "n 200, paper 418"),
    ],
)
def test_a_share(printed: str, right: float, n: int, says: str) -> None:
    verdict = of_share(printed, right / n, n, (418,) if n != 150 else (150,))
    assert verdict.text == says
    assert verdict.exact == (says == "exact")


def test_one_of_several_denominators_will_do() -> None:
    assert of_share("68.3", 97 / 142, 142, (139, 142, 145)).exact
    assert of_share("68.3", 97 / 143, 143, (139, 142, 145)).text == "n 143, paper 139 or 142 or 145"


def test_a_number_that_nothing_can_give_is_said_to_be_one() -> None:
    verdict = of_share("95.4", 286 / 300, 300, (300,))
    assert (verdict.text, verdict.off) == ("95.4 is no share of 300", None)


def test_a_mean() -> None:
    assert of_mean("58.5", 0.58514).exact
    assert of_mean("58.6", 0.58549).exact  # 58.55 in two decimals, 58.6 in one
    assert of_mean("58.5", 0.5872).text == "off by 0.2 points"
