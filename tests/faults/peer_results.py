"""What eight routers did under the same faults, as measured for the project's reference (routing.md, b; November 2026).

Two mock servers of 20 ms, 40 requests/s open loop, client limit 5 s, the fault in one of them for 7 s. A cell: % of client
requests failed while the fault lasted (share of requests that the faulty server still got). LiteLLM at 8 requests/s.
"""

from __future__ import annotations

from typing import Final

PEERS: Final = (
    "production-stack default",
    "production-stack, failover 1, 2 s dummy-request probes",
    "vllm-router 0.1.17 P2C",
    "sglang-router 0.3.2 P2C",
    "SMG 1.13 P2C",
    "LiteLLM 1.106",
    "HAProxy leastconn",
    "nginx least_conn",
)
# By row of the fault suite; "recovery" is the share of the 5 s after it healed.
CELLS: Final[dict[str, tuple[str, ...]]] = {
    "sigkill": ("50", "0 (p99 1.1 s)", "0", "0", "0", "7.1 for 0.9 s (p50 1.4 s)", "0", "0"),
    "hung-engine": ("50", "26 (3.7 s)", "1.4 (1 %)", "48.6 (49 %)", "1.4 (1 %)", "39", "0.7 (1 %)", "1.4 (1 %)"),
    "slow": (
        "0, p50 1.5 s (50 %)",
        "0, p50 1.5 s (51 %)",
        "0, p50 39 ms (4 %)",
        "0, p50 1.5 s (51 %)",
        "0, p50 32 ms (4 %)",
        "–",
        "0 (4 %)",
        "0 (5 %)",
    ),
    "instant-503": (
        "50",
        "12.9 (1.8 s)",
        "0 (4 %)",
        "0 (4 %)",
        "0 (4 %)",
        "1.8 for 0.6 s (43 %)",
        "0 (76 %)",
        "0 (0 %)",
    ),
    "instant-500": ("50", "12.5 (1.7 s)", "0", "0", "0", "–", "8.9", "49"),
    "reset": ("50", "13 (1.8 s)", "0", "0", "0", "–", "42.5", "39.6"),
    "recovery": (
        "50 %",
        "23–51 %",
        "0 % (kill/5xx), 17 % hang",
        "0 %",
        "0 %, 17 % hang",
        "57 % (kill)",
        "12 %–52 %",
        "10–50 %",
    ),
    "bad-requests": (
        "good 100 %",
        "good 100 %",
        "good 100 %",
        "good 0 %",
        "good 100 %",
        "–",
        "good 100 %",
        "good 100 %",
    ),
    "clients-leave": ("0", "0", "10", "not reached", "10", "–", "0", "10"),
    "sigterm-proxy": (
        "0 / 2.8 s",
        "0 / 16.9 s",
        "0 / 2.1 s",
        "0 / 2.1 s",
        "0 / 5.1 s",
        "–",
        "20 / 0.1 s",
        "0 / 1.6 s",
    ),
}
