"""The command ``quorra``: one file a family of verbs, loaded when its verb is called."""

import re
import sys
from importlib import import_module

import rich_click as click

from quorra import __version__
from quorra.surfaces.cli.verb import Disk, Usage, deaf, fail

VERBS = {
    "init": ("home", "Make a home for Quorra in a folder."),
    "sync": ("home", "Bring the indexes up to the files."),
    "search": ("find", "Find notes."),
    "ask": ("find", "Answer from the vault, with citations."),
    "read": ("note", "Show a note, now or at a revision."),
    "note": ("note", "Write a note."),
    "move": ("organize", "Move a note or folder, its links with it."),
    "rename": ("organize", "Give a note or folder another name, its links with it."),
    "promote": ("organize", "Make a folder of a note."),
    "mkdir": ("organize", "Make a folder."),
    "remove": ("organize", "Remove a dead or empty note."),
    "plan": ("organize", "Do several of these at once."),
    "review": ("review", "See what waits in the inbox; approve or decline it."),
    "check": ("note", "Validate notes and list links that dangle."),
    "links": ("note", "Show what a note links to and what links to it."),
    "log": ("note", "Show the history with authors and reasons."),
    "undo": ("review", "Take a commit back."),
    "remote": ("remote", "Pull from and push to other people's git."),
    "watch": ("watch", "Commit what is edited by hand."),
    "evals": ("evals", "Measure how well Quorra finds and answers."),
    "serve": ("serve", "Start the service on this machine."),
    "matrix": ("matrix", "Run the Matrix bot."),
    "keys": ("serve", "Create, list and revoke API keys."),
    "backup": ("backup", "Keep the whole home in one file."),
    "restore": ("backup", "Bring a home back from its backup."),
    "models": ("models", "List and fetch models."),
}
_OPTION = re.compile(r"--[a-z]|-[a-z]$")


class Verbs(click.RichGroup):
    """Lists every verb at once and loads a verb's file only when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names the verbs in the order of a day's work."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Loads one verb; for the list of verbs, gives its name and sentence alone."""
        if cmd_name not in VERBS:
            return None
        module, sentence = VERBS[cmd_name]
        if ctx.resilient_parsing or _only_help():
            return click.RichCommand(name=cmd_name, help=sentence)
        command: click.Command = getattr(import_module(f"quorra.surfaces.cli.verbs.{module}"), cmd_name)
        return command


def _only_help() -> bool:
    return len(sys.argv) < 2 or sys.argv[1] == "--help"


@click.group(cls=Verbs, context_settings={"help_option_names": ["--help"]})
@click.version_option(__version__, prog_name="quorra")
def quorra() -> None:
    """Quorra, a private knowledge assistant whose whole mind is text under git."""


def main() -> None:
    """Runs the command line; every way out has an exit code, none a traceback."""
    words = _settled(sys.argv[1:])
    as_json = "--json" in words
    try:
        quorra(words, standalone_mode=False)
    except click.ClickException as error:
        fail(Usage(error), as_json)
    except click.Abort:
        sys.exit(130)
    except BrokenPipeError:
        deaf()
    except OSError as error:
        fail(Disk(error), as_json)


def _settled(words: list[str]) -> list[str]:
    """Lets options stand behind ``-- QUESTION`` too, as programs write them, and those of every verb before it.

    What stands there and is no option's name is an argument: ``rename -- -old -new``.
    """
    start = 0
    while start < len(words) and (size := _shared(words[start])):
        start += size
    before, words = words[:start], words[start:]
    at = words.index("--") if "--" in words else len(words)
    end = next((each for each in range(at + 2, len(words)) if _OPTION.match(words[each])), len(words))
    return [*words[:at], *words[end:], *before, *words[at:end]]


def _shared(word: str) -> int:
    """Counts the words of an option that every verb takes, itself among them; 0 for any other word."""
    if word in ("--home", "--as"):
        return 2
    return int(word == "--json" or word.startswith(("--home=", "--as=")))
