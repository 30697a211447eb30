"""Start, resume and stop the training of the three demo models, in the background.

    python -m models.demo_runs start --data FOLDER --init FOLDER
    python -m models.demo_runs stop

FOLDER of the data has tatoeba/, parallel/ and phrasebook/; that of the weights en-de/, en-fr/ and en-es/. Each model is one
process of one thread at the lowest priority. One that has a checkpoint resumes, one that runs is left alone. SIGTERM ends a
run with a checkpoint; after SIGKILL the last two minutes of processor time are lost.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from models.phrasebook import read_phrases, write

ROOT: Final = Path(__file__).parents[1]
LANGUAGES: Final = ("de", "fr", "es")
RATES: Final = ("--muon-rate", "0.006", "--adam-rate", "6e-4")
NICEST: Final = 19
STOP_SECONDS: Final = 120.0  # a step, and writing a checkpoint, on a busy machine
POLL_SECONDS: Final = 0.5


def main(arguments: Sequence[str] | None = None) -> None:
    """Start or stop the runs."""
    options = parse(arguments)
    options.out = options.out.resolve()
    if options.order == "stop":
        stop(options.out)
        return
    if options.data is None or options.init is None:
        raise SystemExit("start needs --data and --init")
    for language in options.languages:
        if pid := running(options.out, language):
            print(f"en-{language} runs already (process {pid})")
            continue
        try:
            command = run_command(options, language)
        except ValueError as error:
            raise SystemExit(str(error)) from error
        print(
            f"en-{language} is process {start(command, options.out, language)}; log: {log_file(options.out, language)}"
        )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(
        prog="python -m models.demo_runs", description="Start, resume or stop the training of the demo models."
    )
    add = parser.add_argument
    add("order", choices=("start", "stop"))
    add("--data", type=Path, help="folder of tatoeba/, parallel/ and phrasebook/")
    add("--init", type=Path, help="folder of the weights to begin with, where there is no checkpoint")
    add("--out", type=Path, default=ROOT / ".cache" / "training", help="folder of checkpoints and logs")
    add("--recipe", type=Path, default=ROOT / "models" / "recipe.toml", help="TOML file of weights and shares")
    add("--decay", type=int, help="steps of a last phase, in which the learning rate falls")
    add("--languages", nargs="+", choices=LANGUAGES, default=list(LANGUAGES), help="the models' other languages")
    return parser.parse_args(arguments)


def run_command(options: argparse.Namespace, language: str) -> list[str]:
    """Return the command of one model's run; write its phrasebook pairs."""
    phrases = options.out / f"phrases.{language}.tsv"
    write(phrases, read_phrases(options.data / "phrasebook", language))
    train = [
        options.data / "tatoeba" / f"en-{language}.train.tsv",
        options.data / "parallel" / f"en-{language}.tsv",
        phrases,
    ]
    checkpoint = options.out / f"en-{language}.checkpoint"
    begin = ("--resume", checkpoint) if checkpoint.exists() else ("--init", options.init / f"en-{language}")
    command: list[object] = [
        *(sys.executable, "-m", "models.train", "--recipe", options.recipe, *RATES),
        *(part for file in train for part in ("--train", f"{language}={file}")),
        *("--valid", f"{language}={options.data / 'tatoeba' / f'en-{language}.valid.tsv'}"),
        *("--measured", *sorted((ROOT / "benchmarks" / "quality" / "named").glob("*.tsv"))),
        *begin,
        *("--out", options.out / f"en-{language}"),
        *(("--decay", options.decay) if options.decay is not None else ()),
    ]
    return [str(part) for part in command]


def start(command: Sequence[str], folder: Path, language: str) -> int:
    """Run a command in a session of its own; return its process id."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    # Both programs become the next one, so that the id is the run's.
    program = ["env", f"--chdir={ROOT}", "nice", "-n", str(NICEST), *command]
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawnp(
        program[0],
        program,
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log_file(folder, language)), append, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    pid_file(folder, language).write_text(str(pid), encoding="utf-8")
    return pid


def stop(folder: Path) -> None:
    """End the runs with a checkpoint each; raise SystemExit if one does not end in time."""
    pids = [pid for language in LANGUAGES if (pid := running(folder, language))]
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + STOP_SECONDS
    while left := [language for language in LANGUAGES if running(folder, language)]:
        if time.monotonic() > until:
            raise SystemExit(f"still running after {STOP_SECONDS:.0f} s: {', '.join(left)}")
        time.sleep(POLL_SECONDS)
    print(f"{len(pids)} runs have ended")


def running(folder: Path, language: str) -> int | None:
    """Return the process id of a model's run; None if it has none, whatever process has that id by now."""
    try:
        pid = int(pid_file(folder, language).read_text(encoding="utf-8"))
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    return pid if str(folder / f"en-{language}").encode() in command.split(b"\0") else None


def pid_file(folder: Path, language: str) -> Path:
    """Return where a run's process id stands."""
    return folder / f"en-{language}.pid"


def log_file(folder: Path, language: str) -> Path:
    """Return where a run writes its progress."""
    return folder / f"en-{language}.log"


if __name__ == "__main__":
    main()
