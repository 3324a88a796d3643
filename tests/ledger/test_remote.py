"""Fetching and pushing: beside real bare repositories, servers that are away, rewritten or want a password."""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from quorra.ledger.change import Applied, Refused
from quorra.ledger.ledger import Ledger
from quorra.ledger.plumbing.repository import Repository
from quorra.ledger.remotes.remote import Remote, Remotes
from tests.ledger.places import git, opened, put, repository, sound, write

ORIGIN = Remote("origin", "main")


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "hub")
    return tmp_path / "hub"


@pytest.fixture
def home(tmp_path: Path, hub: Path) -> Path:
    root = repository(tmp_path / "home", {"a.md": b"one\n"})
    git(root, "remote", "add", "origin", str(hub))
    return root


def other(hub: Path) -> Path:
    """Gives another person's clone."""
    clone = hub.with_name("other")
    git(hub.parent, "clone", "-q", str(hub), str(clone))
    git(clone, "config", "user.name", "Tom")
    git(clone, "config", "user.email", "tom@localhost")
    return clone


def head(root: Path, ref: str = "HEAD") -> str:
    return git(root, "rev-parse", ref).strip()


def refusal(done: object) -> tuple[str, str]:
    assert isinstance(done, Refused), done
    assert done.next
    return done.code, f"{done.reason} {done.next}"


def shared(ledger: Ledger) -> None:
    assert isinstance(ledger.remotes.push(ORIGIN), Applied)


def test_an_empty_remote_gives_nothing_and_takes_the_branch(home: Path, hub: Path):
    ledger = opened(home)
    assert ledger.remotes.fetch(ORIGIN) is None
    assert ledger.remotes.push(ORIGIN) == Applied(head(home))
    assert head(hub, "main") == head(home) == head(home, "origin/main")
    assert ledger.remotes.push(ORIGIN) is None, "there is nothing to send"
    assert ledger.remotes.fetch(ORIGIN) == head(home)
    assert git(hub, "for-each-ref", "--format=%(refname)") == "refs/heads/main\n"
    sound(home)


def test_which_remote_is_the_upstream_else_the_only_one(home: Path):
    ledger = opened(home)
    assert ledger.remotes.chosen() == ORIGIN
    git(home, "remote", "add", "second", "elsewhere")
    assert refusal(ledger.remotes.chosen())[0] == "no_remote"
    git(home, "config", "branch.main.remote", "second")
    git(home, "config", "branch.main.merge", "refs/heads/trunk")
    assert ledger.remotes.chosen() == Remote("second", "trunk")
    for name in ("origin", "second"):
        git(home, "remote", "remove", name)
    assert "git remote add" in refusal(ledger.remotes.chosen())[1]
    git(home, "checkout", "-q", "--detach")
    assert refusal(ledger.remotes.chosen())[0] == "detached"


def test_what_is_fetched_changes_no_file_no_branch_and_no_config(home: Path, hub: Path):
    ledger = opened(home)
    shared(ledger)
    clone = other(hub)
    put(clone, {"a.md": b"two\n"})
    git(clone, "tag", "mark")
    git(clone, "push", "-q", "--tags", "origin", "main")
    before, config = head(home), (home / ".git/config").read_bytes()
    assert ledger.remotes.fetch(ORIGIN) == head(clone)
    assert (head(home), git(home, "status", "--porcelain"), git(home, "tag")) == (before, "", "")
    assert head(home, "refs/remotes/origin/main") == head(clone)
    assert (home / ".git/config").read_bytes() == config
    assert not (home / ".git/FETCH_HEAD").exists()
    sound(home)


def test_a_remote_that_moved_on_is_not_overwritten(home: Path, hub: Path):
    ledger = opened(home)
    shared(ledger)
    clone = other(hub)
    put(clone, {"b.md": b"theirs\n"})
    git(clone, "push", "-q")
    write(ledger, {"a.md": b"ours\n"})
    code, said = refusal(ledger.remotes.push(ORIGIN))
    assert (code, "quorra remote pull" in said) == ("remote_ahead", True)
    assert head(hub, "main") == head(clone)
    ledger.remotes.fetch(ORIGIN)
    assert refusal(ledger.remotes.push(ORIGIN))[0] == "remote_ahead"
    assert head(hub, "main") == head(clone)


