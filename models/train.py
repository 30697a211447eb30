"""Train a demo translator for English and one other language.

    python -m models.train --train en-de.train.tsv --valid en-de.valid.tsv --language de --out en-de

The loss is that of the translation's tokens, with label smoothing. Muon trains the layers' matrices, AdamW the
embedding and the norms. The result is a Hugging Face folder in bfloat16 for vLLM.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from models.batches import IGNORED, Batch, Example, both_directions, in_order, shuffled
from models.corpus import Pair, Swapper, read_pairs
from models.llama import HEAD_SIZE, Llama, Shape, load_weights, save_folder
from models.tokenizer import END, ENGLISH, PairTokenizer

SMOOTHING = 0.1
# The output layer computes only the answers' positions, rounded up to this, for a few shapes only.
PLACES_STEP = 512
# 91 % of the Tatoeba en-de and en-fr examples have these lengths; each is compiled separately.
COMPILED_LENGTHS = (16, 24, 32)
WARM_UP_STEPS = 200
FULL_RATE_SHARE = 0.4
LOWEST_RATE = 0.02
REPORT_STEPS, VALIDATE_STEPS, SAVE_STEPS = 200, 1000, 2000
VALIDATION_PAIRS = 600
LONGEST_SAMPLE = 60
SAMPLES = ("Hello, how are you?", "I don't know where he is.", "Can you help me find the train station?")


class Objective:
    """The loss of a batch, in mixed precision."""

    def __init__(self, model: Llama, device: torch.device, *, compiled: bool) -> None:
        self.model, self.device = model, device
        self._fast: Callable[[Tensor], Tensor] = model
        if compiled:
            self._fast = torch.compile(model, dynamic=False)  # pyright: ignore[reportUnknownMemberType] - torch's

    def loss(self, batch: Batch, smoothing: float) -> tuple[Tensor, int]:
        """Return the mean loss of the answers' tokens, and their number."""
        ids, labels = batch.tensors(self.device)
        targets = labels.view(-1)
        places = (targets != IGNORED).nonzero().squeeze(1)
        count = places.numel()
        padding = -count % PLACES_STEP
        padded_targets = functional.pad(targets[places], (0, padding), value=IGNORED)
        forward = self._fast if self.model.training and batch.length in COMPILED_LENGTHS else self.model
        with torch.autocast(self.device.type, torch.bfloat16):
            hidden = forward(ids).reshape(-1, self.model.shape.width)
            scores = self.model.scores(hidden[functional.pad(places, (0, padding))])
        return functional.cross_entropy(scores.float(), padded_targets, label_smoothing=smoothing), count

    @torch.no_grad()
    def validate(self, batches: Sequence[Batch]) -> float:
        """Return the mean loss per token, without smoothing."""
        self.model.eval()
        mean = Mean()
        for batch in batches:
            mean.add(*self.loss(batch, smoothing=0.0))
        self.model.train()
        return mean.take()


@dataclass
class Mean:
    """A running mean, weighted by tokens."""

    total: float = 0.0
    tokens: int = 0

    def add(self, value: Tensor, tokens: int) -> None:
        """Add the mean of a number of tokens."""
        self.total += float(value.detach()) * tokens
        self.tokens += tokens

    def take(self) -> float:
        """Return the mean and reset it."""
        mean = self.total / max(1, self.tokens)
        self.total, self.tokens = 0.0, 0
        return mean


