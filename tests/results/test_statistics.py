import importlib.util
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vbench.errors import DataError
from vbench.metrics.outcomes import Mean, Outcomes
from vbench.metrics.velociti import Velociti
from vbench.records import Clip, Prediction, Sample, Score
from vbench.results.statistics import estimate, exact_interval, summary

KEYS = [
    "value", "ci_low", "ci_high", "stderr", "n", "clusters", "ties", "value_half_ties",
    "truncated", "chance",
]  # fmt: skip


def row(credit, clusters=None, half=None, **more):
    credit = np.asarray(credit, dtype=float)
    names = range(len(credit)) if clusters is None else clusters
    return Outcomes(
        **{
            "name": "test",
            "credit": credit,
            "half_credit": credit if half is None else np.asarray(half, dtype=float),
            "clusters": np.array([str(name) for name in names], dtype=np.str_),
            "truncated": np.zeros(len(credit), dtype=bool),
            "chance": 0.5,
        }
        | more
    )


@st.composite
def clustered(draw):
    credit = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=30))
    clusters = draw(st.lists(st.integers(0, 6), min_size=len(credit), max_size=len(credit)))
    return credit, clusters


def miller(credit, clusters):
    """Eq. 4 of arXiv 2411.00640: the CLT variance plus all pairs within a cluster."""
    credit, clusters = np.asarray(credit, dtype=float), np.asarray(clusters)
    n, residual = len(credit), credit - credit.mean()
    variance = (residual**2).sum() / n**2
    for i in range(n):
        for j in range(n):
            if i != j and clusters[i] == clusters[j]:
                variance += residual[i] * residual[j] / n**2
    return variance


@given(clustered())
def test_stderr_is_millers_with_the_small_sample_factor(data):
    credit, clusters = data
    found, count = estimate(row(credit, clusters)), len(set(clusters))
    if count == 1:
        assert found.stderr is None
    else:
        want = miller(credit, clusters) * count / (count - 1)
        assert found.stderr**2 == pytest.approx(want, abs=1e-12)


def test_with_one_sample_per_source_it_is_the_textbook_stderr():
    credit = [1, 0, 1, 1, 0.5, 0, 1]
    assert estimate(row(credit)).stderr == pytest.approx(np.std(credit, ddof=1) / math.sqrt(7))


def test_stderr_agrees_with_a_cluster_bootstrap():
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 9, 150)
    clusters = np.repeat(np.arange(150), sizes)
    credit = (rng.random(len(clusters)) < rng.beta(2, 1, 150)[clusters]).astype(float)
    sums = np.bincount(clusters, weights=credit)
    drawn = rng.integers(0, 150, (4000, 150))
    bootstrap = np.std(sums[drawn].sum(1) / sizes[drawn].sum(1))
    found = estimate(row(credit, clusters))
    assert found.stderr == pytest.approx(bootstrap, rel=0.07)
    assert found.stderr > 1.2 * estimate(row(credit)).stderr


@given(clustered(), st.randoms())
def test_order_and_names_do_not_matter(data, dice):
    credit, clusters = data
    places = list(range(len(credit)))
    dice.shuffle(places)
    moved = row([credit[i] for i in places], [f"source {-clusters[i]}" for i in places])
    first, second = estimate(row(credit, clusters)).to_dict(), estimate(moved).to_dict()
    assert {k: v for k, v in first.items() if v is not None} == pytest.approx(
        {k: v for k, v in second.items() if v is not None}, abs=1e-9
    )


@given(clustered(), st.integers(2, 5))
def test_asking_a_source_the_same_again_teaches_nothing(data, times):
    credit, clusters = data
    once, more = estimate(row(credit, clusters)), estimate(row(credit * times, clusters * times))
    assert (more.ci_low, more.ci_high) == pytest.approx((once.ci_low, once.ci_high), abs=1e-9)
    assert more.stderr == (None if once.stderr is None else pytest.approx(once.stderr, abs=1e-9))
    assert (more.n, more.clusters) == (times * once.n, once.clusters)


