"""Is a result right? Error bounds, judgement element by element, and the operands to judge on."""
