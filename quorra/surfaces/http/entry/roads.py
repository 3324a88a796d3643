"""Which roads into a home are open, by its keys and settings; without any there is the link alone."""

from typing import TYPE_CHECKING

from quorra.access.principals import People, named
from quorra.access.window import UnknownPrincipal
from quorra.state.keys import SERVICE
from quorra.surfaces.http.entry.bearers import Bearers

if TYPE_CHECKING:
    from quorra.home import Home


def bearers(home: "Home") -> Bearers:
    """Gives the home's roads for bearers."""
    told, provider = home.settings, None
    if told.oidc.issuer:
        from quorra.surfaces.http.entry.oidc import Provider

        provider = Provider(told.oidc)
    return Bearers(home.keys.verify, lambda who: home.window(who, None), People(told.people), provider)


def open_to_others(home: "Home") -> bool:
    """Tells whether anybody could come in by another road than the link."""
    return bool(home.keys.active() or home.settings.oidc.issuer)


def told(home: "Home") -> list[str]:
    """Says what the owner should know of the roads when the service starts."""
    people, provider = home.settings.people, home.settings.oidc.issuer
    lines = []
    if not open_to_others(home):
        lines.append("Only the link opens the service: there is no API key and no OpenID provider.")
    if not people and (provider or any(key.kind == SERVICE for key in home.keys.active())):
        lines.append("Nobody stands under [people], so neither service keys nor OpenID tokens let anybody in.")
    gone = sorted({named(name).id for name in people.values() if not _here(home, name)})
    if gone:
        lines.append(f"[people] names whom this home does not know: {', '.join(gone)}. They are not let in.")
    return lines


def _here(home: "Home", name: str) -> bool:
    try:
        home.window(named(name).id, None)
    except UnknownPrincipal:
        return False
    return True
