"""Runs: several files at once, and lines as they come."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from ...answers import Translation
from ...errors import PairwayError
from ...translate_call import DEFAULT_CONCURRENCY, TranslateOptions
from ..failures import UsageError
from ..output import print_json, print_line
from .inputs import Job, decoded_text, read_bytes
from .progress_file import ProgressFiles, digest_of
from .report import Report, lines_of, members_of
from .translator import Translator

# Lines of one request: few, so that an answer comes soon. 16 requests of these are as much as a replica of the demo model
# takes of bulk work at once; each more would be refused, and all behind it would wait with it for seconds.
LINES_AT_ONCE: Final = 3
Answers = asyncio.Task[list[list[Translation]]]
READ_BYTES: Final = 1 << 16
MAX_LINE_BYTES: Final = 2 << 20


@dataclass(slots=True)
class Run:
    """Parts that a run's translations share; ``options`` are by target."""

    translator: Translator
    options: Mapping[str, TranslateOptions]
    report: Report
    as_json: bool

    async def translated(self, texts: Sequence[str]) -> list[list[Translation]]:
        """Return the translations of each text, in the order of targets."""
        by_target = [await self.translator.translate(texts, to, options) for to, options in self.options.items()]
        return [list(each) for each in zip(*by_target, strict=True)]

    def show(self, place: str, translations: Sequence[Translation]) -> None:
        """Print a text's translations; one that failed leaves an empty line."""
        for each in translations:
            self.report.take(place, each)
            if self.as_json:
                print_json(members_of(each))
        if not self.as_json:
            for line in lines_of(translations):
                print_line(line.removesuffix("\n"))


async def translate_files(
    run: Run, jobs: Sequence[Job], progress: ProgressFiles, bar: AbstractContextManager[Callable[[], None]]
) -> None:
    """Translate files, some at once; what was done before is left alone."""
    with bar as advance:

        async def one(job: Job) -> None:
            await _translate_file(run, job, progress)
            advance()

        await together(one(job) for job in jobs)


async def _translate_file(run: Run, job: Job, progress: ProgressFiles) -> None:
    place = f"{job.source} ({job.target})"
    options: TranslateOptions = {**run.options[job.target], "format": job.format}
    try:
        content = await asyncio.to_thread(read_bytes, job.source)
        digest = digest_of(content, {"to": job.target, **options})
        if progress.is_done(job.output, digest):
            run.report.skipped += 1
            return
        (found,) = await run.translator.translate([decoded_text(content, job.source)], job.target, options)
        if found.text is not None:
            await asyncio.to_thread(progress.write, job.output, found.text.encode(), digest)
    except (OSError, UsageError) as error:
        found = Translation(None, None, job.target, error=PairwayError(str(error)))
    run.report.take(place, found)
    if run.as_json:
        print_json(members_of(found, input=str(job.source), output=str(job.output)))


async def together(work: Iterator[Awaitable[None]]) -> None:
    """Await these, 16 at once; the first error ends all."""

    async def worker() -> None:
        for each in work:
            await each

    workers = [asyncio.create_task(worker()) for _ in range(DEFAULT_CONCURRENCY)]
    try:
        await asyncio.gather(*workers)
    finally:
        for each in workers:
            each.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def translate_lines(run: Run, descriptor: int) -> None:
    """Translate each line of a pipe; print answers in order.

    Raises:
        PairwayError: the server refused or is away, or a line is no text.
    """
    asked = asyncio.Queue[tuple[int, Answers] | UsageError | None](maxsize=DEFAULT_CONCURRENCY)

    async def ask() -> None:
        number = 1
        try:
            async for batch in batches_of_lines(descriptor):
                await asked.put((number, asyncio.create_task(run.translated(batch))))
                number += len(batch)
            await asked.put(None)
        except UsageError as error:
            await asked.put(error)

    asking = asyncio.create_task(ask())
    try:
        while (each := await asked.get()) is not None:
            if isinstance(each, UsageError):
                raise each
            for place, translations in enumerate(await each[1], each[0]):
                run.show(f"line {place}", translations)
    finally:
        asking.cancel()
        rest = [each[1] for _ in range(asked.qsize()) if isinstance(each := asked.get_nowait(), tuple)]
        for task in rest:
            task.cancel()
        await asyncio.gather(asking, *rest, return_exceptions=True)


async def batches_of_lines(descriptor: int) -> AsyncIterator[list[str]]:
    """Yield the lines that are there, a few at once."""
    loop = asyncio.get_running_loop()
    queue = asyncio.Queue[list[str] | UsageError | None](maxsize=2)

    def read() -> None:
        # A thread that ends with the process: a pipe that says nothing holds it for ever.
        try:
            for batch in read_batches(descriptor):
                asyncio.run_coroutine_threadsafe(queue.put(batch), loop).result()
            end: UsageError | None = None
        except UsageError as error:
            end = error
        asyncio.run_coroutine_threadsafe(queue.put(end), loop).result()

    threading.Thread(target=read, name="pairway-lines", daemon=True).start()
    while (batch := await queue.get()) is not None:
        if isinstance(batch, UsageError):
            raise batch
        yield batch


def read_batches(descriptor: int) -> Iterator[list[str]]:
    """Yield lines as they are read; raise UsageError for non-text."""
    rest, number = b"", 0
    while block := os.read(descriptor, READ_BYTES):
        *lines, rest = (rest + block).split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise UsageError(f"line {number + len(lines) + 1} has more than {MAX_LINE_BYTES >> 20} MiB.")
        for begin in range(0, len(lines), LINES_AT_ONCE):
            batch = lines[begin : begin + LINES_AT_ONCE]
            yield [decoded_text(line, f"line {number + place}") for place, line in enumerate(batch, 1)]
            number += len(batch)
    if rest:
        yield [decoded_text(rest, f"line {number + 1}")]
