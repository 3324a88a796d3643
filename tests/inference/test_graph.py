"""The graph that set-up builds says what the weights say."""

from pathlib import Path

import numpy as np
import pytest

from quorra.inference.embed.minilm import MiniLM
from quorra.inference.graph import Builder, agreement, build, read, reference
from quorra.inference.packaged import GRAPH, TOKENIZER, WEIGHTS
from quorra.inference.protocol import ModelAway

TEXTS = ["When was the gutter cleaned?", "Thermostat: 19.5 °C by day, 16 °C at night.", "two words " * 30]


def test_every_width_agrees_with_the_weights() -> None:
    tensors = read(WEIGHTS.path())
    assert agreement(Builder(tensors, 32).model(), tensors, TEXTS) > 0.99999
    assert agreement(Builder(tensors, 8).model(), tensors, TEXTS) > 0.985
    assert agreement(Builder(tensors, 7).model(), tensors, TEXTS) > 0.97


def test_the_embedder_gives_the_reference_s_vectors() -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(TOKENIZER.path()))
    tokenizer.no_padding()
    tensors = read(WEIGHTS.path())
    wanted = np.array([reference(tensors, tokenizer.encode(text).ids) for text in TEXTS])
    assert ((MiniLM().embed(TEXTS) * wanted).sum(axis=1) > 0.985).all()


def test_building_again_gives_the_same_bytes(tmp_path: Path) -> None:
    build(tmp_path / "deep" / "graph.onnx")
    assert (tmp_path / "deep" / "graph.onnx").read_bytes() == GRAPH.read_bytes()
    assert list((tmp_path / "deep").iterdir()) == [tmp_path / "deep" / "graph.onnx"]


def test_a_graph_that_was_never_built_is_a_model_away(tmp_path: Path) -> None:
    embedder = MiniLM(tmp_path / "none.onnx")
    with pytest.raises(ModelAway, match="not built"):
        embedder.embed(["x"])
    with pytest.raises(ModelAway):
        embedder.name  # noqa: B018


def test_a_graph_of_another_version_says_what_to_run(tmp_path: Path) -> None:
    import onnx

    graph = onnx.load(GRAPH)
    del graph.graph.output[1]
    onnx.save(graph, tmp_path / "old.onnx")
    with pytest.raises(ModelAway, match="another version"):
        MiniLM(tmp_path / "old.onnx").embed(["x"])
