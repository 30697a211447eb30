"""The queue design's worker."""

from __future__ import annotations

import queue
from multiprocessing.queues import JoinableQueue
from typing import Any, cast

from benchmarks.origin.designs.queue_design import Task, gather_tasks


def test_gather_tasks_until_full_or_idle() -> None:
    tasks: queue.Queue[Any] = queue.Queue()
    for number in range(5):
        tasks.put((str(number), None))
    joinable = cast("JoinableQueue[Task]", tasks)
    assert [task_id for task_id, _ in gather_tasks(joinable, 3)] == ["0", "1", "2"]
    assert [task_id for task_id, _ in gather_tasks(joinable, 3)] == ["3", "4"]