class Optimisers:
    """Muon for the layers' matrices, AdamW for the rest, on one schedule."""

    def __init__(self, model: Llama, muon_rate: float, adam_rate: float) -> None:
        matrices = [weight for _, weight in model.matrices()]
        chosen = {id(weight) for weight in matrices}
        self._rest = [weight for weight in model.parameters() if id(weight) not in chosen]
        muon = torch.optim.Muon(matrices, lr=muon_rate, momentum=0.95, weight_decay=0.05)
        adam = torch.optim.AdamW(self._rest, lr=adam_rate, betas=(0.9, 0.98), weight_decay=0.0)
        self._rated = ((muon, muon_rate), (adam, adam_rate))

    def step(self, scale: float) -> None:
        """Update weights at that share of the rates; clear gradients."""
        # Only AdamW needs clipping, because Muon's steps have a fixed size.
        torch.nn.utils.clip_grad_norm_(self._rest, 1.0)
        for optimiser, rate in self._rated:
            for group in optimiser.param_groups:
                group["lr"] = rate * scale
            optimiser.step()  # pyright: ignore[reportUnknownMemberType] - torch's
            optimiser.zero_grad(set_to_none=True)


@dataclass(frozen=True)
class Budget:
    """Limits of a run, in seconds and steps."""

    seconds: float
    steps: float
    started: float = field(default_factory=time.monotonic)

    def spent(self, step: int) -> float:
        """Return the spent share; the run ends at 1."""
        return max(self.elapsed() / self.seconds, step / self.steps)

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self.started


def rate_at(step: int, spent: float) -> float:
    """Return the learning rate's share: warm-up, full, linear to LOWEST_RATE."""
    warm_up = min(1.0, (step + 1) / WARM_UP_STEPS)
    if spent < FULL_RATE_SHARE:
        return warm_up
    return warm_up * max(LOWEST_RATE, (1 - spent) / (1 - FULL_RATE_SHARE))


def epochs(examples: Sequence[Example], tokens: int, rng: random.Random) -> Iterator[Batch]:
    """Yield shuffled batches, epoch after epoch, without end."""
    while True:
        yield from shuffled(examples, tokens, rng)


@dataclass(frozen=True)
class Run:
    """One training run, and the folder of its result."""

    objective: Objective
    optimisers: Optimisers
    tokenizer: PairTokenizer
    out: Path

    def train(self, batches: Iterator[Batch], valid: Sequence[Batch], budget: Budget) -> None:
        """Train until the budget is spent; save regularly and at the end."""
        mean, tokens, step = Mean(), 0, 0
        while (spent := budget.spent(step)) < 1:
            batch = next(batches)
            loss, count = self.objective.loss(batch, SMOOTHING)
            loss.backward()  # pyright: ignore[reportUnknownMemberType] - torch's
            self.optimisers.step(rate_at(step, spent))
            mean.add(loss, count)
            tokens, step = tokens + batch.length * len(batch.examples), step + 1
            if step % REPORT_STEPS == 0:
                speed = tokens / budget.elapsed()
                print_progress(step, budget, f"{speed:.0f} tokens/s, loss {mean.take():.3f}")
            if step % VALIDATE_STEPS == 0:
                print_progress(step, budget, f"validation loss {self.objective.validate(valid):.3f}")
            if step % SAVE_STEPS == 0:
                self.save()
        self.save()
        print_progress(step, budget, f"validation loss {self.objective.validate(valid):.3f}")

    def save(self) -> None:
        """Write the folder; print translations of the samples."""
        save_folder(self.out, self.objective.model, self.tokenizer)
        for text in SAMPLES:
            print(f"  {text} → {self.translate(text)}", flush=True)

    @torch.no_grad()
    def translate(self, text: str) -> str:
        """Return the greedy translation of an English text; slow, for samples only."""
        model, tokenizer, device = self.objective.model, self.tokenizer, self.objective.device
        prompt = tokenizer.prompt(tokenizer.encode([text])[0], ENGLISH, tokenizer.language)
        end = tokenizer.id(END)
        answer: list[int] = []
        model.eval()
        while len(answer) < LONGEST_SAMPLE:
            ids = torch.tensor([prompt + answer], device=device)
            with torch.autocast(device.type, torch.bfloat16):
                token = int(model.scores(model(ids)[:, -1]).argmax())
            if token == end:
                break
            answer.append(token)
        model.train()
        return tokenizer.decode(answer)


