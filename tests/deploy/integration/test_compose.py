"""What docker compose is given, read without Docker: closed by default, bounded, of one mind with the settings."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

import apiserver.settings
import proxy.settings
from apiserver.catalog.loader import load
from apiserver.engine.vllm_engine import ENVIRONMENT, STOP_SECONDS

COMPOSE: dict[str, Any] = yaml.safe_load(Path("docker-compose.yml").read_text())
GPU: dict[str, Any] = yaml.safe_load(Path("deploy/compose.gpu.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
API_SERVERS = ("apiserver-de", "apiserver-fr")
DOCKERFILES = {name: Path(f"deploy/{name}.Dockerfile").read_text() for name in ("proxy", "apiserver")}
BASES = {"python:3.11-slim", "scratch", "base"}
EXAMPLE = Path(".env.example").read_text()
# One commented assignment with its comment above.
ENTRIES = re.findall(r"((?:^# .*\n)*)(?:^#[A-Z].*\n)*?^#([A-Z][A-Z0-9_]*)=(.*)$", EXAMPLE, re.MULTILINE)
DOCUMENTED: dict[str, str] = {name: value for _, name, value in ENTRIES}
VARIABLE = re.compile(r"\$\{([A-Z_]+):?-([^}]*)\}")
SETTINGS = {"PROXY_": proxy.settings.ProxySettings, "APISERVER_": apiserver.settings.ApiServerSettings}
GPU_CATALOGS = sorted(Path("deploy/models").glob("hy-mt2-*.yaml"))


def resolved(value: str) -> str:
    """Return a compose value as it is where nothing is set."""
    return VARIABLE.sub(lambda found: found[2], value)


def seconds(value: str) -> float:
    number, unit = re.fullmatch(r"(\d+)(s|m)", resolved(value)).groups()  # pyright: ignore[reportOptionalMemberAccess]
    return int(number) * {"s": 1, "m": 60}[unit]


def test_services_are_the_fleet() -> None:
    assert set(SERVICES) == {"redis", "proxy", *API_SERVERS}
    replicas = resolved(SERVICES["proxy"]["environment"]["PROXY_REPLICAS"])
    assert replicas == ",".join(f"http://{name}:8001" for name in API_SERVERS)


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_restricted_and_limited(name: str) -> None:
    service = SERVICES[name]
    assert service["restart"] == "unless-stopped"
    assert service["init"] is True
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert int(service["user"].split(":")[0]) > 0
    assert {"test", "interval", "timeout", "retries", "start_period"} <= set(service["healthcheck"])
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}
    assert {"max-size", "max-file"} <= set(service["logging"]["options"])
    assert not {"privileged", "network_mode", "pid", "devices", "cap_add", "container_name"} & set(service)


def test_only_the_proxy_is_published_on_loopback() -> None:
    assert {name for name, service in SERVICES.items() if "ports" in service} == {"proxy"}
    assert all(re.fullmatch(r"127\.0\.0\.1:\$\{PAIRWAY_PORT:-8000\}:8000", port) for port in SERVICES["proxy"]["ports"])


def test_only_proxies_reach_redis() -> None:
    assert COMPOSE["networks"]["registry"]["internal"] is True
    assert {name for name, service in SERVICES.items() if "registry" in service["networks"]} == {"redis", "proxy"}
    assert SERVICES["redis"]["networks"] == ["registry"]


def test_redis_keeps_keys_within_its_memory() -> None:
    command = SERVICES["redis"]["command"]
    assert command[command.index("--appendonly") + 1] == "yes"
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction", "no key is lost to make room"
    assert "--maxmemory" in command
    assert SERVICES["redis"]["volumes"] == [f"keys:{command[command.index('--dir') + 1]}"]


def test_keys_are_off_while_the_proxy_is_local() -> None:
    environment = SERVICES["proxy"]["environment"]
    assert resolved(environment["PROXY_KEYS"]) == "off"
    assert proxy.settings.ProxySettings(host=environment["PROXY_HOST"]).keys_on, "were the port published to others"


def test_images_and_paths_are_portable() -> None:
    """No registry host, no path of a machine: names, and folders of the project."""
    for service in SERVICES.values():
        assert "/" not in service["image"]
        for volume in service.get("volumes", []):
            assert volume.split(":")[0] in COMPOSE["volumes"]
        if "build" in service:
            assert service["build"]["context"] == "."
            assert Path(service["build"]["dockerfile"]).is_file()
            assert resolved(service["build"]["additional_contexts"]["wheels"]) == "./requirements"


def test_own_images_are_built_once_and_never_pulled() -> None:
    """Two services that build one name leave a nameless image behind; one that builds nothing must not look elsewhere."""
    built = [service["image"] for service in SERVICES.values() if "build" in service]
    assert sorted(built) == ["pairway-apiserver:cpu", "pairway-proxy"]
    for name, service in SERVICES.items():
        takes_anothers = service["image"] in built and "build" not in service
        assert service.get("pull_policy") == ("never" if takes_anothers else None), name


def test_gpu_override_builds_the_same_images() -> None:
    built = {name for name, service in GPU["services"].items() if "build" in service}
    assert built == {name for name in API_SERVERS if "build" in SERVICES[name]}
    assert {service["image"] for service in GPU["services"].values()} == {"pairway-apiserver:cuda"}


def test_health_checks_ask_readiness_at_the_served_port() -> None:
    for name in ("proxy", *API_SERVERS):
        environment = SERVICES[name]["environment"]
        port = environment["PROXY_PORT" if name == "proxy" else "APISERVER_PORT"]
        command = SERVICES[name]["healthcheck"]["test"]
        assert command[:3] == ["CMD", "python", "-c"]
        assert f"'127.0.0.1', {port}" in command[3]
        assert "'/readyz'" in command[3]
        compile(command[3], "healthcheck", "exec")


def test_stop_grace_period_covers_the_drain() -> None:
    """Draining, the longest request and the end of an engine fit into the grace period."""
    for settings in (proxy.settings.ProxySettings.model_fields, apiserver.settings.ApiServerSettings.model_fields):
        longest = settings["drain_seconds"].default + settings["request_timeout"].default + STOP_SECONDS
        assert all(seconds(service["stop_grace_period"]) > longest for service in SERVICES.values())


def test_proxy_starts_after_redis_and_stops_first() -> None:
    conditions = {name: each["condition"] for name, each in SERVICES["proxy"]["depends_on"].items()}
    assert conditions == {"redis": "service_healthy", **dict.fromkeys(API_SERVERS, "service_started")}


def test_secrets_go_only_where_needed() -> None:
    assert SERVICES["proxy"]["environment"]["HF_TOKEN"] == ""
    assert SERVICES["proxy"]["environment"]["APISERVER_TOKEN"] == ""
    for name in API_SERVERS:
        environment = SERVICES[name]["environment"]
        assert environment["PROXY_REDIS_URL"] == ""
        assert environment["PROXY_OPERATOR_TOKEN"] == ""
        assert environment["PROXY_REPLICA_TOKEN"] == ""
        # Nobody else reaches their network.
        assert resolved(environment["APISERVER_OPEN"]) == "true"
        # None: passed on from the shell or .env.
        assert environment["HF_TOKEN"] is None
        assert environment["HF_HUB_OFFLINE"] is None


@pytest.mark.parametrize("prefix", SETTINGS)
def test_example_names_every_setting_with_its_default(prefix: str) -> None:
    documented = {name: value for name, value in DOCUMENTED.items() if name.startswith(prefix)}
    fields = SETTINGS[prefix].model_fields
    assert set(documented) == {f"{prefix}{field.upper()}" for field in fields}
    for name, field in fields.items():
        assert documented[f"{prefix}{name.upper()}"] == written(field.get_default())


@pytest.mark.parametrize("prefix", SETTINGS)
def test_example_repeats_each_setting_description(prefix: str) -> None:
    comments = {name: comment for comment, name, _ in ENTRIES}
    for name, field in SETTINGS[prefix].model_fields.items():
        assert f"# {field.description}\n" in comments[f"{prefix}{name.upper()}"]


@pytest.mark.parametrize("prefix", SETTINGS)
def test_example_values_are_valid_settings(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in DOCUMENTED.items():
        if name.startswith(prefix):
            monkeypatch.setenv(name, value)
    settings = SETTINGS[prefix]()
    assert {name: getattr(settings, name) for name in type(settings).model_fields} == {
        name: field.get_default() for name, field in type(settings).model_fields.items()
    }


def test_example_names_no_unknown_variable() -> None:
    others = {name for name in DOCUMENTED if not name.startswith((*SETTINGS, "PAIRWAY_"))}
    assert others == {"HF_TOKEN", "HF_HUB_OFFLINE", *ENVIRONMENT}
    assert {name: DOCUMENTED[name] for name in ENVIRONMENT} == ENVIRONMENT


def test_example_sets_nothing() -> None:
    assert [line for line in EXAMPLE.splitlines() if line and not line.startswith("#")] == []


def test_example_names_every_compose_variable() -> None:
    used = dict(VARIABLE.findall(Path("docker-compose.yml").read_text()))
    used_by_gpu = dict(VARIABLE.findall(Path("deploy/compose.gpu.yml").read_text()))
    documented = {name: value for name, value in DOCUMENTED.items() if name.startswith("PAIRWAY_")}
    own = {name: value for name, value in used.items() if name.startswith("PAIRWAY_")}
    only_gpu = {"PAIRWAY_DE_GPU": "0", "PAIRWAY_FR_GPU": "1"}
    assert documented == own | only_gpu
    assert {name for name in used_by_gpu if name.startswith("PAIRWAY_")} <= set(documented)


@pytest.mark.parametrize("name", DOCKERFILES)
def test_dockerfiles_need_no_registry_and_no_host(name: str) -> None:
    text = DOCKERFILES[name]
    instructions = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", instructions, re.MULTILINE)) <= BASES
    assert "syntax=" not in text
    assert "://" not in text
    assert "@sha256" not in text
    assert re.findall(r"^USER (\S+)", instructions, re.MULTILINE) == ["10001:10001"]
    assert not re.search(r"^ADD ", instructions, re.MULTILINE)


@pytest.mark.parametrize("name", DOCKERFILES)
def test_code_changes_do_not_reinstall_packages(name: str) -> None:
    """Packages are installed in a stage that sees the locks and their installer, and none of the servers' code."""
    stages = re.split(r"^FROM ", DOCKERFILES[name], flags=re.MULTILINE)
    installing = [stage for stage in stages if "pip install" in stage]
    assert len(installing) == 1
    sources = [
        source for line in re.findall(r"^COPY (.*)$", installing[0], re.MULTILINE) for source in line.split()[:-1]
    ]
    assert sources
    assert all(
        re.fullmatch(r"requirements/[a-z-]+\.txt|deploy/(__init__|environment|lockfiles)\.py", each) for each in sources
    )


