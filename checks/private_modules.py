"""An import contract: a module whose name begins with an underscore is imported only from its own package."""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output


class PrivateModules(Contract):
    """Broken by each import of `room._module` from outside `room`."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002 - the signature is import-linter's
        """Find the imports of private modules from outside their room."""
        violations = sorted(
            (importer, module)
            for module in graph.modules
            if (room := _room_of_private(module)) is not None
            for importer in graph.find_modules_that_directly_import(module)
            if not f"{importer}.".startswith(f"{room}.")
        )
        return ContractCheck(kept=not violations, metadata={"violations": violations})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print a line for each forbidden import."""
        for importer, module in check.metadata["violations"]:
            output.print_error(f"{importer} imports {module}, which is private to its room")


def _room_of_private(module: str) -> str | None:
    room, _, name = module.rpartition(".")
    return room if name.startswith("_") and not name.startswith("__") else None