def print_progress(step: int, budget: Budget, message: str) -> None:
    """Print one line of progress, unbuffered."""
    print(f"step {step}, {budget.elapsed() / 60:.1f} min: {message}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train a model with the command line's options."""
    options = parse(arguments)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)  # pyright: ignore[reportUnknownMemberType] - torch's
    rng = random.Random(options.seed)  # noqa: S311 - a reproducible shuffle, no secret
    pairs, valid = read_pairs(options.train), read_pairs(options.valid)[:VALIDATION_PAIRS]
    tokenizer, model = begin(options, pairs)
    if options.augment > 0:
        swapper = Swapper.over(pairs, rng)
        pairs = [swapper.swap(pair, options.augment) for pair in pairs]
    examples = both_directions(pairs, tokenizer, options.longest)
    steps_an_epoch = len(shuffled(examples, options.tokens, rng))
    if steps_an_epoch == 0:
        message = f"{options.train} is too small for one batch: give more pairs or fewer --tokens"
        raise SystemExit(message)
    parameters = sum(weight.numel() for weight in model.parameters())
    print(f"{parameters:,} parameters, {len(examples):,} examples, {steps_an_epoch:,} steps an epoch")
    run = Run(
        Objective(model, torch.device(options.device), compiled=options.compile),
        Optimisers(model, options.muon_rate, options.adam_rate),
        tokenizer,
        options.out,
    )
    run.train(
        epochs(examples, options.tokens, rng),
        in_order(both_directions(valid, tokenizer, options.longest), options.tokens),
        Budget(options.minutes * 60, steps_an_epoch * options.epochs),
    )


def begin(options: argparse.Namespace, pairs: Sequence[Pair]) -> tuple[PairTokenizer, Llama]:
    """Return the initial tokenizer and network, on the chosen device."""
    if options.init is not None:
        model = load_weights(options.init, options.dropout)
        return PairTokenizer.load(options.init), model.to(options.device)
    texts = (text for pair in pairs for text in pair)
    tokenizer = PairTokenizer.train(texts, options.language, options.vocabulary)
    shape = Shape(tokenizer.bpe.get_vocab_size(), options.width, options.layers, options.inner)
    return tokenizer, Llama(shape, options.dropout).to(options.device)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(
        prog="python -m models.train",
        description="Train a demo translator for English and one other language, both directions.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--train", type=Path, required=True, help="file of english<TAB>other lines, in any order")
    add("--valid", type=Path, required=True, help="held-out file of the same format")
    add("--out", type=Path, required=True, help="folder to write")
    start = parser.add_mutually_exclusive_group(required=True)
    start.add_argument("--language", help="start from scratch for English and this language, such as de")
    start.add_argument("--init", type=Path, help="continue from this model folder, with its tokenizer and sizes")
    add("--minutes", type=float, default=60.0, help="time limit in minutes, without start-up")
    add("--epochs", type=float, default=50.0, help="limit of passes over the data")
    add("--augment", type=float, default=0.0, help="share of pairs that get other names and numbers, 0 to 1")
    add("--vocabulary", type=int, default=8000, help="size of a new tokenizer in tokens")
    add("--width", type=int, default=256, help=f"hidden size, a multiple of {HEAD_SIZE}")
    add("--layers", type=int, default=6, help="number of layers")
    add("--inner", type=int, default=704, help="size of the inner layers")
    add("--longest", type=int, default=48, help="most tokens on either side of a pair; longer pairs are dropped")
    add("--tokens", type=int, default=4096, help="tokens in a batch, both sides and padding included")
    add("--muon-rate", type=float, default=0.02, help="Muon's learning rate")
    add("--adam-rate", type=float, default=2e-3, help="AdamW's learning rate")
    add("--dropout", type=float, default=0.0, help="dropout, 0 to 1")
    add("--device", default="cpu", help="torch device, such as cuda")
    add("--threads", type=int, default=2, help="CPU threads")
    add("--seed", type=int, default=0, help="seed of weights and shuffles")
    add("--compile", action="store_true", help="compile the network for the most common lengths")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
