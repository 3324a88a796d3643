"""What chat and embedding over an OpenAI-compatible server share: the connection and the wording of its errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quorra.errors import QuorraError
from quorra.inference.protocol import GenerationFailed, ModelAway

if TYPE_CHECKING:
    import openai

CONNECT = 5.0


def plain(text: str) -> str:
    """Replaces lone surrogates, which no request can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class Server:
    """An address, a key (may be empty) and the seconds it may stay silent; nothing is read from the environment."""

    url: str
    key: str = ""
    timeout: float = 120.0

    def client(self) -> openai.OpenAI:
        """Opens a blocking client."""
        import openai

        return openai.OpenAI(**self._options(), http_client=openai.DefaultHttpxClient(trust_env=False))

    def asynchronous(self) -> openai.AsyncOpenAI:
        """Opens a client whose requests can be cancelled."""
        import openai

        return openai.AsyncOpenAI(**self._options(), http_client=openai.DefaultAsyncHttpxClient(trust_env=False))

    def model(self) -> str:
        """Names the model of a server that is asked for none by name; raises ModelAway."""
        import openai

        with self.client() as client:
            try:
                listed = client.models.list().data
            except (openai.OpenAIError, ValueError, AttributeError) as error:
                raise self.trouble(error, begun=False) from error
        return listed[0].id if listed else "default"

    def reachable(self) -> bool:
        """Asks for the list of models and takes any answer but a refusal or a failure for a yes."""
        import openai

        with self.client() as client:
            try:
                client.with_options(timeout=2.0).models.list()
            except openai.APIStatusError as error:
                return error.status_code in {404, 405}
            except (openai.OpenAIError, ValueError):
                return False
        return True

    def trouble(self, error: Exception, begun: bool, tools: bool = False) -> QuorraError:
        """Says what went wrong, never in the server's words.

        ``begun`` tells whether part of a reply had come, ``tools`` whether tools had been offered.
        """
        import openai

        if isinstance(error, openai.APIStatusError):
            if tools and "tool" in f"{error.message} {error.body}".lower():
                return self._toolless(error.status_code)
            return self._refusal(error.status_code)
        if begun:
            return GenerationFailed(f"The model server at {self.url} broke off in the middle.", "Ask again.")
        if isinstance(error, openai.APITimeoutError):
            return ModelAway(
                f"The model server at {self.url} did not answer within {self.timeout:g} seconds.",
                "Start it, or raise the timeout.",
            )
        if isinstance(error, openai.APIConnectionError):
            return ModelAway(f"No model server answers at {self.url}.", "Start it, or check the address.")
        return GenerationFailed(f"The model server at {self.url} answered with something else.", "Check the address.")

    def silent(self) -> GenerationFailed:
        """Says that a stream ended without saying that it was whole."""
        return GenerationFailed(f"The model server at {self.url} broke off before the reply's end.", "Ask again.")

    def _toolless(self, status: int) -> GenerationFailed:
        return GenerationFailed(
            f"The model server at {self.url} refuses tools (status {status}).",
            'Start it so that it lets the model call tools, or set model.tools = "off".',
        )

    def _refusal(self, status: int) -> QuorraError:
        if status in {401, 403}:
            return ModelAway(f"The model server at {self.url} refuses the key.", "Set the right API key.")
        if status == 404:
            return ModelAway(f"The model server at {self.url} knows no such model or path.", "Check url and name.")
        if status == 429 or status >= 500:
            return ModelAway(f"The model server at {self.url} can't answer now (status {status}).", "Try again later.")
        return GenerationFailed(
            f"The model server at {self.url} refused the request (status {status}).", "Check url, name and context."
        )

    def _options(self) -> dict[str, Any]:
        import openai

        return {
            "base_url": self.url,
            "api_key": self.key or "none",
            "admin_api_key": "",
            "organization": "",
            "project": "",
            "webhook_secret": "",
            "max_retries": 0,
            "timeout": openai.Timeout(self.timeout, connect=min(CONNECT, self.timeout)),
        }
