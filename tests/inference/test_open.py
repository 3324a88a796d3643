"""Settings and ``--model`` give the backend they name."""

from pathlib import Path

import pytest

from quorra.inference.open import UnknownModel, chat, embedder, override
from quorra.settings import Embedder, Model

URL = "http://127.0.0.1:1/v1"


def test_the_packaged_model_quotes_and_every_other_composes(tmp_path: Path) -> None:
    assert chat(Model()).abilities.style == "quotation"
    assert chat(Model()).name == "SmolLM2-135M-Instruct"
    assert chat(Model(path="big.gguf")).abilities.style == "composition"
    assert chat(Model(path="models/big.gguf")).name == "big"
    assert chat(Model(backend="openai", url="http://127.0.0.1:1/v1")).abilities.style == "composition"
    assert chat(Model(backend="scripted")).abilities.style == "composition"


@pytest.mark.parametrize("model", [Model(), Model(path="a.gguf"), Model(backend="scripted")])
def test_settings_may_say_otherwise(model: Model) -> None:
    for style in ("quotation", "composition"):
        assert chat(model.model_copy(update={"answers": style})).abilities.style == style


@pytest.mark.parametrize("rest", [{"path": "big.gguf"}, {"backend": "openai", "url": URL}, {"backend": "scripted"}])
def test_tools_are_for_every_model_but_the_packaged_one_unless_they_are_off(rest: dict[str, str]) -> None:
    assert chat(Model.model_validate(rest)).abilities.tools
    assert not chat(Model.model_validate({**rest, "tools": "off"})).abilities.tools
    assert not chat(Model()).abilities.tools


def test_a_relative_path_starts_at_the_home(tmp_path: Path) -> None:
    (tmp_path / "own.gguf").touch()
    assert chat(Model(path="own.gguf"), home=tmp_path).reachable()
    assert not chat(Model(path="own.gguf"), home=tmp_path / "elsewhere").reachable()


@pytest.mark.parametrize("url", ["", "ftp://x", "127.0.0.1:80", "http://[::1", "http://h:99999", "http://a b/"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UnknownModel, match=r"must be a server's address"):
        chat(Model(backend="openai", url=url))
    with pytest.raises(UnknownModel):
        embedder(Embedder(backend="openai", url=url))


def test_a_gguf_embedder_needs_a_file() -> None:
    with pytest.raises(UnknownModel, match="names no file"):
        embedder(Embedder(backend="gguf"))


def test_model_overrides(tmp_path: Path) -> None:
    home, pulled = tmp_path, tmp_path / "models"
    pulled.mkdir()
    (pulled / "qwen.gguf").touch()
    (home / "own.gguf").touch()
    settings, places = Model(name="before", context=2048), [home, pulled]
    assert override("scripted", settings, places).backend == "scripted"
    assert override("qwen", settings, places).path == str(pulled / "qwen.gguf")
    assert override("qwen.gguf", settings, places).path == str(pulled / "qwen.gguf")
    assert override("own.gguf", settings, places).path == str(home / "own.gguf")
    assert override(str(home / "own.gguf"), settings, []).path == str(home / "own.gguf")
    remote = override("openai:http://127.0.0.1:8080/v1#qwen", settings, places)
    assert (remote.backend, remote.url, remote.name, remote.context) == (
        "openai",
        "http://127.0.0.1:8080/v1",
        "qwen",
        2048,
    )
    again = override("SmolLM2-135M-Instruct", remote, places)
    assert (again.backend, again.path) == ("llama", "")
    assert chat(override("qwen", settings, places)).name == "qwen"


@pytest.mark.parametrize("text", ["nothing-of-this-name", "", "openai:", "scripted:none.json", "../../etc"])
def test_an_unknown_model_is_said_to_be_unknown(text: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownModel) as told:
        override(text, Model(), [tmp_path])
    assert told.value.next
