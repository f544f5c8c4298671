"""The terminal side of the REPL: history, completion, highlighting, input over several lines. Needs the extra [repl]."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TextIO

from tessera_rules.errors import MissingExtraError
from tessera_rules.repl.complete import completions
from tessera_rules.repl.console import Console, is_complete
from tessera_rules.repl.highlight import fragments

try:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.lexers import Lexer
    from prompt_toolkit.output.color_depth import ColorDepth
    from prompt_toolkit.patch_stdout import patch_stdout
    from prompt_toolkit.styles import Style
except ImportError as absent:  # the message names the extra
    raise MissingExtraError("repl", "the REPL on a terminal") from absent

STYLE = Style.from_dict({"keyword": "ansiblue bold", "string": "ansigreen", "number": "ansicyan", "comment": "ansibrightblack italic", "name": "ansimagenta"})


class RulesCompleter(Completer):
    """Completes verbs, ops, targets, candidates, dimensions, attributes and their values."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield what may follow."""
        for found in completions(self.console.arbiter.ruleset, document.text_before_cursor):
            yield Completion(found.text, start_position=-found.replaces, display_meta=found.about)


class RulesLexer(Lexer):
    """Colours a line."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def lex_document(self, document: Document) -> object:  # type: ignore[override]
        """Return a function from line numbers to coloured pieces."""
        lines = [fragments(line, self.console.arbiter.ruleset) for line in document.lines]

        def line(number: int) -> StyleAndTextTuples:
            return [(f"class:{kind}" if kind else "", text) for kind, text in lines[number]] if number < len(lines) else []

        return line


def session(console: Console, history: Path, *, colour: bool) -> PromptSession[str]:
    """Return a prompt over a console; Enter ends an input that is whole, and goes on with one that is not."""
    keys = KeyBindings()

    @keys.add("enter", filter=Condition(lambda: True))
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None
        elif is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return PromptSession(
        message="tsr> ",
        history=FileHistory(str(history)),
        completer=RulesCompleter(console),
        complete_while_typing=False,
        auto_suggest=AutoSuggestFromHistory(),
        lexer=RulesLexer(console),
        multiline=True,
        prompt_continuation=lambda width, number, wrap: "... ".rjust(width),
        key_bindings=keys,
        style=STYLE,
        color_depth=None if colour else ColorDepth.DEPTH_1_BIT,
    )


def interact(
    console: Console, history: Path, stdout: TextIO, *, colour: bool, progress: Callable[[], AbstractContextManager[Any]] = contextlib.nullcontext
) -> int:
    """Read and answer until the end of input; Ctrl-C drops a line. ``progress`` is around each answer. Returns 0."""
    prompt = session(console, history, colour=colour)
    while True:
        try:
            with patch_stdout():
                text = prompt.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return 0
        with progress():
            reply = console.execute(text)
        if reply.done:
            return 0
        if reply.text:
            stdout.write(reply.text + "\n")
            stdout.flush()
