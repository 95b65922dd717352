"""Lambda's execution environments on this machine: processes that load a handler and handle one event at a time."""

from __future__ import annotations

import asyncio
import multiprocessing
import select
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool

from gleaner.runtime.response_stream import ResponseStream, is_streamed
from gleaner_local.aws import _function_process
from gleaner_local.aws._function_process import CHUNK, FAILED
from gleaner_local.aws._idle_slots import IdleSlots

Deliver = Callable[[bytes], Awaitable[bool]]  # takes a piece of a streamed response; False if nobody reads it

START_SECONDS = 60.0
_FUNCTION_ARN = "arn:aws:lambda:us-east-1:000000000000:function:{name}"


class HandlerFailed(Exception):
    """The handler raised an error, or its process ended."""


class HandlerTooSlow(HandlerFailed):
    """The handler timed out, and its process was ended."""


class NoEnvironment(HandlerFailed):
    """The event was not handled, as no process could be started or the service stops. The message says which."""


class _ProcessGone(HandlerFailed):
    """The process had ended before it got the event."""


@dataclass(slots=True)
class LocalContext:
    """The context of an invocation, as a handler gets it."""

    function_name: str
    aws_request_id: str
    ends_at: float  # monotonic time
    memory_limit_in_mb: int = 1024
    function_version: str = "$LATEST"
    response_stream: ResponseStream | None = None

    @property
    def invoked_function_arn(self) -> str:
        """The ARN of the function."""
        return _FUNCTION_ARN.format(name=self.function_name)

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the invocation times out."""
        return max(0, int((self.ends_at - time.monotonic()) * 1000))


class ExecutionEnvironments:
    """Environments of one function: at most `concurrency`, started on demand; further calls wait for a free one."""

    def __init__(
        self,
        handler: str,
        env: Mapping[str, str],
        *,
        log_path: Path,
        timeout_seconds: float,
        concurrency: int,
        streamed_timeout_seconds: float | None = None,
    ) -> None:
        """`streamed_timeout_seconds`: of invocations whose responses are streamed, if it differs."""
        self._streamed_timeout_seconds = streamed_timeout_seconds or timeout_seconds
        self._handler = handler
        self._env = dict(env)
        self._log_path = log_path
        self._timeout_seconds = timeout_seconds
        self._idle = IdleSlots[_Environment](concurrency)
        self._busy: set[_Environment] = set()
        self._is_stopping = False
        self._is_cut_off = False

    def warm_up(self) -> None:
        """Start one environment. Raises HandlerFailed with the reason if its handler cannot be loaded."""
        environment = self._idle.take()
        try:
            environment = self._revive(environment)
        finally:
            self._idle.put(environment)

    def invoke(self, event: dict[str, Any], request_id: str) -> dict[str, Any]:
        """Return the handler's result for `event`, whose response is not streamed. Raises HandlerFailed."""
        if is_streamed(event):
            raise ValueError("The response to this event is streamed.")
        environment, ends_at = self._begin(event, request_id, self._timeout_seconds)
        try:
            return environment.result(ends_at)
        finally:
            self._put_back(environment)

    async def invoke_streamed(self, event: dict[str, Any], request_id: str, deliver: Deliver) -> None:
        """Handle `event` to its end, and deliver its response in pieces, as API Gateway gets them.

        The handler waits for `deliver`. When that returns False, the handler is told, and nothing more is delivered.
        Raises HandlerFailed, perhaps after some pieces.
        """
        # Only this may take long. A thread that took the pieces as well would wake up for each, and the loop after it.
        environment, ends_at = await run_in_threadpool(self._begin, event, request_id, self._streamed_timeout_seconds)
        try:
            await environment.stream(ends_at, deliver)
        finally:
            self._put_back(environment)

    def _begin(self, event: dict[str, Any], request_id: str, timeout: float) -> tuple[_Environment, float]:
        """An environment that has got the event, and when the invocation times out."""
        environment = self._idle.take()
        try:
            environment = self._revive(environment)
            try:
                ends_at = environment.begin(event, request_id, timeout)
            except _ProcessGone:  # it ended while it was idle, so the event can go to another one
                environment = self._start()
                ends_at = environment.begin(event, request_id, timeout)
        except BaseException:
            self._put_back(environment)
            raise
        self._busy.add(environment)
        if self._is_cut_off:  # it was starting, so cut_off() did not see it
            environment.kill()
        return environment, ends_at

    def _put_back(self, environment: _Environment | None) -> None:
        self._busy.discard(environment)
        self._idle.put(environment if environment is not None and environment.is_alive() else None)

    def refuse_waiting(self) -> None:
        """From now on, handle no more events: those that wait for an environment get NoEnvironment."""
        self._is_stopping = True

    def cut_off(self) -> None:
        """From now on, handle no more events; those that are being handled end with HandlerFailed."""
        self.refuse_waiting()
        self._is_cut_off = True
        for environment in list(self._busy):
            environment.kill()

    def stop_idle(self) -> None:
        """End the idle environments. The next event starts another one."""
        for environment in self._idle.take_all():
            environment.stop()
            self._idle.put(None)

    def stop(self) -> None:
        """End the idle environments; call it when no more events come."""
        for environment in self._idle.take_all():
            environment.stop()

    def _revive(self, environment: _Environment | None) -> _Environment:
        """The environment, or a new one if there is none or its process has ended."""
        if self._is_stopping:
            raise NoEnvironment("The service stops.")
        if environment is not None and environment.is_alive():
            return environment
        if environment is not None:
            environment.stop()
        return self._start()

    def _start(self) -> _Environment:
        try:
            return _Environment(self._handler, self._env, self._log_path)
        except OSError as error:  # too many open files or processes, or no memory
            raise NoEnvironment(f"No process can be started: {error.strerror}.") from error


