"""The queue design's worker."""

from __future__ import annotations

import queue
from multiprocessing.queues import JoinableQueue
from typing import Any, cast

from benchmarks.origin.designs import queue_worker
from benchmarks.origin.designs.queue_worker import BatchLimits, gather_tasks


def test_gather_tasks_until_full_or_idle() -> None:
    tasks: queue.Queue[Any] = queue.Queue()
    for number in range(5):
        tasks.put(queue_worker.Task(str(number), cast("Any", None)))
    joinable = cast("JoinableQueue[queue_worker.Task]", tasks)
    assert [task.task_id for task in gather_tasks(joinable, BatchLimits(3, 5.0))] == ["0", "1", "2"]
    assert [task.task_id for task in gather_tasks(joinable, BatchLimits(3, 0.01))] == ["3", "4"]
