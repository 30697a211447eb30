"""Runs: files one beside the other, and lines of a pipe as they come."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from ..answers import Translation
from ..errors import PairwayError
from ..translate_call import DEFAULT_CONCURRENCY, TranslateOptions
from .failures import UsageError
from .inputs import Job, decoded_text, read_bytes
from .output import print_json, print_line
from .progress_file import ProgressFiles, digest_of
from .report import Report, lines_of, members_of
from .translator import Translator

# Lines of one request: few, so that an answer comes soon.
LINES_AT_ONCE: Final = 32
READ_BYTES: Final = 1 << 16
MAX_LINE_BYTES: Final = 2 << 20


@dataclass(slots=True)
class Run:
    """What all parts of a run share; ``options`` are those of each target."""

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
    """Translate each line of a pipe, and print each answer in order once it is there."""
    waiting = deque[tuple[int, asyncio.Task[list[list[Translation]]]]]()
    number = 1

    async def show_first() -> None:
        first, task = waiting.popleft()
        for place, translations in enumerate(await task, first):
            run.show(f"line {place}", translations)

    lines = batches_of_lines(descriptor)
    following = asyncio.ensure_future(anext(lines, None))
    try:
        while following is not None or waiting:
            room = following is not None and len(waiting) < DEFAULT_CONCURRENCY
            await asyncio.wait(
                [*([following] if room and following else []), *([waiting[0][1]] if waiting else [])],
                return_when=asyncio.FIRST_COMPLETED,
            )
            if room and following is not None and following.done():
                batch = following.result()
                following = None
                if batch is not None:
                    waiting.append((number, asyncio.create_task(run.translated(batch))))
                    number += len(batch)
                    following = asyncio.ensure_future(anext(lines, None))
            if waiting and waiting[0][1].done():
                await show_first()
    finally:
        for task in [*([following] if following else []), *(task for _, task in waiting)]:
            task.cancel()


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

    threading.Thread(target=read, name="pairway lines", daemon=True).start()
    while (batch := await queue.get()) is not None:
        if isinstance(batch, UsageError):
            raise batch
        yield batch


def read_batches(descriptor: int) -> Iterator[list[str]]:
    """Yield whole lines as they are read; raise UsageError if one is no text."""
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