@given(clustered())
def test_the_interval_holds_the_value_and_stays_a_fraction(data):
    found = estimate(row(*data))
    assert 0 <= found.ci_low <= found.value <= found.ci_high <= 1
    assert found.ci_low < found.ci_high


@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (1, 1), (0, 40), (40, 40), (7, 40)])
def test_the_exact_interval_is_clopper_pearson(successes, trials):
    want = stats.binomtest(successes, trials).proportion_ci(0.95, "exact")
    assert exact_interval(successes, trials) == pytest.approx((want.low, want.high), abs=1e-12)


@pytest.mark.parametrize("credit", [0.0, 1.0])
def test_at_none_or_all_right_it_is_exact_with_n_sources(credit):
    found = estimate(row([credit] * 12, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]))
    assert (found.ci_low, found.ci_high) == exact_interval(4 * credit, 4)
    assert found.stderr == 0


def test_sources_that_all_agree_in_the_middle_do_not_collapse_it():
    found = estimate(row([1, 0] * 10, [i // 2 for i in range(20)]))
    assert (found.ci_low, found.ci_high) == exact_interval(5, 10)
    constant = estimate(row([1 / 6] * 12, [i // 2 for i in range(12)]))
    assert (constant.ci_low, constant.ci_high) == pytest.approx(exact_interval(1, 6))


def test_a_single_source_says_little():
    found = estimate(row([1, 1, 0, 1], ["a"] * 4))
    assert found.stderr is None
    assert found.ci_low < 0.05 and found.ci_high > 0.99


def test_one_miss_is_never_surer_than_none():
    """A symmetric interval would be: its lower end lies above that of a clean sheet."""
    none, one = estimate(row([1] * 150)), estimate(row([0] + [1] * 149))
    assert one.ci_low < none.ci_low
    assert one.ci_high < 1


def test_the_interval_is_symmetric_in_log_odds_with_t():
    credit = [1] * 14 + [0] * 6
    found = estimate(row(credit))
    odds = [math.log(p / (1 - p)) for p in (found.ci_low, found.value, found.ci_high)]
    reach = stats.t.ppf(0.975, 19) * found.stderr / (0.7 * 0.3)
    assert odds[2] - odds[1] == pytest.approx(reach)
    assert odds[1] - odds[0] == pytest.approx(reach)


def test_a_dominant_source_costs_degrees_of_freedom():
    """80 of 98 samples in one of ten sources: 1 / sum of squared shares - 1 is below 1."""
    clusters = [0] * 80 + [1 + i // 2 for i in range(18)]
    found = estimate(row([1, 1, 0, 1] * 20 + [1, 0] * 5 + [1] * 8, clusters))
    reach = math.log(found.ci_high / (1 - found.ci_high)) - math.log(
        found.value / (1 - found.value)
    )
    want = stats.t.ppf(0.975, 1) * found.stderr / (found.value * (1 - found.value))
    assert reach == pytest.approx(want)


def test_counts_and_both_tie_rules():
    base = row([1, 0, 0, 1], half=[1, 0.5, 0, 1], truncated=np.array([True, False, True, False]))
    strict = estimate(base)
    assert list(strict.to_dict()) == KEYS
    assert (strict.value, strict.value_half_ties, strict.ties) == (0.5, 0.625, 1)
    assert (strict.n, strict.clusters, strict.truncated, strict.chance) == (4, 4, 2, 0.5)
    half = estimate(row([1, 0, 0, 1], half=[1, 0.5, 0, 1], tie="half"))
    assert half.value == half.value_half_ties == 0.625
    assert half.ties == 1


@pytest.mark.parametrize("n", [3, 100, 719])
def test_a_constant_credit_is_not_rounded(n):
    found = estimate(row([0.0] * n, half=[1 / 6] * n, chance=1 / 6))
    assert found.value_half_ties == found.chance == 1 / 6


def test_nothing_to_estimate():
    with pytest.raises(DataError, match="nothing to estimate"):
        estimate(row([]))


def test_the_mean_of_a_test_with_itself_is_the_test():
    """Two parts on the same sources move together: their mean is no surer than either."""
    one = row([1, 0, 0, 1, 1, 0], [0, 0, 1, 1, 2, 2])
    single, twice = estimate(one), estimate(Mean("average", (one, one)))
    assert twice.stderr == pytest.approx(single.stderr)
    assert (twice.ci_low, twice.ci_high) == pytest.approx((single.ci_low, single.ci_high))
    assert (twice.n, twice.clusters) == (12, 3)


def test_the_mean_of_unequal_parts_weighs_them_equally():
    first, second = (
        row([1, 1, 0, 1], "aabc", chance=0.5),
        row([0] * 9 + [1], range(10), chance=0.25),
    )
    found = estimate(Mean("average", (first, second)))
    assert found.value == pytest.approx((3 / 4 + 1 / 10) / 2)
    assert found.chance == 0.375
    # No source in common: variances add, apart from the small-sample factor of 13 sources.
    variances = [miller([1, 1, 0, 1], list("aabc")), miller([0] * 9 + [1], range(10))]
    assert found.stderr == pytest.approx(math.sqrt(sum(variances) / 4 * 13 / 12))


def test_the_mean_agrees_with_a_cluster_bootstrap():
    rng = np.random.default_rng(2)
    skill = rng.beta(2, 2, 200)
    parts, sums, sizes = [], [], []
    for part in range(3):
        size = rng.integers(0, 6, 200)
        clusters = np.repeat(np.arange(200), size)
        credit = (rng.random(len(clusters)) < skill[clusters]).astype(float)
        parts.append(row(credit, clusters, name=f"part {part}"))
        sums.append(np.bincount(clusters, weights=credit, minlength=200))
        sizes.append(size)
    drawn = rng.integers(0, 200, (4000, 200))
    means = [s[drawn].sum(1) / n[drawn].sum(1) for s, n in zip(sums, sizes, strict=True)]
    found = estimate(Mean("average", tuple(parts)))
    assert found.stderr == pytest.approx(np.std(np.mean(means, axis=0)), rel=0.07)
    apart = math.sqrt(sum(estimate(part).stderr ** 2 for part in parts)) / 3
    assert found.stderr > 1.15 * apart


def scored(test, values, video="v", status="ok", reason="", kind="v2t"):
    clips = (Clip(video, f"{video}.mp4"), Clip("other", "other.mp4"))
    sample = Sample(test, video, kind, video, clips if kind == "t2v" else clips[:1],
                    ("a",) if kind == "t2v" else ("a", "b"), 0)  # fmt: skip
    return Score(sample, status, tuple(values), reason)


def summarise(scores, failures=()):
    found = summary(Velociti()(scores), scores, failures)
    json.dumps(found, allow_nan=False)
    return found


def test_the_summary_of_a_complete_run():
    found = summarise([scored("chrono", [1, 0]), scored("chrono", [0, 1], "w")])
    assert list(found) == ["tests", "coverage"]
    assert list(found["tests"]) == ["chrono"]
    assert list(found["tests"]["chrono"]) == KEYS
    assert found["tests"]["chrono"]["value"] == 0.5
    assert found["coverage"] == {
        "n": 2, "answered": 2, "statuses": {"ok": 2}, "failed": [], "incomplete": {}
    }  # fmt: skip


def test_what_the_scorer_observed_is_averaged_per_test_over_sources():
    shares = [1.0, 0.5, 0.0, 1.0, 1.0]
    videos = ["v", "v", "w", "x", "y"]
    scores = [
        replace(scored("chrono", [1, 0], video), observed={"first_picked": share})
        for share, video in zip(shares, videos, strict=True)
    ]
    unread = scored("chrono", (), "z", "unparsed", "no letter")
    found = summarise([*scores, unread, scored("agent_bind", [1, 0])])
    whole = estimate(row(shares, videos))
    assert found["observed"] == {
        "chrono": {
            "first_picked": {
                "value": pytest.approx(0.7),
                "ci_low": whole.ci_low,
                "ci_high": whole.ci_high,
                "n": 5,
            }
        }
    }


def test_failures_name_the_file_once_and_bound_the_value():
    scores = [
        scored("chrono", [1, 0]),
        scored("chrono", [1, 0], "w"),
        scored("chrono", [0, 1], "x"),
    ]
    scores += [scored("chrono", (), "bad", "decode_error", "cut short")] * 2
    scores += [scored("control_t2v", (), "w", "decode_error", "cut short", "t2v")]
    row = Prediction(
        "k", "clip", "decode_error", reason="cut short", video_id="bad", path="bad.mp4"
    )
    found = summarise(scores, [row, row])["coverage"]
    assert (found["n"], found["answered"]) == (6, 3)
    assert found["statuses"] == {"decode_error": 3, "ok": 3}  # samples, where `failed` has one file
    assert found["failed"] == [
        {"video_id": "bad", "path": "bad.mp4", "status": "decode_error", "reason": "cut short"}
    ]
    assert found["incomplete"] == {
        "control_t2v": {"n": 1, "answered": 0, "if_wrong": 0.0, "if_right": 1.0},
        "chrono": {"n": 5, "answered": 3, "if_wrong": 2 / 5, "if_right": 4 / 5},
    }


def test_failures_that_no_stored_row_explains_are_listed_with_their_clips():
    scores = [scored("control_t2v", (), "w", "oom", "too big", "t2v")]
    failed = summarise(scores)["coverage"]["failed"]
    assert [(f["video_id"], f["path"]) for f in failed] == [("w", "w.mp4"), ("other", "other.mp4")]


def test_nan_is_recorded_against_the_clip_it_came_from():
    scores = [scored("control_t2v", [0.5, math.nan], "w", kind="t2v"), scored("chrono", [1, 0])]
    found = summarise(scores)
    assert list(found["tests"]) == ["chrono"]
    assert found["coverage"]["answered"] == 1
    assert found["coverage"]["statuses"] == {"model_error": 1, "ok": 1}
    assert found["coverage"]["failed"] == [
        {"video_id": "other", "path": "other.mp4", "status": "model_error",
         "reason": "the score is not a number (NaN)"}
    ]  # fmt: skip


def test_a_mean_is_bounded_by_its_parts():
    parts = (row([1, 0], unanswered=2), row([1, 1, 1, 0]))
    found = summary([Mean("average", parts)], [])["coverage"]["incomplete"]["average"]
    assert found == {"n": 8, "answered": 6, "if_wrong": 0.5, "if_right": 0.75}


def test_a_run_without_samples():
    assert summary([], []) == {
        "tests": {},
        "coverage": {"n": 0, "answered": 0, "statuses": {}, "failed": [], "incomplete": {}},
    }


@pytest.mark.parametrize("p", [0.5, 1 / 6, 0.95])
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_intervals_hold_the_truth_as_often_as_they_say(p, spread):
    """Sixty sources of 1 to 8 samples, alike within a source by `spread` (beta-binomial)."""
    rng = np.random.default_rng(3)
    sizes, held = rng.integers(1, 9, 60), 0
    for _ in range(600):
        ease = rng.beta(p * (1 / spread - 1), (1 - p) * (1 / spread - 1), 60) if spread else p
        right = rng.binomial(sizes, ease)
        credit = np.concatenate([np.arange(n) < k for n, k in zip(sizes, right, strict=True)])
        found = estimate(row(credit, np.repeat(np.arange(60), sizes)))
        held += found.ci_low <= p <= found.ci_high
    assert 0.92 <= held / 600 <= 0.98


@pytest.mark.slow
def test_random_scores_on_the_toy_benchmark(repository, tmp_path):
    """The small sister of scripts/check_chance_coverage.py."""
    from vbench.datasets.toy.benchmark import ToyVelociti

    file = repository / "scripts" / "check_chance_coverage.py"
    spec = importlib.util.spec_from_file_location("check_chance_coverage", file)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    samples = ToyVelociti(str(tmp_path / "toy"), num_videos=100, seed=5, render=False).samples()
    shares = script.coverage(samples, 60)
    assert len(shares) == 15
    assert 0.92 <= np.mean(list(shares.values())) <= 0.98
    assert all(share >= 0.85 for share in shares.values())
