"""The demo models' network in torch, and their Hugging Face folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import (
    load_file,  # pyright: ignore[reportUnknownVariableType] - safetensors leaves PathLike open
    save_file,  # pyright: ignore[reportUnknownVariableType] - the same
)
from torch import Tensor, nn
from torch.nn import functional

from models.tokenizer import BEGIN, END, PAD, DemoTokenizer

HEAD_SIZE = 64
CONTEXT_TOKENS = 512
NORM_EPSILON = 1e-5
ROPE_THETA = 10000.0
# Hugging Face's LlamaForCausalLM has the network under this name; weights below it are named as in this file.
PREFIX = "model."


@dataclass(frozen=True)
class Shape:
    """The sizes of a network; `width` is a multiple of HEAD_SIZE."""

    vocabulary: int
    width: int = 256
    layers: int = 6
    inner: int = 704

    @property
    def heads(self) -> int:
        """Number of attention heads."""
        return self.width // HEAD_SIZE


class Attention(nn.Module):
    """Causal self-attention with rotary positions."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.q_proj = nn.Linear(shape.width, shape.width, bias=False)
        self.k_proj = nn.Linear(shape.width, shape.width, bias=False)
        self.v_proj = nn.Linear(shape.width, shape.width, bias=False)
        self.o_proj = nn.Linear(shape.width, shape.width, bias=False)

    def forward(self, hidden: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        """Return the attention output, (rows, length, width), of the hidden states."""
        rows, length, width = hidden.shape

        def split(projected: Tensor) -> Tensor:
            return projected.view(rows, length, self.heads, HEAD_SIZE).transpose(1, 2)

        query = rotate(split(self.q_proj(hidden)), cosine, sine)
        key = rotate(split(self.k_proj(hidden)), cosine, sine)
        mixed = attend(query, key, split(self.v_proj(hidden)))
        return self.o_proj(mixed.transpose(1, 2).reshape(rows, length, width))


class FeedForward(nn.Module):
    """The gated inner layer (SwiGLU)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.width, shape.inner, bias=False)
        self.up_proj = nn.Linear(shape.width, shape.inner, bias=False)
        self.down_proj = nn.Linear(shape.inner, shape.width, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        """Return the layer's output at each position."""
        return self.down_proj(functional.silu(self.gate_proj(hidden)) * self.up_proj(hidden))


class Layer(nn.Module):
    """One decoder layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(shape.width, eps=NORM_EPSILON)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = nn.RMSNorm(shape.width, eps=NORM_EPSILON)
        self.mlp = FeedForward(shape)

    def forward(self, hidden: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        """Return the hidden states after this layer."""
        hidden = hidden + self.self_attn(self.input_layernorm(hidden), cosine, sine)
        return hidden + self.mlp(self.post_attention_layernorm(hidden))


class Llama(nn.Module):
    """A Llama decoder whose output layer is its embedding."""

    cosine: Tensor
    sine: Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width, eps=NORM_EPSILON)
        frequencies = 1 / ROPE_THETA ** (torch.arange(0, HEAD_SIZE, 2) / HEAD_SIZE)
        angles = torch.outer(torch.arange(CONTEXT_TOKENS), frequencies).repeat(1, 2)
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)
        self._initialise()

    def _initialise(self) -> None:
        scale = self.shape.width**-0.5
        nn.init.normal_(self.embed_tokens.weight, std=scale)
        for name, matrix in self.matrices():
            # Matrices that write into the residual stream start small, so that the first steps change little.
            closing = name.endswith(("o_proj.weight", "down_proj.weight"))
            nn.init.normal_(matrix, std=0.3 * scale if closing else scale)

    def matrices(self) -> list[tuple[str, nn.Parameter]]:
        """Return the layers' matrices with their names, without embedding and norms."""
        return [(name, weight) for name, weight in self.named_parameters() if name.endswith("_proj.weight")]

    def forward(self, ids: Tensor) -> Tensor:
        """Return the last hidden state at each position."""
        length = ids.shape[1]
        hidden = self.embed_tokens(ids)
        for layer in self.layers:
            hidden = layer(hidden, self.cosine[:length], self.sine[:length])
        return self.norm(hidden)

    def scores(self, hidden: Tensor) -> Tensor:
        """Return the score of each token for each hidden state."""
        return hidden @ self.embed_tokens.weight.T.to(hidden.dtype)


def rotate(states: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Return the states rotated by the angles of their positions."""
    left, right = states.chunk(2, dim=-1)
    return states * cosine.to(states.dtype) + torch.cat((-right, left), dim=-1) * sine.to(states.dtype)


def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Return causal attention; on a CPU five times as fast backwards as torch's own in bfloat16."""
    length = query.shape[-2]
    later = torch.full((length, length), -torch.inf, dtype=query.dtype, device=query.device).triu(1)
    scores = (query * HEAD_SIZE**-0.5) @ key.transpose(-1, -2) + later
    return scores.softmax(dim=-1).to(value.dtype) @ value


def load_weights(folder: Path) -> Llama:
    """Return the network that `save_folder` wrote, in float32 but with bfloat16 precision.

    Raises:
        ValueError: a file is missing, or its content is no such network.
    """
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        sizes = ("vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size")
        model = Llama(Shape(*(config[size] for size in sizes)))
        weights = load_file(folder / "model.safetensors")
        model.load_state_dict({name.removeprefix(PREFIX): weight.float() for name, weight in weights.items()})
    except (OSError, KeyError, RuntimeError, SafetensorError, json.JSONDecodeError) as error:
        raise ValueError(f"{folder} holds no demo model: {type(error).__name__}: {error}") from error
    return model


def save_folder(folder: Path, model: Llama, tokenizer: DemoTokenizer) -> None:
    """Write weights in bfloat16, the tokenizer, and three configuration files.

    The weights replace older ones at once, so that a reader never finds half of them.
    """
    weights = {
        PREFIX + name: weight.detach().cpu().to(torch.bfloat16).contiguous()
        for name, weight in model.state_dict().items()
    }
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / "model.safetensors.partial"
    save_file(weights, partial, metadata={"format": "pt"})
    partial.chmod(0o644)  # safetensors permits only the owner to read it, but a container's user must as well
    partial.replace(folder / "model.safetensors")
    tokenizer.save(folder)
    marks = {
        "bos_token_id": tokenizer.id(BEGIN),
        "eos_token_id": tokenizer.id(END),
        "pad_token_id": tokenizer.id(PAD),
    }
    write_json(folder / "config.json", model_config(model.shape) | marks)
    write_json(folder / "generation_config.json", marks | {"temperature": 0.0, "do_sample": False})
    write_json(folder / "tokenizer_config.json", tokenizer_config())


def model_config(shape: Shape) -> dict[str, object]:
    """Return the network's configuration for transformers and vLLM."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": shape.width,
        "intermediate_size": shape.inner,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "head_dim": HEAD_SIZE,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": CONTEXT_TOKENS,
        "rms_norm_eps": NORM_EPSILON,
        "rope_theta": ROPE_THETA,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "attention_bias": False,
        "mlp_bias": False,
    }


def tokenizer_config() -> dict[str, object]:
    """Return the tokenizer's configuration for transformers."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BEGIN,
        "eos_token": END,
        "pad_token": PAD,
        "model_max_length": CONTEXT_TOKENS,
        "clean_up_tokenization_spaces": False,
        "add_bos_token": False,
    }


def write_json(file: Path, content: Mapping[str, object]) -> None:
    """Write an object as JSON, one member per line."""
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