@pytest.mark.parametrize("name", DOCKERFILES)
def test_copied_paths_exist_and_are_not_ignored(name: str) -> None:
    wanted = [line.removeprefix("!") for line in Path(".dockerignore").read_text().splitlines() if line.startswith("!")]
    for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILES[name], re.MULTILINE):
        for source in line.split()[:-1]:
            assert Path(source).exists()
            assert any(source == each or fnmatch.fnmatch(source, f"{each}/*") for each in wanted), source


def test_proxy_image_has_no_model_server() -> None:
    copied = re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILES["proxy"], re.MULTILINE)
    assert not [line for line in copied if "apiserver" in line or "models" in line or "torch" in line]
    assert re.findall(r"-r (\S+)", DOCKERFILES["proxy"]) == ["requirements/proxy.txt"]


def test_gpu_override_pins_one_gpu_per_api_server() -> None:
    pinned: list[str] = []
    for name in API_SERVERS:
        service = GPU["services"][name]
        assert service.get("build") in (None, {"args": {"BUILD": "cuda"}})
        (device,) = service["deploy"]["resources"]["reservations"]["devices"]
        assert device["driver"] == "nvidia"
        assert device["capabilities"] == ["gpu"]
        pinned += map(resolved, device["device_ids"])
        catalog = Path(resolved(service["environment"]["APISERVER_CATALOG"]))
        assert catalog in GPU_CATALOGS
        assert len(load(catalog)) == 1, "one engine per GPU"
    assert len(set(pinned)) == len(pinned)
    assert set(GPU["services"]) == set(API_SERVERS)


