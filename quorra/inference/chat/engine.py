"""A GGUF model loaded by llama.cpp: tokens in, tokens out, with what is evaluated kept."""

import ctypes
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import llama_cpp
import numpy as np

from quorra.inference.protocol import GenerationFailed, ModelAway, Vectors
from quorra.inference.stream import common

BATCH = 512
_ABORTED = 2
_started = Lock()


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _quiet(level: int, text: bytes, data: object) -> None:
    """Swallows llama.cpp's own chatter, which would go to stderr."""


class Weights:
    """A loaded model file and its vocabulary; raises ModelAway where it can't be loaded."""

    def __init__(self, path: Path) -> None:
        with _started:
            llama_cpp.llama_log_set(_quiet, ctypes.c_void_p(0))
            llama_cpp.llama_backend_init()
        if not path.is_file():
            raise ModelAway(f"There is no model file {path}.", "Check model.path, or pull one with: quorra models pull")
        params = llama_cpp.llama_model_default_params()
        # Compilers that believe a tile configuration is eight bytes long build an AMX path that crashes.
        params.use_extra_bufts = b"AMX_INT8 = 1" not in llama_cpp.llama_print_system_info()
        model = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
        if not model:
            raise ModelAway(f"{path} is not a GGUF model that llama.cpp can load.", "Use another file.")
        self.model: Any = model
        self.vocab: Any = llama_cpp.llama_model_get_vocab(model)
        self.trained: int = llama_cpp.llama_model_n_ctx_train(model)
        self.width: int = llama_cpp.llama_model_n_embd(model)

    def tokens(self, text: str, special: bool = False) -> list[int]:
        """Tokenizes; ``special`` reads control tokens in the text as such, never to be set for text not ours."""
        return self._tokens(text, borders=False, special=special)

    def whole(self, text: str) -> list[int]:
        """Tokenizes a text that stands alone, with the tokens the model wants at its borders."""
        return self._tokens(text, borders=True, special=False)

    def _tokens(self, text: str, borders: bool, special: bool) -> list[int]:
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        buffer = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(self.vocab, data, len(data), buffer, room, borders, special)
        return list(buffer[:count])

    def piece(self, token: int) -> bytes:
        """Gives a token's bytes; control tokens too, for the cleaner to judge."""
        buffer = ctypes.create_string_buffer(256)
        count = llama_cpp.llama_token_to_piece(self.vocab, token, buffer, 256, 0, True)
        return buffer.raw[: max(count, 0)]

    def ends(self, token: int) -> bool:
        """Tells whether the token ends a reply."""
        return bool(llama_cpp.llama_vocab_is_eog(self.vocab, token))

    def borders(self) -> tuple[str, str, list[int]]:
        """Gives the texts of the begin and end tokens, and the tokens that every prompt must begin with."""
        begin, end = llama_cpp.llama_vocab_bos(self.vocab), llama_cpp.llama_vocab_eos(self.vocab)
        texts = [llama_cpp.llama_vocab_get_text(self.vocab, one).decode() if one >= 0 else "" for one in (begin, end)]
        return texts[0], texts[1], [begin] if llama_cpp.llama_vocab_get_add_bos(self.vocab) else []

    @property
    def pools(self) -> bool:
        """Tells whether the file says how token vectors become one."""
        return bool(self.meta(f"{self.meta('general.architecture')}.pooling_type").strip("0"))

    def meta(self, key: str) -> str:
        """Gives one line of the file's metadata, empty where there is none."""
        size = llama_cpp.llama_model_meta_val_str(self.model, key.encode(), None, 0)
        if size < 0:
            return ""
        buffer = ctypes.create_string_buffer(size + 1)
        llama_cpp.llama_model_meta_val_str(self.model, key.encode(), buffer, size + 1)
        return buffer.value.decode("utf-8", "replace")

    def close(self) -> None:
        """Frees the weights."""
        if self.model:
            llama_cpp.llama_model_free(self.model)
            self.model = None


