"""Builds the embedder's graph at set-up: MiniLM from its fp32 weights, fused and dynamically quantized.

Run as ``python -m quorra.inference.graph``. It needs ``onnx``, which nothing at run time does.
"""

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quorra.errors import QuorraError
from quorra.inference.packaged import GRAPH, TOKENIZER, WEIGHTS

LAYERS, HEADS, WIDTH = 6, 12, 384
EPSILON = 1e-12
CLOSE = 0.985
TRIED = (8, 7, 32)
TEXTS = (
    "The boiler was serviced on 12 March 2026; its pressure should stay between 1.2 and 1.6 bar.",
    "Paper bins go out on the second Tuesday of the month, before seven in the morning.",
    "# Garden\n- [ ] prune the apple tree\n- [x] order seeds: beans, chard, kale",
    "git",
    "Who may write a fact? What a person stated is written at once; what was concluded is only proposed. " * 6,
)
Floats = npt.NDArray[np.float32]
Tensors = Mapping[str, Floats]


class GraphFailed(QuorraError):
    """No graph that could be built agrees with the weights it was built from."""

    code = "graph_failed"


def read(path: Path) -> dict[str, Floats]:
    """Reads a safetensors file's fp32 tensors: a length, a JSON table of offsets, raw little-endian numbers."""
    data = np.memmap(path, np.uint8, "r")
    size = int(data[:8].view("<u8")[0])
    table = json.loads(data[8 : 8 + size].tobytes())
    body = data[8 + size :]
    return {
        name: body[slice(*entry["data_offsets"])].view("<f4").reshape(entry["shape"])
        for name, entry in table.items()
        if entry.get("dtype") == "F32"
    }


class Builder:
    """Collects nodes and constants of one graph; ``bits`` 8 or 7 quantizes matrices, 32 leaves them."""

    def __init__(self, tensors: Tensors, bits: int) -> None:
        from onnx import helper, numpy_helper

        self._helper: Any = helper
        self._constant: Any = numpy_helper.from_array
        self._tensors = tensors
        self._bits = bits
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> bytes:
        """Gives the whole graph: token ids in, one unit-length vector out, and where asked for each token's state."""
        helper = self._helper
        state = self._embedding()
        for layer in range(LAYERS):
            state = self._layer(f"encoder.layer.{layer}.", state)
        self._nodes[-1].output[0] = state = "states"
        mean = self._node("ReduceMean", [state, self._keep("axis", np.array([1], np.int64))], keepdims=0)
        self._nodes.append(helper.make_node("LpNormalization", [mean], ["vector"], axis=1, p=2))
        graph = helper.make_graph(
            self._nodes,
            "minilm",
            [helper.make_tensor_value_info("ids", 7, [1, "tokens"])],
            [
                helper.make_tensor_value_info("vector", 1, [1, WIDTH]),
                helper.make_tensor_value_info("states", 1, [1, "tokens", WIDTH]),
            ],
            self._constants,
        )
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="quorra")
        return bytes(made.SerializeToString(deterministic=True))

    def _embedding(self) -> str:
        words = self._tensors["embeddings.word_embeddings.weight"]
        if self._bits == 32:
            looked = self._node("Gather", [self._keep("words", words), "ids"])
        else:
            scale = np.maximum(np.abs(words).max(axis=1, keepdims=True), 1e-12) / 127
            table = self._keep("words", np.rint(words / scale).astype(np.int8))
            cast = self._node("Cast", [self._node("Gather", [table, "ids"])], to=1)
            scales = self._node("Gather", [self._keep("scales", scale.astype(np.float32)), "ids"])
            looked = self._node("Mul", [cast, scales])
        length = self._node("Slice", [self._node("Shape", ["ids"]), *self._ints([1], [2])])
        places = self._keep("places", self._tensors["embeddings.position_embeddings.weight"][None])
        spots = self._node("Slice", [places, *self._ints([0]), length, *self._ints([1])])
        kind = self._keep("kind", self._tensors["embeddings.token_type_embeddings.weight"][0])
        return self._norm("embeddings.LayerNorm", looked, spots, kind)

    def _layer(self, at: str, state: str) -> str:
        seen = self._attention(at + "attention.self.", state)
        mixed = self._dense(at + "attention.output.dense", seen)
        state = self._norm(at + "attention.output.LayerNorm", mixed, state, self._bias(at + "attention.output.dense"))
        wide = self._dense(at + "intermediate.dense", state)
        wide = self._node("BiasGelu", [wide, self._bias(at + "intermediate.dense")], "com.microsoft")
        back = self._dense(at + "output.dense", wide)
        return self._norm(at + "output.LayerNorm", back, state, self._bias(at + "output.dense"))

    def _attention(self, at: str, state: str) -> str:
        parts = ("query", "key", "value")
        weight = np.concatenate([self._tensors[f"{at}{part}.weight"].T for part in parts], axis=1)
        bias = self._keep(at + "bias", np.concatenate([self._tensors[f"{at}{part}.bias"] for part in parts]))
        if self._bits == 32:
            return self._node(
                "Attention", [state, self._keep(at + "weight", weight), bias], "com.microsoft", num_heads=HEADS
            )
        whole, scale, zero = self._quantized(at, weight)
        small, small_scale, small_zero = self._dynamic(state)
        inputs = [small, whole, bias, small_scale, scale, "", small_zero, zero]
        return self._node("QAttention", inputs, "com.microsoft", num_heads=HEADS)

    def _dense(self, at: str, state: str) -> str:
        weight = self._tensors[at + ".weight"].T
        if self._bits == 32:
            return self._node("MatMul", [state, self._keep(at + ".weight", weight)])
        return self._node("DynamicQuantizeMatMul", [state, *self._quantized(at + ".", weight)], "com.microsoft")

    def _norm(self, at: str, state: str, other: str, bias: str) -> str:
        gamma = self._keep(at + ".weight", self._tensors[at + ".weight"])
        beta = self._keep(at + ".bias", self._tensors[at + ".bias"])
        inputs = [state, other, gamma, beta, bias]
        return self._node("SkipLayerNormalization", inputs, "com.microsoft", epsilon=EPSILON)

    def _bias(self, at: str) -> str:
        return self._keep(at + ".bias", self._tensors[at + ".bias"])

    def _quantized(self, at: str, weight: Floats) -> tuple[str, str, str]:
        """Keeps a matrix as int8 with one scale a column."""
        scale = np.abs(weight).max(axis=0) / (2 ** (self._bits - 1) - 1)
        return (
            self._keep(at + "weight", np.rint(weight / scale).astype(np.int8)),
            self._keep(at + "scale", scale.astype(np.float32)),
            self._keep(at + "zero", np.zeros(weight.shape[1], np.int8)),
        )

    def _dynamic(self, state: str) -> tuple[str, str, str]:
        at = f"n{len(self._nodes)}"
        names = (at, at + "s", at + "z")
        self._nodes.append(self._helper.make_node("DynamicQuantizeLinear", [state], names))
        return names

    def _ints(self, *values: Sequence[int]) -> list[str]:
        return [self._keep(f"i{value[0]}", np.array(value, np.int64)) for value in values]

    def _keep(self, name: str, value: npt.NDArray[Any]) -> str:
        if name not in {constant.name for constant in self._constants}:
            self._constants.append(self._constant(np.ascontiguousarray(value), name))
        return name

    def _node(self, kind: str, inputs: Sequence[str], domain: str = "", **attributes: Any) -> str:
        name = f"n{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(kind, inputs, [name], domain=domain, **attributes))
        return name


