"""Whether a new model's memory suffices, and what the machine and the container have left."""

from __future__ import annotations

from pathlib import Path

import pytest

from apiserver.changes.memory import (
    ENGINE_OVERHEAD_BYTES,
    MARGIN_BYTES,
    MIB,
    MachineMemory,
    MemoryNeed,
    check_memory,
    check_shares,
    need_of,
)
from shared.protocol.errors import ChangeRefusedError
from tests.apiserver.changes.samples import entry_of
from tests.shared.runtime.memory_files import group, written

MEMINFO = "MemTotal: 1000 kB\nMemAvailable:    800 kB\n"
CACHE = {"kv_cache_memory_bytes": 64 * MIB}


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    (tmp_path / "model-1.safetensors").write_bytes(b"x" * 1000)
    (tmp_path / "model-2.safetensors").write_bytes(b"x" * 500)
    (tmp_path / "README.md").write_text("not weights")
    (tmp_path / "config.json").write_text('{"torch_dtype": "bfloat16"}')
    return tmp_path


def test_need_is_weights_cache_and_engine(weights: Path) -> None:
    need = need_of(entry_of(path=str(weights), engine=CACHE), "cpu")
    assert need == MemoryNeed(1500, 64 * MIB, ENGINE_OVERHEAD_BYTES)
    assert need.total == 1500 + 64 * MIB + ENGINE_OVERHEAD_BYTES


def test_weights_grow_with_a_larger_type(weights: Path) -> None:
    assert need_of(entry_of(path=str(weights), engine={**CACHE, "dtype": "float32"}), "cpu").weights == 3000
    assert need_of(entry_of(path=str(weights), engine={**CACHE, "dtype": "float16"}), "cpu").weights == 1500
    (weights / "config.json").write_text("[]")
    assert need_of(entry_of(path=str(weights), engine={**CACHE, "dtype": "float32"}), "cpu").weights == 1500


def test_need_on_a_gpu_is_the_process_alone(weights: Path) -> None:
    assert need_of(entry_of(path=str(weights)), "cuda").total == ENGINE_OVERHEAD_BYTES


def test_need_without_a_cache_size_is_unknown(weights: Path) -> None:
    with pytest.raises(ChangeRefusedError, match=r"set engine\.kv_cache_memory_bytes"):
        need_of(entry_of(path=str(weights)), "cpu")


def test_weights_that_were_not_downloaded_are_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(ChangeRefusedError, match="not on this machine yet"):
        need_of(entry_of(path="org/m", engine=CACHE), "cpu")
    snapshot = tmp_path / "hub" / "models--org--m" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "model.safetensors").write_bytes(b"x" * 700)
    assert need_of(entry_of(path="org/m", engine=CACHE), "cpu").weights == 700


def test_memory_that_suffices_exactly_is_enough() -> None:
    need = MemoryNeed(1, 2, 3)
    check_memory(entry_of(), need, MARGIN_BYTES + 6)
    check_memory(entry_of(), need, 0, freed=MARGIN_BYTES + 6)
    with pytest.raises(ChangeRefusedError) as caught:
        check_memory(entry_of(), need, MARGIN_BYTES + 5)
    assert caught.value.facts == {
        "needed_bytes": 6,
        "margin_bytes": MARGIN_BYTES,
        "available_bytes": MARGIN_BYTES + 5,
    }
    assert '"swap": true' in caught.value.detail


def test_refusal_of_a_swap_hints_at_no_swap() -> None:
    with pytest.raises(ChangeRefusedError) as caught:
        check_memory(entry_of(), MemoryNeed(1, 2, 3), 0, freed=5)
    assert "swap" not in caught.value.detail


def test_shares_of_a_gpu_may_not_exceed_the_whole() -> None:
    old, new = entry_of("a", engine={"gpu_memory_utilization": 0.5}), entry_of("b", engine=CACHE)
    check_shares(new, [old], "cuda")
    check_shares(entry_of("b"), [entry_of("a")], "cpu")
    with pytest.raises(ChangeRefusedError, match=r"a 0\.5, b 0\.6\) exceed 1"):
        check_shares(entry_of("b", engine={"gpu_memory_utilization": 0.6}), [old], "cuda")
    with pytest.raises(ChangeRefusedError, match=r"a 0\.5, a \(new\) 0\.6\) exceed 1"):
        check_shares(entry_of("a", engine={"gpu_memory_utilization": 0.6}), [old], "cuda")
    with pytest.raises(ChangeRefusedError, match="b may take a whole cuda device"):
        check_shares(entry_of("b"), [old], "cuda")


def machine(root: Path, files: dict[str, str]) -> MachineMemory:
    return MachineMemory(lambda: "cpu", written(root, {"proc/meminfo": MEMINFO, **files}))


def test_machine_without_groups_has_its_own_memory(tmp_path: Path) -> None:
    assert machine(tmp_path, {}).available_bytes() == 800 * 1024
    assert machine(tmp_path, {}).device() == "cpu"


def test_containers_limit_counts_without_its_page_cache(tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "0::/docker/abc\n", **group("sys/fs/cgroup", "5000", 3000, 1000)}
    assert machine(tmp_path, files).available_bytes() == 3000


def test_meminfo_without_available_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="MemAvailable"):
        machine(tmp_path, {"proc/meminfo": "MemTotal: 1 kB\n"}).available_bytes()


def test_real_machine_has_memory() -> None:
    assert MachineMemory(lambda: "cpu").available_bytes() > 0
