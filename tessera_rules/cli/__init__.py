"""The command ``tsr``: one module per verb, found by its name."""

from tessera_rules.cli.main import main

__all__ = ["main"]
