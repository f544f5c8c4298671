"""Text to nodes with places, and back to text. The only room that imports Lark, and only to compute tables.

`read_source` takes bytes, `parse` and `parse_items` take a source; both give nodes and findings and never raise on bad text.
"""

from __future__ import annotations

from tessera_rules.syntax.parse import comments_of, parse, parse_expression, parse_items
from tessera_rules.syntax.read import read_source

__all__ = ["comments_of", "parse", "parse_expression", "parse_items", "read_source"]