def rewritten(home: Path, hub: Path, ledger: Ledger) -> tuple[str, str]:
    """Lets the remote forget its last commit for another one; gives both."""
    write(ledger, {"a.md": b"pushed\n"})
    shared(ledger)
    clone = other(hub)
    git(clone, "reset", "-q", "--hard", "HEAD^")
    put(clone, {"b.md": b"instead\n"})
    git(clone, "push", "-q", "--force")
    return head(home), head(clone)


def test_a_rewritten_remote_stops_until_a_person_has_dealt_with_it(home: Path, hub: Path):
    ledger = opened(home)
    old, new = rewritten(home, hub, ledger)
    for _ in range(2):
        code, said = refusal(ledger.remotes.fetch(ORIGIN))
        assert (code, old[:10] in said, new[:10] in said) == ("rewritten", True, True)
        assert head(home, "origin/main") == head(home) == old
        assert refusal(ledger.remotes.push(ORIGIN))[0] in ("rewritten", "remote_ahead")
    git(home, "fetch", "-q", "origin")
    assert head(home, "origin/main") == new
    assert refusal(ledger.remotes.fetch(ORIGIN))[0] == "rewritten"
    assert head(hub, "main") == new


@pytest.mark.parametrize("words", [("merge", "-q", "-m", "both"), ("rebase", "-q", "--onto")])
def test_what_the_sentence_advises_deals_with_it(home: Path, hub: Path, words: tuple[str, ...]):
    ledger = opened(home)
    old, new = rewritten(home, hub, ledger)
    refusal(ledger.remotes.fetch(ORIGIN))
    git(home, *words, new, *([old] if words[0] == "rebase" else []))
    assert ledger.remotes.fetch(ORIGIN) == new
    assert not isinstance(ledger.remotes.push(ORIGIN), Refused)


def test_a_remote_that_was_taken_back_is_not_given_it_again(home: Path, hub: Path):
    ledger = opened(home)
    first = head(home)
    write(ledger, {"secret.md": b"pushed by mistake\n"})
    shared(ledger)
    git(hub, "update-ref", "refs/heads/main", first)
    assert refusal(ledger.remotes.push(ORIGIN))[0] == "rewritten"
    assert refusal(ledger.remotes.fetch(ORIGIN))[0] == "rewritten"
    assert head(hub, "main") == first


def test_hooks_are_not_run_and_the_server_may_say_no(home: Path, hub: Path):
    hook = home / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch ran\nexit 1\n")
    hook.chmod(0o755)
    shared(opened(home))
    assert not (home / "ran").exists()
    no = hub / "hooks/pre-receive"
    no.parent.mkdir(exist_ok=True)
    no.write_text("#!/bin/sh\necho main is closed on Sundays\nexit 1\n")
    no.chmod(0o755)
    write(opened(home), {"a.md": b"more\n"})
    code, said = refusal(opened(home).remotes.push(ORIGIN))
    assert (code, "closed on Sundays" in said) == ("remote_denied", True)


def test_a_shallow_remote_is_told_of(home: Path, hub: Path, tmp_path: Path):
    ledger = opened(home)
    write(ledger, {"a.md": b"two\n"})
    shared(ledger)
    git(tmp_path, "clone", "-q", "--depth", "1", hub.as_uri(), "shallow")
    fresh = repository(tmp_path / "fresh", {"x.md": b"x\n"})
    git(fresh, "remote", "add", "origin", str(tmp_path / "shallow"))
    git(fresh, "update-ref", "refs/quorra/fetched", "HEAD")  # what was fetched before is not taken for what came now
    assert refusal(opened(fresh).remotes.fetch(ORIGIN))[0] == "remote_shallow"
    assert not (fresh / ".git/shallow").exists()