def reference(tensors: Tensors, ids: Sequence[int]) -> Floats:
    """Runs the model in plain fp32 numpy: what every graph is measured against."""

    def dense(at: str, state: Floats) -> Floats:
        out: Floats = state @ tensors[at + ".weight"].T + tensors[at + ".bias"]
        return out

    def norm(at: str, state: Floats) -> Floats:
        state = state - state.mean(axis=-1, keepdims=True)
        state = state / np.sqrt((state**2).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
        return state * tensors[at + ".weight"] + tensors[at + ".bias"]

    state = tensors["embeddings.word_embeddings.weight"][list(ids)]
    state = state + tensors["embeddings.position_embeddings.weight"][: len(ids)]
    state = norm("embeddings.LayerNorm", state + tensors["embeddings.token_type_embeddings.weight"][0])
    for layer in range(LAYERS):
        state = _reference_layer(f"encoder.layer.{layer}.", state, dense, norm)
    mean = state.mean(axis=0)
    unit: Floats = mean / np.linalg.norm(mean)
    return unit


def _reference_layer(
    at: str, state: Floats, dense: Callable[[str, Floats], Floats], norm: Callable[[str, Floats], Floats]
) -> Floats:
    def heads(part: str) -> Floats:
        return dense(f"{at}attention.self.{part}", state).reshape(len(state), HEADS, -1).transpose(1, 0, 2)

    scores = heads("query") @ heads("key").transpose(0, 2, 1) / np.float32(math.sqrt(WIDTH / HEADS))
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    seen = (scores / scores.sum(axis=-1, keepdims=True)) @ heads("value")
    mixed = dense(at + "attention.output.dense", seen.transpose(1, 0, 2).reshape(len(state), WIDTH))
    state = norm(at + "attention.output.LayerNorm", mixed + state)
    wide = dense(at + "intermediate.dense", state)
    erf = np.frompyfunc(math.erf, 1, 1)(wide / math.sqrt(2)).astype(np.float32)
    return norm(at + "output.LayerNorm", dense(at + "output.dense", wide * (1 + erf) / 2) + state)


def agreement(graph: bytes, tensors: Tensors, texts: Sequence[str] = TEXTS) -> float:
    """Gives the least cosine between a graph's vectors and the reference's."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(TOKENIZER.path()))
    tokenizer.no_padding()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    least = 1.0
    for text in texts:
        ids = tokenizer.encode(text).ids
        vector = session.run(["vector"], {"ids": np.array([ids], np.int64)})[0][0]
        least = min(least, float(vector @ reference(tensors, ids)))
    return least


def build(target: Path) -> str:
    """Writes the smallest graph that agrees with the weights on this machine; says which and how well.

    Eight bits where the processor multiplies them exactly, seven where sums of
    two products saturate, fp32 where neither holds.
    """
    tensors = read(WEIGHTS.path())
    for bits in TRIED:
        graph = Builder(tensors, bits).model()
        if (least := agreement(graph, tensors)) >= CLOSE:
            target.parent.mkdir(parents=True, exist_ok=True)
            fresh = target.with_suffix(f".{os.getpid()}")
            fresh.write_bytes(graph)
            fresh.replace(target)
            return f"{target}: {bits} bits, least cosine to fp32 {least:.4f}"
    raise GraphFailed(f"No graph agrees with {WEIGHTS.file} on this machine.", "Report the processor and onnxruntime.")


def main() -> None:
    """Builds the graph where the embedder looks for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=GRAPH)
    sys.stdout.write(build(parser.parse_args().out) + "\n")


if __name__ == "__main__":
    main()
