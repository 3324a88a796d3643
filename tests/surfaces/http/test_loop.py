"""What the loop must not do itself: it would make everybody wait."""

import asyncio
import threading
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from quorra import settings
from quorra.access.window import Window
from quorra.home import Home
from quorra.state.keys import Keys
from quorra.surfaces.http.app import build
from quorra.surfaces.http.desk import Desk
from quorra.surfaces.http.entry import roads
from quorra.surfaces.http.entry.auth import Auth
from quorra.surfaces.http.entry.door import Door
from tests.surfaces.http.conftest import NOW, SURE, new_home


class Watched(Home):
    """A home that notes on which threads its folders are looked through."""

    looked: set[threading.Thread]

    def window(self, principal: str, text: str | None) -> Window:
        """Gives the window."""
        self.looked.add(threading.current_thread())
        return super().window(principal, text)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/chat", {"message": SURE, "scope": ["general"]}),
        ("/chat/stream", {"message": SURE, "scope": ["general"]}),
        ("/ask", {"question": SURE}),
        ("/search", {"question": "boiler", "mode": "words"}),
    ],
)
def test_no_folder_is_read_on_the_loop(tmp_path: Path, path: str, body: dict[str, object]) -> None:
    with closing(Watched.open(settings.read(new_home(tmp_path)))) as home:
        assert isinstance(home, Watched)
        home.looked, desk, auth = set(), Desk(2), Auth(roads.bearers(home), 1)
        headers = {"Authorization": f"Bearer {Keys(home.state).create('tests', 'owner', NOW)[1]}"}

        async def asked() -> int:
            through = httpx.ASGITransport(app=Door(build(home, desk, auth), auth, None))
            async with httpx.AsyncClient(transport=through, base_url="http://localhost", headers=headers) as client:
                return (await client.post(path, json=body)).status_code

        with closing(desk):
            assert asyncio.run(asked()) == 200
        assert home.looked
        assert threading.main_thread() not in home.looked
