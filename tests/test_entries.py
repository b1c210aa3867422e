"""Entries are printed rows of papers: each composes, and fixes what the paper fixed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import vbench
from vbench.composition import plain, sweep_overrides
from vbench.datasets.toy.benchmark import ToyVelociti
from vbench.overrides import jobs
from vbench.results.paper import rows
from vbench.schema import compose

CONF = Path(__file__).parents[1] / "conf"
ENTRIES = sorted(
    f.relative_to(CONF / "entry").with_suffix("").as_posix() for f in CONF.glob("entry/**/*.yaml")
)
V1 = [entry for entry in ENTRIES if entry.startswith("velociti/v1/")]
PAPER = {row.key: row for table in ("velociti/table2", "velociti/table3") for row in rows(table)}


def settings(entry: str) -> dict[str, Any]:
    return plain(compose([f"entry={entry}"]))


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_composes(entry: str) -> None:
    config = settings(entry)
    assert config["command"]["choices"]["entry"] == entry
    with_plus = plain(compose([f"+entry={entry}"]))
    assert {k: v for k, v in with_plus.items() if k != "command"} == {
        k: v for k, v in config.items() if k != "command"
    }


def test_rows_have_an_entry_if_and_only_if_they_wait_for_nothing() -> None:
    names = {entry.rpartition("/")[2].removesuffix("_corrected") for entry in V1}
    ready = {key for key, row in PAPER.items() if not row.waits_for and key != "random"}
    assert names == ready
    for entry in V1:
        if entry.endswith("_corrected"):
            assert entry.removesuffix("_corrected") in V1


@pytest.mark.parametrize("entry", V1)
def test_an_entry_is_a_protocol_of_velociti_v1(entry: str) -> None:
    config = settings(entry)
    assert config["dataset"]["_target_"].endswith("velociti.release.Velociti")
    assert config["metric"] == {"_target_": "vbench.metrics.velociti.Velociti", "tie": "strict"}
    key = entry.rpartition("/")[2].removesuffix("_corrected")
    if PAPER[key].model:
        assert config["command"]["choices"]["model"] == PAPER[key].model
    methods = _methods(config["model"]["_target_"])
    if methods & {"embed_frames", "embed_clips"}:
        assert (config["dataset"]["source"], config["dataset"]["ivat"]) == ("frames", "frames")
        assert config["trainer"]["precision"] == "32-true"
        if entry != "velociti/v1/clip_vip_b32_corrected":
            assert config["sampler"]["name"] == "velociti20"
    if "embed_frames" in methods:
        assert config["model"]["pooling"] == "mean_then_normalise"


def _methods(target: str) -> set[str]:
    from hydra.utils import get_object

    return set(dir(get_object(target)))


def test_negclip_differs_from_its_correction_by_the_activation_alone() -> None:
    published, corrected = (settings(f"velociti/v1/negclip_b32{x}") for x in ("", "_corrected"))
    assert (published["model"].pop("activation"), corrected["model"].pop("activation")) == (
        "gelu",
        "quick_gelu",
    )
    assert published["model"] == corrected["model"]


def test_vifi_clip_is_published_as_plain_clip_and_corrected_with_its_own_weights() -> None:
    published, corrected = (settings(f"velociti/v1/vifi_clip_b16{x}") for x in ("", "_corrected"))
    assert published["model"]["_target_"].endswith("dual_encoder.DualEncoder")
    assert corrected["model"]["_target_"].endswith("vifi_clip.ViFiClip")
    assert published["model"]["checkpoint"] == corrected["model"]["base"]
    assert corrected["model"]["checkpoint"].endswith("/vifi_clip_10_epochs_k400_full_finetuned.pth")
    assert published["sampler"] == corrected["sampler"]


def test_clip_vip_differs_from_its_correction_by_its_frames_alone() -> None:
    published, corrected = (settings(f"velociti/v1/clip_vip_b32{x}") for x in ("", "_corrected"))
    both = published["model"].pop("processing"), corrected["model"].pop("processing")
    assert both == ("xclip", "clip_vip")
    assert published["model"] == corrected["model"]
    chosen = corrected["sampler"]
    assert (chosen["name"], chosen["num_frames"]) == ("uniform_endpoints", 12)
    assert published["dataset"] == corrected["dataset"]


@pytest.mark.parametrize(
    ("model", "rule", "num_frames"),
    [
        ("vifi_clip_b16", "uniform_midpoints", 32),
        ("clip_vip_b32", "uniform_endpoints", 12),
        ("clip_vip_b16", "uniform_endpoints", 12),
    ],
)
def test_a_models_own_frames_are_its_default(model: str, rule: str, num_frames: int) -> None:
    sampler = compose([f"model={model}", "model.checkpoint=x"]).sampler
    assert (sampler.name, sampler.num_frames) == (rule, num_frames)
    assert compose([f"model={model}", "model.checkpoint=x", "sampler=fps"]).sampler.name == "fps"


def test_an_entry_can_be_asked_of_other_data_and_with_other_settings() -> None:
    words = [
        "entry=velociti/v1/clip_b32",
        "dataset=velociti/human_subset",
        "trainer.precision=bf16-true",
    ]
    config = compose(words)
    assert config.dataset._target_.endswith("HumanSubset")
    assert config.trainer.precision == "bf16-true"


VIDEO_BENCH = {
    "videochat": "video_chat_7b",
    "video_chatgpt": "video_chatgpt_7b",
    "otter": "otter_video_7b",
    "pandagpt": "pandagpt_7b",
    "valley": "valley_7b",
    "mplug_owl": "mplug_owl_7b",
    "video_llama": "video_llama_7b",
    "chat_univi": "chat_univi_7b",
}


@pytest.mark.parametrize("table", ["table2", "table3"])
def test_every_model_of_video_bench_is_an_entry(table: str) -> None:
    assert {row.key for row in rows(f"videobench/{table}")} - {"random"} == set(VIDEO_BENCH)
    assert {file.stem for file in CONF.glob("entry/videobench/*.yaml")} == set(VIDEO_BENCH)


@pytest.mark.parametrize(("key", "model"), VIDEO_BENCH.items())
def test_a_row_of_video_bench_is_asked_with_the_published_prompt(key: str, model: str) -> None:
    config = settings(f"videobench/{key}")
    assert config["command"]["choices"]["model"] == model
    assert config["prompt"]["quirks"] is True
    assert config["scorer"]["_target_"].endswith("TextSimilarity")
    assert config["dataset"]["_target_"].endswith("VideoBenchRelease")
    assert config["metric"]["_target_"].endswith("VideoBench")


STUDIES = sorted(f.stem for f in CONF.glob("experiment/velociti/*.yaml"))


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_composes(study: str) -> None:
    swept = sweep_overrides([f"experiment=velociti/{study}"], asked=False)
    each = jobs(swept) if swept else [[f"experiment=velociti/{study}"]]
    configs = [compose(job) for job in each]
    assert len({config.command.choices.get("entry") for config in configs}) == len(configs)
    header = (CONF / f"experiment/velociti/{study}.yaml").read_text()
    assert f"vbench experiment=velociti/{study}" in header


@pytest.mark.parametrize("table", ["table2", "table3"])
def test_a_tables_study_sweeps_over_all_its_entries(table: str) -> None:
    study = yaml.safe_load((CONF / f"experiment/velociti/{table}.yaml").read_text())
    swept = {word.strip() for word in study["hydra"]["sweeper"]["params"]["entry"].split(",")}
    keys = {row.key for row in rows(f"velociti/{table}")}
    assert swept == {e for e in V1 if e.rpartition("/")[2].removesuffix("_corrected") in keys}
    columns = rows(f"velociti/{table}")[0].cells
    tests = study["hydra"]["sweeper"]["params"]["dataset.tests"].strip("[]").split(", ")
    assert {c.split("_")[0] if c.startswith("ivat") else c for c in columns} - {"average"} == set(
        tests
    )


def test_velociti_v2_asks_for_entailment_and_for_a_choice_in_both_orders() -> None:
    strict, choice = (settings(f"velociti/v2/llava_onevision_7b{x}") for x in ("", "_mcq"))
    assert strict["metric"]["_target_"].endswith("StrictVLE")
    assert strict["sampler"]["name"] == choice["sampler"]["name"] == "mid_second"
    assert (choice["scorer"]["orders"], choice["scorer"]["reader"]) == ("both", "velociti_v2")
    assert strict["model"]["checkpoint"] == choice["model"]["checkpoint"]
    assert {c["trainer"]["precision"] for c in (strict, choice)} == {"16-true"}


def test_video_llava_sees_eight_frames_and_the_four_second_files() -> None:
    config = settings("velociti/v1/video_llava")
    assert (config["sampler"]["name"], config["sampler"]["num_frames"]) == ("left_edge", 8)
    assert config["dataset"]["ivat"] == "segments"
    assert config["prompt"]["template"].startswith("USER: <video>Carefully watch")
    assert config["prompt"]["template"].endswith("Caption: {caption}\nASSISTANT:")


def test_mplug_owl_and_owl_con_are_asked_as_videocons_code_does() -> None:
    plain, tuned = (settings(f"velociti/v1/{row}") for row in ("mplug_v", "owl_con"))
    for config in (plain, tuned):
        assert (config["sampler"]["name"], config["sampler"]["num_frames"]) == (
            "segment_offset",
            32,
        )
        assert (config["scorer"]["tokens"], config["scorer"]["arithmetic"]) == ("encode", "bf16")
        assert config["trainer"]["precision"] == config["model"]["precision"] == "bf16-true"
        assert config["dataset"]["ivat"] == "segments"
        assert "Human: <video>\nHuman: Carefully watch" in config["prompt"]["template"]
    assert tuned["model"].pop("adapter") == {"checkpoint": "videocon/owl-con", "alpha": 32}
    assert plain["model"].pop("adapter") is None
    assert plain["model"] == tuned["model"]


def test_pllava_sees_four_frames_with_a_lora_of_its_evaluations_scale() -> None:
    """pllava/evaluate_velcro.py: num_frames 4, lora_alpha 4, bf16 weights."""
    config = settings("velociti/v1/pllava")
    assert (config["sampler"]["name"], config["sampler"]["num_frames"]) == ("segment_offset", 4)
    assert (config["scorer"]["tokens"], config["scorer"]["arithmetic"]) == ("encode", "fp32")
    assert config["trainer"]["precision"] == config["model"]["precision"] == "bf16-true"
    assert config["dataset"]["ivat"] == "segments"
    assert config["prompt"]["template"].startswith("USER:<video> Carefully watch")
    assert config["prompt"]["template"].endswith(" Caption: {caption} ASSISTANT:")
    assert config["model"]["checkpoint"] == "ermu2001/pllava-7b"
    assert config["model"]["adapter"] == {"alpha": 4}


@pytest.mark.slow
def test_contrastive_entries_see_the_releases_pictures_as_the_official_code_shows_them(
    tmp_path: Path,
) -> None:
    ToyVelociti(str(tmp_path / "set"), num_videos=2, source="frames").build()
    run = vbench.evaluate(
        "entry=velociti/v1/clip_b32", "model=toy/clip", f"dataset.root={tmp_path}/set",
        "dataset.tests=[ivat,chrono]", "trainer=cpu", "logger=none", "loader.num_workers=0",
        f"run_dir={tmp_path}/run",
    )  # fmt: skip
    assert run is not None
    seen = {
        test: {tuple(map(tuple, shown)) for shown in of["frame_indices"]}
        for test, of in run.records.groupby("test")
    }
    # dataloaders/ivat_dataset.py: frames[0:8] and frames[12:20] of the twenty
    assert seen["ivat"] == {(tuple(range(8)), tuple(range(12, 20)))}
    assert seen["chrono"] == {(tuple(range(20)),)}