class Context:
    """One sequence of evaluated tokens. Not safe for two threads at once."""

    def __init__(
        self, weights: Weights, size: int, threads: int, *, embeddings: Literal["none", "pooled", "tokens"] = "none"
    ) -> None:
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = min(size, weights.trained) if weights.trained else size
        params.n_batch = params.n_ubatch = min(BATCH, params.n_ctx)
        params.n_threads = params.n_threads_batch = threads
        params.embeddings = embeddings != "none"
        if embeddings == "tokens":
            params.pooling_type = llama_cpp.LLAMA_POOLING_TYPE_NONE
        elif embeddings == "pooled" and not weights.pools:
            params.pooling_type = llama_cpp.LLAMA_POOLING_TYPE_MEAN
        params.no_perf = True
        # On a processor flash attention reads a prompt a tenth faster and writes a third slower.
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        self._stop: Callable[[], bool] = lambda: False
        self._abort = llama_cpp.ggml_abort_callback(lambda data: self._stop())
        self._weights = weights
        self.size: int = params.n_ctx
        self._batch: int = params.n_batch
        self._ctx: Any = llama_cpp.llama_init_from_model(weights.model, params)
        if not self._ctx:
            raise ModelAway(f"llama.cpp can't make a context of {self.size} tokens.", "Lower model.context.")
        self._memory = llama_cpp.llama_get_memory(self._ctx)
        self._held: list[int] = []

    def prepare(self, prompt: Sequence[int], stop: Callable[[], bool]) -> int:
        """Evaluates what differs from the tokens already held; gives how many that were, -1 if stopped."""
        keep = self._cut(min(common(prompt, self._held), len(prompt) - 1))
        for at in range(keep, len(prompt), BATCH):
            if stop() or not self._decode(prompt[at : at + BATCH], stop):
                return -1
        return len(prompt) - keep

    def pick(self, sampler: "Sampler") -> int | None:
        """Gives the token that follows what is held, None where it ends the reply."""
        token = sampler.pick(self._ctx)
        return None if self._weights.ends(token) else token

    def take(self, tokens: Sequence[int]) -> None:
        """Evaluates what a reply goes on with."""
        self._decode(tokens)

    @property
    def full(self) -> bool:
        """Tells whether no further token fits."""
        return len(self._held) >= self.size

    def embedding(self, prompt: Sequence[int]) -> Vectors:
        """Gives the pooled vector of a prompt, of its first batch where it is longer."""
        self._whole(prompt[: self._batch])
        raw = ctypes.cast(llama_cpp.llama_get_embeddings_seq(self._ctx, 0), ctypes.POINTER(ctypes.c_float))
        return np.ctypeslib.as_array(raw, shape=(self._weights.width,)).copy()

    def states(self, prompt: Sequence[int]) -> Vectors:
        """Gives a vector a token of a prompt, of its first batch where it is longer."""
        held = prompt[: self._batch]
        self._whole(held)
        raw = ctypes.cast(llama_cpp.llama_get_embeddings(self._ctx), ctypes.POINTER(ctypes.c_float))
        return np.ctypeslib.as_array(raw, shape=(len(held), self._weights.width)).copy()

    def close(self) -> None:
        """Frees the context."""
        if self._ctx:
            llama_cpp.llama_free(self._ctx)
            self._ctx = None

    def _whole(self, prompt: Sequence[int]) -> None:
        self._cut(0)
        batch = llama_cpp.llama_batch_init(len(prompt), 0, 1)
        try:
            batch.n_tokens = len(prompt)
            for at, token in enumerate(prompt):
                batch.token[at], batch.pos[at] = token, at
                batch.n_seq_id[at], batch.seq_id[at][0] = 1, 0
                batch.logits[at] = True
            self._check(llama_cpp.llama_decode(self._ctx, batch))
        finally:
            llama_cpp.llama_batch_free(batch)

    def _cut(self, keep: int) -> int:
        """Forgets what is held from ``keep`` on; models that can't forget a part forget it all."""
        if self._memory and not llama_cpp.llama_memory_seq_rm(self._memory, 0, keep, -1):
            llama_cpp.llama_memory_clear(self._memory, True)
            keep = 0
        del self._held[keep:]
        return keep

    def _decode(self, tokens: Sequence[int], stop: Callable[[], bool] | None = None) -> bool:
        self._stop = stop or self._stop
        if stop:
            llama_cpp.llama_set_abort_callback(self._ctx, self._abort, None)
        array = (llama_cpp.llama_token * len(tokens))(*tokens)
        code = llama_cpp.llama_decode(self._ctx, llama_cpp.llama_batch_get_one(array, len(tokens)))
        if stop:
            llama_cpp.llama_set_abort_callback(self._ctx, llama_cpp.ggml_abort_callback(0), None)
        if code == _ABORTED:
            self._cut(len(self._held))
            return False
        self._check(code)
        self._held.extend(tokens)
        return True

    def _check(self, code: int) -> None:
        if code:
            self._cut(0)
            raise GenerationFailed(f"llama.cpp could not evaluate the prompt (code {code}).", "Shorten it or retry.")


class Sampler:
    """Picks the next token: the likeliest at temperature 0, else a seeded draw; only what fits a grammar, if given."""

    def __init__(self, weights: Weights, temperature: float, grammar: str = "", seed: int = 7) -> None:
        self._free = self._chain(self._parts(temperature, seed))
        self._held: Any = None
        self._grammar: Any = None
        if grammar:
            self._grammar = llama_cpp.llama_sampler_init_grammar(weights.vocab, grammar.encode(), b"root")
            if not self._grammar:
                self.close()
                raise GenerationFailed("llama.cpp can't read the grammar of the tools.", "Check the tools' schemas.")
            self._held = self._chain(chain([self._grammar], self._parts(temperature, seed)))

    def pick(self, ctx: Any) -> int:
        """Picks from the logits of the last evaluated token.

        A grammar judges first what would be picked without it, as judging every token takes long.
        """
        token = int(llama_cpp.llama_sampler_sample(self._free, ctx, -1))
        if self._held is None:
            return token
        if self._fits(token):
            llama_cpp.llama_sampler_accept(self._grammar, token)
            return token
        return int(llama_cpp.llama_sampler_sample(self._held, ctx, -1))

    def close(self) -> None:
        """Frees the sampler."""
        llama_cpp.llama_sampler_free(self._free)
        if self._held:
            llama_cpp.llama_sampler_free(self._held)

    def _fits(self, token: int) -> bool:
        one = (llama_cpp.llama_token_data * 1)(llama_cpp.llama_token_data(token, 0.0, 0.0))
        llama_cpp.llama_sampler_apply(self._grammar, ctypes.byref(llama_cpp.llama_token_data_array(one, 1, -1, False)))
        return bool(one[0].logit == 0.0)

    @staticmethod
    def _chain(parts: Iterable[Any]) -> Any:
        made = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
        for part in parts:
            llama_cpp.llama_sampler_chain_add(made, part)
        return made

    @staticmethod
    def _parts(temperature: float, seed: int) -> Iterator[Any]:
        if temperature <= 0:
            yield llama_cpp.llama_sampler_init_greedy()
            return
        yield llama_cpp.llama_sampler_init_top_k(40)
        yield llama_cpp.llama_sampler_init_top_p(0.95, 1)
        yield llama_cpp.llama_sampler_init_min_p(0.05, 1)
        yield llama_cpp.llama_sampler_init_temp(temperature)
        yield llama_cpp.llama_sampler_init_dist(seed)
