"""One training run: steps, reports, checkpoints."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

import torch

from models.llama import save_folder
from models.tokenizer import END, ENGLISH, PART, SEPARATOR
from models.training.batches import Batch
from models.training.checkpoint import Checkpoint, write_checkpoint
from models.training.initial import Start
from models.training.objective import Mean, Objective
from models.training.optimisers import Optimisers, Rates

SMOOTHING = 0.1
REPORT_STEPS, VALIDATE_STEPS = 100, 500
CHECKPOINT_SECONDS = 120.0
LONGEST_SAMPLE = 60
SAMPLES = (
    "My name is Anna and I live in Rotterdam.",
    "I bought 3 apples for 5 euros at 8:05.",
    "Click <g1>here</g1> to open <n1/>, and wait <q1/> minutes.",
)
# The beginning of a sentence, for which the answer is a beginning too.
PREFIX_SAMPLE = "I think that the old man"


class StopSignal:
    """Whether SIGTERM or SIGINT asked the run to stop."""

    def __init__(self) -> None:
        self.is_set = False

    def listen(self) -> None:
        """Take both signals of this process."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.receive)

    def receive(self, _number: int, _frame: FrameType | None) -> None:
        """Stop at the next step."""
        self.is_set = True


@dataclass(frozen=True)
class Run:
    """One training run, and where its result goes: a folder, and a checkpoint beside it."""

    start: Start
    optimisers: Optimisers
    objective: Objective
    rates: Rates
    out: Path
    valid: Mapping[str, Sequence[Batch]]
    clock: Callable[[], float] = time.process_time

    def train(self, batches: Iterator[Batch], stop: StopSignal, last_step: int | None) -> None:
        """Train until the decay is done, a step, or a signal; save regularly and at the end."""
        model, progress, mean = self.start.model, self.start.progress, Mean()
        began, spent, done = self.clock(), progress.seconds, progress.tokens
        saved = began
        while not (stop.is_set or self.rates.is_over(progress.step) or progress.step == last_step):
            batch = next(batches)
            loss, count = self.objective.loss(model, batch, SMOOTHING)
            loss.backward()  # pyright: ignore[reportUnknownMemberType] - torch's
            self.optimisers.step(progress.step)
            mean.add(loss, count)
            progress.step += 1
            progress.tokens += batch.length * len(batch.examples)
            progress.seconds = spent + self.clock() - began
            self.start.averaged.update(model, progress.step)
            if progress.step % REPORT_STEPS == 0:
                speed = (progress.tokens - done) / (self.clock() - began)
                self._print(f"{speed:.0f} tokens/s, loss {mean.take():.3f}")
            if progress.step % VALIDATE_STEPS == 0:
                self.report()
            if self.clock() - saved > CHECKPOINT_SECONDS:
                self.save()
                saved = self.clock()
        self.save()
        self.report()

    def save(self) -> None:
        """Write the checkpoint, and the averaged weights as a folder."""
        start = self.start
        state = Checkpoint(
            asdict(start.model.shape),
            start.tokenizer.bpe.to_str(),
            start.model.state_dict(),
            start.averaged.model.state_dict(),
            self.optimisers.state(),
            **asdict(start.progress),
        )
        write_checkpoint(self.out.with_name(f"{self.out.name}.checkpoint"), state)
        save_folder(self.out, start.averaged.model, start.tokenizer)

    def report(self) -> None:
        """Print the averaged weights' validation losses and translations of the samples."""
        losses = (
            f"{name} {self.objective.validate(self.start.averaged.model, batches):.3f}"
            for name, batches in self.valid.items()
        )
        self._print(f"validation loss: {', '.join(losses)}")
        for language in self.start.tokenizer.languages:
            for text, end in (*((text, SEPARATOR) for text in SAMPLES), (PREFIX_SAMPLE, PART)):
                print(f"  {text} → {self.translate(text, language, end)}", flush=True)

    @torch.no_grad()
    def translate(self, text: str, language: str, end: str) -> str:
        """Return the greedy translation of an English text; slow, for samples only."""
        tokenizer, model = self.start.tokenizer, self.start.averaged.model
        prompt = tokenizer.prompt(tokenizer.encode([text])[0], ENGLISH, language, end)
        answer: list[int] = []
        while len(answer) < LONGEST_SAMPLE:
            ids = torch.tensor([prompt + answer], device=self.objective.device)
            with torch.autocast(self.objective.device.type, torch.bfloat16):
                token = int(model.scores(model(ids)[:, -1]).argmax())
            if token == tokenizer.id(END):
                break
            answer.append(token)
        return tokenizer.decode(answer)

    def _print(self, message: str) -> None:
        """Print one line of progress, unbuffered."""
        print(f"step {self.start.progress.step}, {self.start.progress.seconds / 60:.1f} min: {message}", flush=True)
