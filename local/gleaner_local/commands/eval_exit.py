"""The exit codes of `gleaner eval`: a figure that fell is told apart from everything that kept it from being known."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import typer

from gleaner.errors import ConfigurationError, GleanerError, InvalidInput
from gleaner_local.clients.http_api import CallFailed
from gleaner_local.commands import terminal
from gleaner_local.errors import CannotStart
from gleaner_local.service.running import NotReady

FELL, UNUSABLE, NOT_EVALUATED = 1, 2, 3
_BY_SIGNAL = 128  # and its number, as shells count
_REPEAT_SECONDS = 0.05
_OF_COMMAND_LINE = (typer.Exit, typer.Abort, typer.BadParameter)


class Interruption:
    """Ends the command by SIGTERM as by Ctrl-C, so that it writes what it knows and leaves no files behind."""

    def __init__(self) -> None:
        self._signal = signal.SIGINT

    @property
    def exit_code(self) -> int:
        """That of a command which the signal ended."""
        return _BY_SIGNAL + self._signal

    @contextmanager
    def listen(self) -> Iterator[None]:
        """SIGTERM raises KeyboardInterrupt once, until the end of the block."""
        before, hook = signal.signal(signal.SIGTERM, self._interrupt), sys.unraisablehook
        sys.unraisablehook = self._repeat_if_lost
        try:
            yield
        finally:
            sys.unraisablehook = hook
            signal.signal(signal.SIGTERM, before)

    def _interrupt(self, signum: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # whoever terminates twice must not interrupt the end
        self._signal = signal.Signals(signum)
        raise KeyboardInterrupt

    def _repeat_if_lost(self, lost: sys.UnraisableHookArgs) -> None:
        """A finalizer or a callback of a weak reference that was running swallowed the exception: send it once more."""
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(lost)
            return
        if self._signal == signal.SIGTERM:
            signal.signal(signal.SIGTERM, self._interrupt)
        threading.Timer(_REPEAT_SECONDS, os.kill, (os.getpid(), self._signal)).start()  # when it has returned


@contextmanager
def exit_codes() -> Iterator[Interruption]:
    """Whatever ends the block becomes an error in words and a code that is not FELL. Raises typer.Exit."""
    from gleaner_local.evaluation.cases import InvalidCases  # only this command needs the models of the API

    interruption = Interruption()
    try:
        with interruption.listen():
            yield interruption
            sys.stdout.flush()
    except _OF_COMMAND_LINE:
        raise
    except (InvalidCases, InvalidInput, ConfigurationError) as error:
        raise _failed(str(error), UNUSABLE) from error
    except (CannotStart, NotReady, CallFailed, GleanerError) as error:
        raise _failed(str(error), NOT_EVALUATED) from error
    except KeyboardInterrupt as error:
        raise typer.Exit(interruption.exit_code) from error
    except OSError as error:
        if not terminal.give_up_output(error):
            traceback.print_exc()
            raise typer.Exit(NOT_EVALUATED) from error
        raise typer.Exit(UNUSABLE) from error
    except Exception as error:  # a defect must not look like answers that became worse
        traceback.print_exc()
        raise typer.Exit(NOT_EVALUATED) from error


def _failed(message: str, code: int) -> typer.Exit:
    """What is wrong with a file is told line by line."""
    typer.echo(terminal.show_block(message), err=True)
    return typer.Exit(code)
