"""An engine that answers at once with the text it was given, or without its placeholders, for every prompt family."""

from __future__ import annotations

import array
import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry

from apiserver.catalog.model_entry import CANARIES, ModelEntry
from apiserver.engine.interface import GenerationRequest, GenerationResult
from apiserver.prompts.pair_prompt import ControlToken
from shared.protocol.report import ModelReport

# A token is two code points in one number, so that both directions are a copy in C: the engine's own cost must not show.
_CHARS: Final = 4
_PAD: Final = 0x7FFF_FFFE
_PADDING: Final = _PAD.to_bytes(4, "little")
_FIRST_CONTROL: Final = 0x7FFF_FFFF << 32
# What the families and the chat template below need, besides the languages of the demo's.
CONTROLS: Final = (
    *("<s>", "</s>", "<sep>", "<turn>", "<end>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"),
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eos|>", "<en>", "<de>", "<fr>", "<es>"),
)
_MARK: Final = "\ue0ff"
_TAG: Final = re.compile(r"<[^<>]{1,8}>")
# A model name that ends so loses all placeholders, and each segment is tried again.
LOSSY: Final = "lossy"


def encode(text: str) -> list[int]:
    """Return a text's tokens."""
    units = text.encode("utf-32-le", "surrogatepass")
    if len(units) % (2 * _CHARS):
        units += _PADDING
    return array.array("Q", units).tolist()


def decode(tokens: Sequence[int]) -> str:
    """Return the text of tokens, without control tokens."""
    units = array.array("Q", [token for token in tokens if token < _FIRST_CONTROL]).tobytes()
    return units.replace(_PADDING, b"").decode("utf-32-le", "surrogatepass")


@dataclass(frozen=True)
class Frame:
    """What stands around a text in a prompt."""

    before: str
    after: str


class EchoEngine:
    """Implements ``engine.interface.Engine``."""

    def __init__(self, entry: ModelEntry) -> None:
        self.alive = True
        self.begin: Sequence[int] = ()
        self.controls = {spelling: _FIRST_CONTROL + number for number, spelling in enumerate(CONTROLS)}
        self.max_model_len = int(entry.engine["max_model_len"])
        self.max_num_seqs = int(entry.engine["max_num_seqs"])
        self.metrics = CollectorRegistry()
        self._loses = entry.name.endswith(LOSSY)
        self._steps = 0
        self._frames = list(self._framed(entry))
        # An echo is no sign of a model that works.
        self._canaries = {CANARIES[pair.source]: CANARIES[pair.target] for pair in entry.all_pairs}

    def encode_text(self, text: str, *, first: bool = True) -> Sequence[int]:
        del first
        return encode(text)

    def chat_template(self, messages: Sequence[Mapping[str, str]], arguments: Mapping[str, object]) -> str:
        del arguments
        return f"<turn>{'<end>'.join(message['content'] for message in messages)}<end>"

    async def generate(self, request: GenerationRequest, request_id: str) -> GenerationResult:
        del request_id
        await asyncio.sleep(0)
        self._steps += 1
        text = self._text_of(decode(request.prompt_ids))
        text = self._canaries.get(text, text)
        if self._loses:
            text = _TAG.sub("", text)
        tokens = [0] * min(request.max_tokens, 1 + len(text) // 2)
        return GenerationResult(text, "stop", tokens, logprobs=[-0.1] * len(tokens) if request.wants_logprobs else ())

    async def ping(self) -> None:
        await asyncio.sleep(0)

    def progress(self) -> ModelReport:
        return ModelReport(
            running=0,
            waiting=0,
            limit=self.max_num_seqs,
            steps=self._steps,
            step_age_s=None,
            kv_used=0.0,
            revision=None,
        )

    async def stop(self) -> None:
        self.alive = False

    def _framed(self, entry: ModelEntry) -> list[Frame]:
        frames: dict[Frame, None] = {}
        for pair in entry.all_pairs:
            prompt = entry.family.for_pair(pair, self.chat_template, self.controls)
            pieces = prompt.pieces(_MARK)
            text = "".join(piece.text for piece in pieces if not isinstance(piece, ControlToken))
            before, _, after = text.partition(_MARK)
            frames[Frame(before, after)] = None
        return list(frames)

    def _text_of(self, prompt: str) -> str:
        for frame in self._frames:
            if prompt.startswith(frame.before) and prompt.endswith(frame.after):
                return prompt[len(frame.before) : len(prompt) - len(frame.after)]
        return prompt.rpartition("\n\n")[2]  # of a prompt with terms or a context


async def start(entry: ModelEntry) -> EchoEngine:
    """Start the engine of a catalog's entry."""
    return EchoEngine(entry)
