"""Values shown: findings, decisions and loads as text, JSON and pages. It takes values and returns text; `cli` writes it."""