@pytest.mark.parametrize("catalog", GPU_CATALOGS, ids=str)
def test_gpu_catalogs_match_their_model_cards(catalog: Path) -> None:
    (entry,) = load(catalog)
    assert entry.prompt == "hy-mt2"
    sampling = entry.sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k, sampling.repetition_penalty) == (0.7, 0.6, 20, 1.05)
    assert len(entry.all_pairs) == 12 * 11


@pytest.mark.parametrize("catalog", GPU_CATALOGS, ids=str)
def test_gpu_catalogs_can_be_widened_as_documented(catalog: Path, tmp_path: Path) -> None:
    """All 38 languages with the canaries that stand ready as comments make 1,406 pairs."""
    text = catalog.read_text()
    (further,) = re.findall(r"^    # (cs, .*)$", text, re.MULTILINE)
    widened = text.replace("zh-Hant]", f"zh-Hant, {further}]")
    widened = re.sub(r"^      # ([a-z]{2,3}: [^a-z].*|[a-z]{2,3}: .*[?])$", r"      \1", widened, flags=re.MULTILINE)
    path = tmp_path / catalog.name
    path.write_text(widened)
    (entry,) = load(path)
    assert len(entry.all_pairs) == 38 * 37
    assert len({entry.canary(pair) for pair in entry.all_pairs}) == 38


def written(default: object) -> str:
    """Return a default as one writes it into the environment."""
    match default:
        case SecretStr():
            return default.get_secret_value()
        case tuple():
            return ",".join(map(str, default))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        case bool():
            return str(default).lower()
        case float():
            return f"{default:g}"
        case _:
            return str(default)
