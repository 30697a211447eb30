"""Search for the text that costs most for its length; ``make fuzz`` looks for new ones, and keeps the worst as seeds.

A seed is a file ``seeds/SERVER-FORMAT.yaml``: units that are repeated up to any length. All rows of ``make bench-hostile`` and of
the gate have them too.
"""

from __future__ import annotations

import pytest
import yaml
from hypothesis import HealthCheck, given, settings, target
from hypothesis import strategies as st

from tests.hostile.measuring import REPEATS, Cost, Row, Sent, as_json, measure
from tests.hostile.servers import HostileFleet, family_pairs
from tests.hostile.test_event_loops import MAX_STALL_SECONDS
from tests.hostile.texts import SEEDS, from_units

pytestmark = [pytest.mark.hypothesis, pytest.mark.no_cover, pytest.mark.xdist_group("hostile")]

# Long enough that a request's fixed cost does not show, and short enough for hundreds of examples.
CHARS = 8_000
# Each example is a request of its own; the gate asks few.
GATE_EXAMPLES, FUZZ_EXAMPLES = 4, 400
# A new seed must be worse than the old one by so much: figures of two machines differ.
WORSE = 1.25
# Parts of literals, words, tags and nesting, of which a text is made.
# fmt: off
UNITS = [
    *("1", "12", "3.5", "1,000", "kg", "%", "€", "USD", "pm", "Mai", "three", "hundred", "second", "½", "٣", "三百", "万"),
    *("a", "A", "Ab", "word", "Word", "The", "McX", "O'B", "é", "e\u0301", "ß", "字", "ก", "क", "م", "🙂", "\u200d", "\ufe0f", "🇩🇪"),
    *(" ", "  ", "\n", "\n\n", "\t", "\u00a0", "\u3000", ".", ". ", ", ", "-", "–", "'", '"', "«", "(", ")", "[", "]", "{", "}", "/", ":"),
    *("@a", "#b", "a@b.c", "http://a.b/", "www.a.b", "a.b", "A-1", "v1.2", "%s", "{x}", "${y}", "+49", "12:30", "1.2.2020", "IV"),
    *("<b>", "</b>", "<i>", "<p>", "</p>", "<br>", "<a ", "<a>", "</a>", "<", ">", "<!--", "-->", "&amp;", "&#1;", "&", "<x1/>", "<g1>"),
    *("*", "**", "_", "`", "```", "![", "](", "> ", "- ", "# ", "| ", "|---|", "~~", "\\", "$", "<![CDATA[", "]]>", "<?a ", "?>"),
]
# fmt: on
FORMATS = ("text", "html", "markdown")


def row_of(server: str, text_format: str, pair: str, units: str) -> Row:
    """Return the row of a text that repeats units."""
    source, tag = pair.split("-") if server == "apiserver" else ("auto", "de")

    def sent(size: int, seed: int) -> Sent:
        body = {"text": from_units(units)(size, seed), "source_lang": source, "target_lang": tag, "format": text_format}
        return Sent("POST", "/translate", as_json(body), {"Content-Type": "application/json"})

    return Row(server, "POST /translate", f"{units!r} as {text_format} to {pair}", CHARS, sent)


def known_cost(server: str, text_format: str) -> float:
    """Return the microseconds for each character of the seed so far."""
    path = SEEDS / f"{server}-{text_format}.yaml"
    return yaml.safe_load(path.read_text())["microseconds_per_char"] if path.exists() else 0.0


def keep(server: str, text_format: str, units: str, cost: float) -> None:
    """Write the worst text that was found as the seed of its server and format."""
    SEEDS.mkdir(exist_ok=True)
    found = {"format": text_format, "units": units, "microseconds_per_char": round(cost, 2)}
    (SEEDS / f"{server}-{text_format}.yaml").write_text(yaml.safe_dump(found, allow_unicode=True))


@pytest.mark.parametrize("text_format", FORMATS)
@pytest.mark.parametrize("server", ["proxy", "apiserver"])
async def test_no_text_that_is_found_stops_a_loop(hostile_fleet: HostileFleet, server: str, text_format: str) -> None:
    is_gate = settings.default is not None and settings.default.derandomize
    watched, worst = hostile_fleet.watched[server], ("", 0.0)
    pairs = sorted(set(family_pairs().values()))

    def cost_of(row: Row, size: int) -> Cost:
        """Return the smallest figures of two requests, and of more where the loop stood still: the machine may be busy."""
        cost = measure(watched, row, size, size).or_less(measure(watched, row, size, size + 1))
        for seed in range(size + 2, size + 2 + REPEATS):
            if cost.stall <= MAX_STALL_SECONDS:
                break
            cost = cost.or_less(measure(watched, row, size, seed))
        return cost

    @settings(max_examples=GATE_EXAMPLES if is_gate else FUZZ_EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(st.sampled_from(UNITS), min_size=1, max_size=12), st.sampled_from(pairs))
    def search(parts: list[str], pair: str) -> None:
        nonlocal worst
        units = "".join(parts)
        cost = cost_of(row_of(server, text_format, pair, units), CHARS)
        per_char = 1e6 * cost.seconds / CHARS
        target(per_char, label="microseconds for each character")
        target(1000 * cost.stall, label="longest stall in ms")
        worst = max(worst, (units, per_char), key=lambda found: found[1])
        assert cost.status, "no answer"
        assert cost.stall <= MAX_STALL_SECONDS, f"stands still for {1000 * cost.stall:.0f} ms"

    try:
        search()
    finally:
        if not is_gate and worst[1] > WORSE * known_cost(server, text_format):
            keep(server, text_format, *worst)
