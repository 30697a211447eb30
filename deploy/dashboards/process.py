"""Panels of a server's process, which both servers have."""

from __future__ import annotations

from deploy.dashboards.panels import COUNT, SECONDS, SHARE, Panel, Query, Text, lines, states


def process_panels(server: str) -> list[Panel]:
    """Return the panels of ``proxy`` or ``apiserver``."""
    chosen = '{instance=~"$instance"}'
    of_job = f'{{job="pairway-{server}", instance=~"$instance"}}'
    metric = f"pairway_{server}_"
    return [
        lines(
            Text("Memory of the limit", "Will the system kill it?", "Its container has no limit", "near-limit"),
            SHARE,
            Query(
                f"{metric}container_memory_bytes{chosen} / {metric}container_memory_limit_bytes{chosen}", "{{instance}}"
            ),
            most=1,
        ),
        lines(
            Text("Open files of the limit", "Do connections run out?", "Nothing is scraped", "near-limit"),
            SHARE,
            Query(f"process_open_fds{of_job} / process_max_fds{of_job}", "{{instance}}"),
            most=1,
        ),
        lines(
            Text("Processor", "Is one core not enough for the server's own process?", "Nothing is scraped", "overload"),
            COUNT,
            Query(f"rate(process_cpu_seconds_total{of_job}[5m])", "{{instance}}: cores"),
        ),
        lines(
            Text(
                "Event loop",
                "Does something block it? 1 % of its timers are later than this.",
                "Nothing is scraped",
                "loop-stuck",
            ),
            SECONDS,
            Query(
                f"histogram_quantile(0.99, sum by (instance, le) (rate({metric}event_loop_lag_seconds_bucket{chosen}[5m])))",
                "{{instance}}",
            ),
        ),
        states(
            Text("Background loops", "Which one does not succeed?", "Nothing is scraped", "loop-stuck"),
            Query(f"{metric}loop_stale{chosen}", "{{instance}} {{loop}}"),
            one="stuck",
            zero="fine",
            one_is_good=False,
        ),
        states(
            Text("Scraped", "Is it there at all?", "Prometheus has no targets", "not-scraped"),
            Query(f"up{of_job}", "{{instance}}"),
            one="up",
            zero="away",
            one_is_good=True,
        ),
    ]
