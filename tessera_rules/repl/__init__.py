"""The REPL: a console that answers lines, a prompt on a terminal, completion and colours."""