class _Environment:
    def __init__(self, handler: str, env: dict[str, str], log_path: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, child_pipe = context.Pipe()
        try:
            self._process = context.Process(
                target=_function_process.run, args=(child_pipe, handler, env, str(log_path)), daemon=True
            )
            self._process.start()
        except OSError:
            self._pipe.close()
            raise
        finally:
            child_pipe.close()
        self._name = handler
        self._poll = select.poll()  # one for all waits: Connection.poll makes another each time
        self._poll.register(self._pipe, select.POLLIN)
        self._receive(time.monotonic() + START_SECONDS)

    def begin(self, event: dict[str, Any], request_id: str, timeout: float) -> float:
        """Send an event; returns the monotonic time at which its invocation times out."""
        context = LocalContext(self._name, request_id, time.monotonic() + timeout)
        try:
            self._pipe.send((event, context))
        except OSError:
            raise _ProcessGone("The function's process had ended.") from None
        return context.ends_at

    def result(self, ends_at: float) -> dict[str, Any]:
        """Wait for what the handler returns."""
        result: dict[str, Any] = self._receive(ends_at)[1]
        return result

    async def stream(self, ends_at: float, deliver: Deliver) -> None:
        """Deliver what the handler writes until it has ended."""
        try:
            while (message := await self._receive_in_loop(ends_at))[0] == CHUNK:
                is_read = await deliver(message[1])
                with suppress(OSError):  # the process has ended, which the next receive reports
                    self._pipe.send(is_read)
        except HandlerFailed:
            raise
        except BaseException:
            self.stop()  # its handler would wait for the reply
            raise

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def kill(self) -> None:
        """End the process; whoever waits for its handler gets HandlerFailed."""
        self._process.terminate()

    def stop(self) -> None:
        self._process.terminate()
        self._process.join()
        self._pipe.close()

    def _receive(self, ends_at: float) -> tuple[str, Any]:
        """The next message of the process: its kind and its value."""
        if not self._poll.poll(max(0.0, ends_at - time.monotonic()) * 1000):
            raise self._too_slow()
        return self._read()

    async def _receive_in_loop(self, ends_at: float) -> tuple[str, Any]:
        """The next message of the process, without a thread that waits for it."""
        try:
            async with asyncio.timeout_at(ends_at):  # the loop's clock is the monotonic one
                await self._wait_in_loop()
        except TimeoutError:
            raise self._too_slow() from None
        return self._read()

    async def _wait_in_loop(self) -> None:
        loop = asyncio.get_running_loop()
        is_there = asyncio.Event()
        loop.add_reader(self._pipe, is_there.set)
        try:
            await is_there.wait()
        finally:
            loop.remove_reader(self._pipe)

    def _too_slow(self) -> HandlerTooSlow:
        self.stop()
        return HandlerTooSlow("The function did not answer in time.")

    def _read(self) -> tuple[str, Any]:
        try:
            kind, value = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            raise HandlerFailed("The function's process ended.") from None
        if kind == FAILED:
            raise HandlerFailed(value)
        return kind, value
