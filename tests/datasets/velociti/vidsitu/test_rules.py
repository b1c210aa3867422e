"""Every rule of a built set, checked from its files and the labels alone.

Nothing of the builder is used here: labels are read anew, captions are taken apart anew.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from vbench.datasets.velociti.layout import TEST_FILES
from vbench.datasets.velociti.vidsitu.dataset import FromVidsitu
from vbench.models.oracles import OrderBlind, Perfect
from vbench.records import Kind

EVENTS = [f"Ev{k}" for k in range(1, 6)]
FILES = {name: file for name, file in TEST_FILES.items() if not name.startswith("control")}


class Read:
    """A set's files and the labels it was built from."""

    def __init__(self, root: Path, labels: Path) -> None:
        self.root = root
        self.tests = {t: json.loads((root / "data" / f).read_text()) for t, f in FILES.items()}
        self.control = json.loads((root / "data/control.json").read_text())
        self.positives = json.loads((root / "data/pos_caps.json").read_text())
        self.samples = [
            json.loads(line) for line in (root / "samples.jsonl").read_text().splitlines()
        ]
        self.annotators: dict[str, list[dict[str, Any]]] = {}
        for of in json.loads((labels / "vseg_ann_files/vsann_valid_lb.json").read_text()):
            self.annotators.setdefault(of["Ev1"]["vid_seg_int"], []).append(of)

    def arguments(self, video: str, event: str) -> dict[str, str]:
        arguments: dict[str, str] = self.annotators[video][0][event]["Args"]
        return arguments

    def agent(self, video: str, event: str) -> str:
        return self.arguments(video, event)["Arg0 (agent)"]

    def everybody(self, video: str) -> set[str]:
        return {
            text
            for of in self.annotators[video]
            for event in of.values()
            for key, text in event["Args"].items()
            if re.match(r"Arg\d", key)
        }

    def rows(self, test: str) -> list[tuple[str, str, str, str]]:
        return [
            (video, key, entry["pos"], entry["neg"])
            for video, entries in self.tests[test].items()
            for key, entry in entries.items()
        ]

    def changes(self, test: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        of_test = [sample for sample in self.samples if sample["test"] == test]
        return [(sample, sample["false"][0]["change"]) for sample in of_test]


@pytest.fixture(params=["template", "llm"])
def read(request: pytest.FixtureRequest) -> Read:
    if request.param == "template":
        return Read(request.getfixturevalue("template_set"), request.getfixturevalue("labels"))
    return Read(request.getfixturevalue("llm_set"), request.getfixturevalue("few_labels"))


def bag(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) - {"a", "an", "the"}


def without(text: str, agent: str) -> str:
    """The caption from behind its agent on, without full stop."""
    assert text.lower().count(agent) >= 1
    return text[text.lower().index(agent) + len(agent) :].strip().removesuffix(".")


def test_all_ten_tests_have_samples(read: Read) -> None:
    dataset = FromVidsitu(str(read.root))
    counts = Counter(sample.test for sample in dataset.samples())
    assert set(counts) == set(TEST_FILES)
    report = json.loads((read.root / "build_report.json").read_text())
    assert {test: of["tests"] for test, of in report["tests"].items()} == counts


def test_one_positive_caption_per_event(read: Read) -> None:
    for test in ("agent_iden", "agent_bind", "action_adv", "action_bind", "action_modif"):
        for video, event, positive, negative in read.rows(test):
            assert positive == read.positives[video][event]
            assert negative not in read.positives[video].values()
    for video, entries in read.control.items():
        for event, entry in entries.items():
            assert entry["pos_cap"] == read.positives[video][event]


def test_captions_are_ascii_sentences(read: Read) -> None:
    for test in set(read.tests) - {"ivat"}:
        for _, _, *captions in read.rows(test):
            for caption in captions:
                assert caption.isascii()
                assert caption.endswith(".")
                assert caption[0].isupper()


def test_positives_name_the_agent_after_the_scene(read: Read) -> None:
    for video, captions in read.positives.items():
        for event, caption in captions.items():
            scene, _, rest = caption.partition(", ")
            assert rest.startswith(read.agent(video, event))
            assert read.arguments(video, event)["Scene of the Event"] in scene


def test_agent_iden_takes_strangers(read: Read) -> None:
    changes = read.changes("agent_iden")
    assert len(changes) == len(read.rows("agent_iden"))
    for sample, change in changes:
        video, event = sample["video"], sample["key"]
        assert change["old"] == read.agent(video, event)
        lender = change["from"]
        assert change["new"] == read.agent(lender["video"], lender["event"])
        assert lender["video"] != video
        for there in read.everybody(video):
            assert not bag(change["new"]) <= bag(there)
            assert not bag(there) <= bag(change["new"])
        assert_only_the_agent(read, "agent_iden", sample, change)


def assert_only_the_agent(
    read: Read, test: str, sample: dict[str, Any], change: dict[str, Any]
) -> None:
    entry = read.tests[test][sample["video"]][sample["key"]]
    assert entry["neg"] == entry["pos"].replace(change["old"], change["new"], 1)


def test_agent_bind_takes_the_agent_of_another_event(read: Read) -> None:
    for sample, change in read.changes("agent_bind"):
        video, event = sample["video"], sample["key"]
        lender = change["from"]
        assert lender["video"] == video
        assert lender["event"] != event
        assert change["new"] == read.agent(video, lender["event"]) != read.agent(video, event)
        assert change["new"] not in read.arguments(video, event).values()
        assert_only_the_agent(read, "agent_bind", sample, change)


def test_action_bind_is_agent_bind_mirrored(read: Read) -> None:
    for video, event, positive, negative in read.rows("action_bind"):
        agent = read.agent(video, event)
        mirrored = [
            other
            for other, entry in read.tests["agent_bind"][video].items()
            if entry["neg"] == negative
        ]
        assert mirrored
        assert event not in mirrored
        assert f", {agent} is " in negative
        assert f", {agent} is " in positive
        assert all(read.agent(video, other) != agent for other in mirrored)
        kinds = {"Arg1 (patient)" in read.arguments(video, e) for e in (event, *mirrored)}
        assert len(kinds) == 1


def test_action_bind_without_matching_takes_any_action(labels: Path, tmp_path: Path) -> None:
    FromVidsitu(str(tmp_path / "set"), str(labels), match_arguments=False).build()
    read = Read(tmp_path / "set", labels)
    for video, event, _, negative in read.rows("action_bind"):
        agent, bound = read.agent(video, event), read.tests["agent_bind"][video]
        assert f", {agent} is " in negative
        assert negative in [entry["neg"] for other, entry in bound.items() if other != event]
    lengths = {n.count(" ") - p.count(" ") for _, _, p, n in read.rows("action_bind")}
    assert min(lengths) < -1
    assert max(lengths) > 1


def test_agent_coref_strips_agent_and_scene(read: Read) -> None:
    form = re.compile(r"The person who (.+) is also the one who (.+)\.")
    for video, key, positive, negative in read.rows("agent_coref"):
        a, b, c = json.loads(key)
        assert b == c
        assert EVENTS.index(a) < EVENTS.index(b)
        agent = read.agent(video, a)
        assert agent == read.agent(video, b)
        true, false = form.fullmatch(positive), form.fullmatch(negative)
        assert true
        assert false
        assert true[1] == false[1] == without(read.positives[video][a], agent)
        assert true[2] == without(read.positives[video][b], agent)
        assert false[2] == without(read.tests["action_bind"][video][b]["neg"], agent)


def test_agent_coref_takes_all_that_it_can(read: Read) -> None:
    formed = {(video, *json.loads(key)[:2]) for video, key, _, _ in read.rows("agent_coref")}
    for video, entries in read.tests["action_bind"].items():
        for b in entries:
            for a in EVENTS[: EVENTS.index(b)]:
                if read.agent(video, a) == read.agent(video, b):
                    assert (video, a, b) in formed


def test_chrono_swaps_events_that_do_not_follow_one_another(read: Read) -> None:
    for video, key, positive, negative in read.rows("chrono"):
        a, b = json.loads(key)
        assert EVENTS.index(b) - EVENTS.index(a) >= 2
        first, second = (read.positives[video][event] for event in (a, b))
        assert positive == f"First, {first} Then, {second}"
        assert negative == f"First, {second} Then, {first}"
    assert len(read.rows("chrono")) == 6 * len(read.positives)


def test_control_is_a_derangement_of_the_videos(read: Read) -> None:
    for event in EVENTS:
        donors = {v: of[event]["neg_vid"] for v, of in read.control.items() if event in of}
        assert len(donors) > 0.9 * len(read.positives)
        assert len(set(donors.values())) == len(donors)
        for video, donor in donors.items():
            assert donor != video
            assert read.control[video][event]["neg_cap"] == read.positives[donor][event]


def test_action_adv_changes_the_verb_alone(read: Read) -> None:
    for sample, change in read.changes("action_adv"):
        video, event = sample["video"], sample["key"]
        entry = read.tests["action_adv"][video][event]
        done = {of[e]["Verb"] for of in read.annotators[video] for e in EVENTS}
        assert change["old"] == read.annotators[video][0][event]["Verb"]
        assert change["new"] not in done
        old, new = entry["pos"].split(), entry["neg"].split()
        assert len(old) == len(new)
        changed = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
        assert len(changed) == 1
        assert changed[0][1].startswith(change["new"][:3])


def test_action_modif_changes_the_manner_alone(read: Read) -> None:
    for sample, change in read.changes("action_modif"):
        video, event = sample["video"], sample["key"]
        entry = read.tests["action_modif"][video][event]
        assert change["old"] == read.arguments(video, event)["ArgM (manner)"]
        used = {read.arguments(video, e).get("ArgM (manner)") for e in EVENTS}
        assert change["new"] not in used
        assert entry["neg"] == entry["pos"].replace(change["old"], change["new"], 1)


def test_ivat_has_both_ends(read: Read) -> None:
    for video, entries in read.tests["ivat"].items():
        assert {e: c["pos"] for e, c in entries.items()} == read.positives[video]
        assert entries["Ev1"]["pos"] != entries["Ev5"]["pos"]


def test_llm_answers_stand_in_the_journal(llm_set: Path) -> None:
    journal = (llm_set.parent / "set.journal.jsonl").read_text().splitlines()
    keys = {json.loads(line)["key"] for line in journal}
    samples = [json.loads(line) for line in (llm_set / "samples.jsonl").read_text().splitlines()]
    assert samples
    for sample in samples:
        for part in (*sample["true"], *sample["false"]):
            assert part["answers"]
            assert set(part["answers"]) <= keys


def right(kind: Kind, scores: list[float]) -> bool:
    if kind == "match":
        return min(scores[0], scores[3]) > max(scores[1], scores[2])
    return scores[0] > scores[1]


def test_the_perfect_oracle_is_right_everywhere(read: Read) -> None:
    dataset = FromVidsitu(str(read.root))
    perfect, blind = Perfect(), OrderBlind()
    for oracle in (perfect, blind):
        oracle.bind(dataset.facts())
    for sample in dataset.samples():
        scores = [s for clip in sample.clips for s in perfect.score(clip, sample.texts)]
        assert right(sample.kind, scores), sample
        if sample.test == "chrono":
            one, other = blind.score(sample.clips[0], sample.texts)
            assert one == other
