from __future__ import annotations

import pytest

from vbench.errors import ConfigError
from vbench.models.api.prices import Budget, Expected

PRICES = {"input": 1.0, "output": 4.0}


def test_cost() -> None:
    assert Budget(PRICES, None).usd(2_000_000, 500_000) == pytest.approx(4.0)
    assert Budget(None, None).usd(2_000_000, 500_000) == 0


def test_room_counts_what_is_spent_and_what_is_under_way() -> None:
    budget = Budget(PRICES, 1.0)
    assert budget.fits(Expected(1_000_000, 0))
    assert not budget.fits(Expected(1_000_000, 1))
    budget.learn(1, 1)
    budget.spent = 0.5
    budget.under_way = [Expected(100_000, 25_000), Expected(200_000, 0)]
    assert budget.fits(Expected(100_000, 0))
    assert not budget.fits(Expected(100_001, 0))
    assert Budget(PRICES, None).fits(Expected(1e12, 0))


def test_one_call_at_a_time_until_guesses_are_measured() -> None:
    budget = Budget(PRICES, 1.0)
    budget.under_way = [Expected(1, 1)]
    assert not budget.fits(Expected(1, 1))
    budget.learn(100, 100)
    assert budget.fits(Expected(1, 1))


def test_expectations_follow_what_was_counted() -> None:
    budget = Budget(PRICES, 1.0)
    call = Expected(1_000, 100)
    assert budget.cost(call) == pytest.approx(0.001 + 0.0004)  # nothing known: the guess itself
    budget.learn(1_000, 100)
    assert budget.cost(call) == pytest.approx(0.0001 + 0.0004)
    budget.learn(1_000, 3_000)  # a guess that was too low after all
    budget.learn(1_000, 200)
    assert budget.cost(call) == pytest.approx(0.003 + 0.0004)


def test_a_budget_needs_both_prices() -> None:
    with pytest.raises(ConfigError, match="usd_per_million"):
        Budget(None, 1.0)
    with pytest.raises(ConfigError, match="two prices"):
        Budget({"input": 1.0}, None)
