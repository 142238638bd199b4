"""Passes TCP connections on, and does to them what a network can do: nothing comes through, late,
cut off, or in one direction only. One thread for all of them."""

import asyncio
import dataclasses
import math
import threading
from typing import Any

from tests.faults.processes import PATIENCE

CHUNK = 1 << 16


class Way:
    """One direction between two ends, on all their connections. Only the relay's thread touches
    it."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.struck = 0  # So many connections were cut off or half-closed.
        self.heal()

    def heal(self) -> None:
        self.open.set()
        self.delay = 0.0  # Seconds, for whatever is sent; what comes meanwhile waits up to twice.
        self.cut_after: Any = math.inf  # Bytes, at which the connection ends.
        self.left: Any = math.inf
        self.half_closed = False  # Instead of anything more the receiver gets the end.

    def block(self) -> None:
        self.open.clear()

    async def wait_open(self) -> None:
        while not self.open.is_set():
            await self.open.wait()


@dataclasses.dataclass
class Link:
    """Where connections are taken, whose they are, where they are for, and the two ways."""
    near: tuple
    source: str
    far: tuple
    there: Way
    back: Way


class CutOff(OSError):
    """This connection has had all the bytes that it was to have."""


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Way) -> None:
    """Until the end, which is passed on as well."""
    while data := await reader.read(CHUNK):
        await asyncio.sleep(way.delay)
        await way.wait_open()
        if way.half_closed:
            return await half_close(reader, writer, way)
        writer.write(data[:min(len(data), way.left)])
        way.left -= len(data)
        if way.left <= 0:
            way.left = way.cut_after
            way.struck += 1
            raise CutOff
        await writer.drain()
    await way.wait_open()
    writer.write_eof()


async def half_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Way) -> None:
    """The other direction goes on, until its sender has heard the end of this one."""
    way.struck += 1
    writer.write_eof()
    while await reader.read(CHUNK):
        pass


class Relay:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.listeners = []
        self.connections = set()  # Without, what only waits would be nobody's, and collected.
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def do(self, work: Any, *arguments: Any) -> Any:
        """In the relay's thread; has happened when this returns."""
        async def done() -> None:
            return work(*arguments)
        return self._run(done())

    def _run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENCE)

    def listen(self, link: Any) -> None:
        def serve(reader: Any, writer: Any) -> None:
            task = self.loop.create_task(self._carry(link, reader, writer))
            self.connections.add(task)
            task.add_done_callback(self.connections.discard)
        self.listeners.append(self._run(asyncio.start_server(serve, *link.near)))

    async def _carry(self, link: Link, reader: asyncio.StreamReader,
                     writer: asyncio.StreamWriter) -> None:
        """One connection. As with dropped packets none begins unless both ways are open; and what
        was sent before one of them closed arrives when it opens."""
        ends = [writer]
        try:
            await link.there.wait_open()
            await link.back.wait_open()
            answers, far = await asyncio.open_connection(*link.far, local_addr=(link.source, 0))
            ends.append(far)
            async with asyncio.TaskGroup() as both:
                both.create_task(pass_on(reader, far, link.there))
                both.create_task(pass_on(answers, writer, link.back))
        except* OSError:
            pass  # The end of one side is that of the other.
        finally:
            for end in ends:
                end.close()

    async def _end(self) -> None:
        for listener in self.listeners:
            listener.close()
        left = list(self.connections)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def close(self) -> None:
        self._run(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
