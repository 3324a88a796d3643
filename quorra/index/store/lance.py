"""Imports LanceDB without the REST client of remote namespaces.

That client is 800 modules of data classes and takes over half of LanceDB's
import, though a local table never uses it. Its names are handed out as empty
classes, which LanceDB only mentions in annotations.
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

_REMOTE = "lance_namespace_urllib3_client"


class _Unused(Loader):
    """Finds the REST client's modules and fills them with empty classes, on demand."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Claims the client's modules and no others."""
        return ModuleSpec(name, self, is_package=True) if name.split(".", maxsplit=1)[0] == _REMOTE else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Leaves the module to Python."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module a class for every name that it is asked for."""

        def name(of: str) -> type:
            if of.startswith("__"):
                raise AttributeError(of)
            made = type(of, (), {"__module__": module.__name__})
            setattr(module, of, made)
            return made

        module.__getattr__ = name  # type: ignore[method-assign]


def lancedb() -> ModuleType:
    """Gives the LanceDB module, importing it on the first call."""
    if "lancedb" not in sys.modules and _REMOTE not in sys.modules:
        finder = _Unused()
        sys.meta_path.insert(0, finder)
        try:
            import lancedb
        finally:
            sys.meta_path.remove(finder)
    import lancedb

    return lancedb
