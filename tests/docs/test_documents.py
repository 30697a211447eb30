"""What the documents say must hold: examples load, links lead somewhere, names exist."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from fastapi import FastAPI

from apiserver import api
from apiserver.catalog import loader
from apiserver.metrics import ApiServerMetrics
from proxy.app import create_app
from proxy.metrics import ProxyMetrics
from proxy.settings import ProxySettings
from shared.protocol.errors import CODES
from tests.support.processes import ROOT

OTHERS = (
    ROOT / "models/CARD.md",
    ROOT / "benchmarks/README.md",
    ROOT / "apiserver/guards/names/words/ATTRIBUTION.md",
)
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *OTHERS])
# Settings of the client, which no server reads.
OF_THE_CLIENT = {"PAIRWAY_URL", "PAIRWAY_KEY"}
LINK = re.compile(r"\]\(([^)#\s]+)?(#[^)\s]+)?\)")


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as they are made of them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), flags=re.MULTILINE)
    return {"#" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_in_documents_resolve() -> None:
    for document in DOCUMENTS:
        for target, anchor in LINK.findall(document.read_text()):
            if target.startswith("http"):
                continue
            there = (document.parent / target).resolve() if target else document
            assert there.exists(), f"{document} links to {target}"
            if anchor:
                assert anchor in anchors(there), f"{document} links to {target}{anchor}"


def test_documented_settings_metrics_and_targets_exist() -> None:
    """What a document names as a setting, a metric or a target of make is one; ``*_NAME`` is one of both servers'."""
    example, makefile = ((ROOT / name).read_text() for name in (".env.example", "Makefile"))
    settings = OF_THE_CLIENT | set(re.findall(r"^#([A-Z0-9_]+)=", example, re.MULTILINE))
    metrics = {metric.name for each in (ProxyMetrics(), ApiServerMetrics()) for metric in each.registry.collect()}
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for document in DOCUMENTS:
        # A renamed metric stands before an arrow, with its new name behind it.
        text = re.sub(r"`\w+` → ", "", document.read_text())
        named = set(re.findall(r"\b(?:PROXY|APISERVER|PAIRWAY)_[A-Z0-9_]*[A-Z0-9]\b", text))
        of_both = re.findall(r"`\*_([A-Z0-9_]+)`", text)
        both = {f"{prefix}{name}" for name in of_both for prefix in ("PROXY_", "APISERVER_")}
        assert named | both <= settings, document
        counted = re.findall(r"\bpairway_(?:proxy|apiserver)_[a-z_]*[a-z]\b", text)
        assert {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in counted} <= metrics, document
        assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets, document


def test_budgets_of_the_tests_are_documented() -> None:
    budgets = re.search(r"^BUDGETS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert budgets is not None
    minutes = {name: int(most) for name, _, most in (each.partition(":") for each in budgets[1].split())}
    minutes["test-all"] = sum(minutes.values())
    rows = re.findall(
        r"^\| `make ([a-z-]+)` .* \| (\d+) minutes?", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE
    )
    assert minutes.items() <= {name: int(most) for name, most in rows}.items()


def test_everything_a_user_meets_is_documented() -> None:
    """Settings, metrics, codes and paths of the product; ``*_NAME`` is a setting of both servers."""
    text = "\n".join(
        path.read_text()
        for path in (*ROOT.glob("docs/*.md"), *ROOT.glob("docs/operations/**/*.md"), *ROOT.glob("docs/compat/*.md"))
    )
    example = (ROOT / ".env.example").read_text()
    settings = set(re.findall(r"^#((?:PROXY|APISERVER)_[A-Z0-9_]+)=", example, re.MULTILINE))
    missing = {each for each in settings if not re.search(rf"\b{each}\b|`\*_{each.partition('_')[2]}`", text)}
    metrics = {metric.name for each in (ProxyMetrics(), ApiServerMetrics()) for metric in each.registry.collect()}
    missing |= {each for each in metrics if not re.search(rf"\b{each}(_total|\b)", text)}
    missing |= {code for code in CODES if f"`{code}`" not in text}
    apps = (create_app(ProxySettings(replicas=("http://127.0.0.1:1",))), api_routes_app())
    missing |= {
        path for app in apps for path in app.openapi()["paths"] if f"{path.partition('{')[0].rstrip('/')}" not in text
    }
    assert not missing, "documented nowhere: " + ", ".join(sorted(missing))


def api_routes_app() -> FastAPI:
    """Return an app with the API server's routes, which needs no catalog."""
    app = FastAPI()
    app.include_router(api.routes)
    return app


def test_catalog_in_the_operators_guide_loads(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/operations/models.md").read_text(), flags=re.DOTALL)
    path = tmp_path / "models.yaml"
    path.write_text(textwrap.dedent(example))
    (entry,) = loader.load(path)
    assert len(entry.all_pairs) == 20