@pytest.mark.parametrize(
    "url", ["/nowhere/at/all", "http://mira:geheim@127.0.0.1:9/x.git?token=geheim", "ssh://127.0.0.1:9/x"]
)
def test_a_remote_that_is_away_is_told_of_without_its_password(home: Path, url: str):
    git(home, "remote", "set-url", "origin", url)
    for done in (opened(home).remotes.fetch(ORIGIN), opened(home).remotes.push(ORIGIN)):
        code, said = refusal(done)
        assert (code, "geheim" in said, "mira" in said) == ("remote_away", False, False)
        assert url[0] != "/" or "repository. Could not read from remote repository. " in said


def test_a_full_disk_here_is_not_the_remotes_fault(small: Path, hub: Path, tmp_path: Path):
    root = repository(small / "home", {"a.md": b"one\n"})
    git(root, "remote", "add", "origin", str(hub))
    ledger = opened(root)
    shared(ledger)
    clone = other(hub)
    put(clone, {"large.bin": os.urandom(300_000)})
    git(clone, "push", "-q", "origin", "main")
    before = head(root)
    room = os.statvfs(small)
    (small / "filler").write_bytes(bytes(room.f_bavail * room.f_frsize - 100_000))
    code, said = refusal(ledger.remotes.fetch(ORIGIN))
    assert (code, "Make room" in said, head(root)) == ("disk", True, before)
    (small / "filler").unlink()
    assert ledger.remotes.fetch(ORIGIN) == head(clone)


@pytest.fixture
def closed() -> Iterator[str]:
    """A web server that wants to know who asks, whoever asks."""

    class Ask(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Ask)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("who", ["", "mira:geheim@"])
def test_a_password_is_never_asked_for(home: Path, closed: str, who: str, tmp_path: Path):
    asked = tmp_path / "asked"
    script = tmp_path / "askpass"
    script.write_text(f"#!/bin/sh\ntouch {asked}\necho x\n")
    script.chmod(0o755)
    git(home, "config", "core.askPass", str(script))
    git(home, "remote", "set-url", "origin", f"http://{who}{closed}/x.git")
    code, said = refusal(opened(home).remotes.fetch(ORIGIN))
    assert (code, "geheim" in said, asked.exists()) == ("remote_denied", False, False)


def test_a_server_that_never_answers_is_given_up(home: Path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        git(home, "remote", "set-url", "origin", f"git://127.0.0.1:{silent.getsockname()[1]}/x")
        repo = Repository(home)
        code, said = refusal(Remotes(repo, patience=1.0).fetch(ORIGIN))
        assert (code, "did not answer within 1 seconds" in said) == ("remote_away", True)
        repo.close()


@pytest.fixture
def daemon(hub: Path) -> Iterator[str]:
    """Serves the bare repository as git does, for reading and writing, on this machine alone."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [
        f"--base-path={hub.parent}",
        "--export-all",
        "--enable=receive-pack",
        "--listen=127.0.0.1",
        f"--port={port}",
    ]
    process = subprocess.Popen(["git", "daemon", "--reuseaddr", *words], stderr=subprocess.DEVNULL, process_group=0)
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        threading.Event().wait(0.05)
    yield f"git://127.0.0.1:{port}/hub"
    os.killpg(process.pid, 15)
    process.wait()


def test_over_the_network(home: Path, hub: Path, daemon: str):
    git(home, "remote", "set-url", "origin", daemon)
    ledger = opened(home)
    assert ledger.remotes.fetch(ORIGIN) is None
    shared(ledger)
    clone = other(hub)
    put(clone, {"b.md": b"theirs\n"})
    git(clone, "push", "-q")
    assert ledger.remotes.fetch(ORIGIN) == head(clone)
    write(ledger, {"a.md": b"ours\n"})
    assert refusal(ledger.remotes.push(ORIGIN))[0] == "remote_ahead"
