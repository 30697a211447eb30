"""What docker compose is given, read without Docker: closed by default, bounded, of one mind with the settings."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
from configparser import ConfigParser
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

import apiserver.settings
import proxy.settings
from apiserver.catalog.loader import load
from apiserver.engine.preloaded import ENVIRONMENT
from apiserver.engine.vllm_engine import STOP_SECONDS
from shared.version import VERSION
from tests.support.processes import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load(Path("docker-compose.yml").read_text())
GPU: dict[str, Any] = yaml.safe_load(Path("deploy/compose.gpu.yml").read_text())
IMAGES: dict[str, Any] = yaml.safe_load(Path("deploy/images.yml").read_text())["services"]
# Name, version with at least two dots, and what `make pin-images` adds.
IMAGE = re.compile(r"([a-z]+/)?[a-z]+:v?\d+\.\d+\.\d+[a-z-]*(@sha256:[0-9a-f]{64})?")


def extended(service: dict[str, Any]) -> dict[str, Any]:
    """Return a service as compose merges it with the one that it extends."""
    if "extends" not in service:
        return service
    assert service["extends"]["file"] == "deploy/images.yml"
    base = IMAGES[service["extends"]["service"]]
    build = {**service.get("build", {})}
    if "build" in base:
        build["args"] = base["build"]["args"] | build.get("args", {})
    return base | service | ({"build": build} if build else {})


SERVICES: dict[str, dict[str, Any]] = {name: extended(service) for name, service in COMPOSE["services"].items()}
API_SERVERS = ("apiserver-de", "apiserver-fr")
MONITORING = ("prometheus", "alertmanager", "grafana")
DOCKERFILES = {name: Path(f"deploy/{name}.Dockerfile").read_text() for name in ("proxy", "apiserver")}
BASES = {"$PYTHON_IMAGE", "scratch", "base"}
EXAMPLE = Path(".env.example").read_text()
# One commented assignment with its comment above.
ENTRIES = re.findall(r"((?:^# .*\n)*)(?:^#[A-Z].*\n)*?^#([A-Z][A-Z0-9_]*)=(.*)$", EXAMPLE, re.MULTILINE)
DOCUMENTED: dict[str, str] = {name: value for _, name, value in ENTRIES}
# The innermost one: values may be nested.
VARIABLE = re.compile(r"\$\{([A-Z_]+)(:?[-+])([^${}]*)\}")
SETTINGS = {"PROXY_": proxy.settings.ProxySettings, "APISERVER_": apiserver.settings.ApiServerSettings}
DOWNLOADS = {"HF_TOKEN", "HF_HUB_OFFLINE", "HF_ENDPOINT", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}
GPU_CATALOGS = sorted(Path("deploy/models").glob("hy-mt2-*.yaml"))


def resolved(value: object, **environ: str) -> str:
    """Return a compose value as it is with these variables; the innermost parts first."""
    text = str(value)
    while found := VARIABLE.search(text):
        name, operator, other = found.groups()
        current = environ.get(name)
        is_set = bool(current) if operator.startswith(":") else current is not None
        part = (other if is_set else "") if operator.endswith("+") else (current if is_set else other)
        text = text[: found.start()] + str(part) + text[found.end() :]
    return text


def variables(text: str) -> dict[str, str]:
    """Return each variable of a compose file with its default; of two, the first is not empty."""
    defaults: dict[str, str] = {}
    while found := VARIABLE.search(text):
        name, operator, other = found.groups()
        if operator.endswith("-"):
            defaults[name] = defaults.get(name) or other
        text = text[: found.start()] + (other if operator.endswith("-") else "") + text[found.end() :]
    return defaults


def seconds(value: str) -> float:
    number, unit = re.fullmatch(r"(\d+)(s|m)", resolved(value)).groups()  # pyright: ignore[reportOptionalMemberAccess]
    return int(number) * {"s": 1, "m": 60}[unit]


def test_services_are_the_fleet() -> None:
    assert set(SERVICES) == {"redis", "proxy", *API_SERVERS, "edge", "check", *MONITORING}
    assert {name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service} == {
        "edge": ["edge"],
        "check": ["check"],
    } | {name: ["monitoring"] for name in MONITORING}
    replicas = resolved(SERVICES["proxy"]["environment"]["PROXY_REPLICAS"])
    assert replicas == ",".join(f"http://{name}:8001" for name in API_SERVERS)


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_restricted(name: str) -> None:
    service = SERVICES[name]
    assert service["restart"] == ("no" if name == "check" else "unless-stopped")
    assert service["init"] is True
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert int(service["user"].split(":")[0]) > 0
    assert {"max-size", "max-file"} <= set(service["logging"]["options"])
    assert not {"privileged", "pid", "devices", "cap_add", "container_name"} & set(service)
    assert service.get("network_mode") == ("none" if name == "check" else None)


@pytest.mark.parametrize("name", [each for each in SERVICES if each != "check"])
def test_every_server_is_limited_and_checked(name: str) -> None:
    service = SERVICES[name]
    assert {"test", "interval", "timeout", "retries", "start_period"} <= set(service["healthcheck"])
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}


def test_ports_are_published_on_loopback_by_default() -> None:
    published = {name: list(map(resolved, each["ports"])) for name, each in SERVICES.items() if "ports" in each}
    assert published == {
        "proxy": ["127.0.0.1:8000:8000"],
        "edge": ["127.0.0.1:8080:8080"],
        "prometheus": ["127.0.0.1:9090:9090"],
        "alertmanager": ["127.0.0.1:9093:9093"],
        "grafana": ["127.0.0.1:3000:3000"],
    }


def test_monitoring_is_published_on_loopback_alone() -> None:
    for name in MONITORING:
        (port,) = SERVICES[name]["ports"]
        assert port.startswith("127.0.0.1:"), "no setting publishes it elsewhere: it has no password"


def test_prometheus_reaches_all_servers_and_its_tokens_alone() -> None:
    service = SERVICES["prometheus"]
    assert service["environment"].keys() == {"PROXY_OBSERVER_TOKEN", "APISERVER_TOKEN"}
    assert service["networks"] == ["engines", "monitoring"]
    assert SERVICES["alertmanager"]["networks"] == ["monitoring"]
    assert all("engines" in SERVICES[name]["networks"] for name in ("proxy", *API_SERVERS))
    jobs = yaml.safe_load(Path("deploy/monitoring/prometheus.yml").read_text())["scrape_configs"]
    asked = {name: each["port"] for job in jobs for each in job["dns_sd_configs"] for name in each["names"]}
    assert asked == {"proxy": 8000, **dict.fromkeys(API_SERVERS, 8001)}


def test_grafana_has_no_user_and_reaches_prometheus_alone() -> None:
    service = SERVICES["grafana"]
    folder = Path(service["volumes"][0]["source"])
    inside = {name: folder / Path(path).relative_to("/etc/pairway") for name, path in service["environment"].items()}
    config = ConfigParser()
    config.read(inside["GF_PATHS_CONFIG"])
    assert config.getboolean("security", "disable_initial_admin_creation")
    assert config.getboolean("auth", "disable_login_form")
    assert not config.getboolean("auth.basic", "enabled")
    assert config.get("auth.anonymous", "org_role") == "Viewer"
    assert service["networks"] == ["monitoring"]
    (source,) = yaml.safe_load((inside["GF_PATHS_PROVISIONING"] / "datasources/prometheus.yml").read_text())[
        "datasources"
    ]
    assert source["url"] == "http://prometheus:9090"
    assert "monitoring" in SERVICES["prometheus"]["networks"]


def test_proxies_behind_the_edge_have_ports_of_their_own() -> None:
    (port,) = SERVICES["proxy"]["ports"]
    assert resolved(port, COMPOSE_PROFILES="edge") == "127.0.0.1:8000-8019:8000"
    assert resolved(port, PAIRWAY_PORT="9000") == "127.0.0.1:9000:8000", "as in old .env files"
    assert resolved(port, PAIRWAY_PORT="9000-9001", COMPOSE_PROFILES="edge") == "127.0.0.1:9000-9001:8000"


def test_proxies_believe_the_edge_and_nobody_else() -> None:
    """The edge has a fixed address outside the range from which the others get theirs."""
    given = SERVICES["proxy"]["environment"]["PROXY_TRUSTED_PROXIES"]
    (network,) = COMPOSE["networks"]["edge"]["ipam"]["config"]
    edge = resolved(SERVICES["edge"]["networks"]["edge"]["ipv4_address"])
    assert proxy.settings.ProxySettings(trusted_proxies=resolved(given)).trusted_proxies == (edge,)  # pyright: ignore[reportArgumentType]
    assert resolved(given, PROXY_TRUSTED_PROXIES="10.0.0.7") == f"10.0.0.7,{edge}"
    assert ip_address(edge) in ip_network(resolved(network["subnet"]))
    assert ip_address(edge) not in ip_network(resolved(network["ip_range"]))


def test_only_the_edge_and_proxies_share_its_network() -> None:
    members = {name for name, service in SERVICES.items() if "edge" in service.get("networks", ())}
    assert members == {"edge", "proxy"}
    assert list(SERVICES["edge"]["networks"]) == ["edge"]


def test_keys_switch_on_without_a_restart_of_a_local_edge() -> None:
    given = SERVICES["edge"]["environment"]["PROXY_KEYS"]
    assert resolved(given) == resolved(given, PROXY_KEYS="on") == ""
    assert resolved(given, PAIRWAY_EDGE_ADDRESS="0.0.0.0") == "off"
    assert resolved(given, PAIRWAY_EDGE_ADDRESS="0.0.0.0", PROXY_KEYS="on") == "on"


def test_scale_is_a_setting() -> None:
    scales = {
        name: each["deploy"]["replicas"] for name, each in SERVICES.items() if "replicas" in each.get("deploy", {})
    }
    assert scales == {
        "proxy": "${PAIRWAY_PROXIES:-1}",
        "apiserver-de": "${PAIRWAY_DE_REPLICAS:-1}",
        "apiserver-fr": "${PAIRWAY_FR_REPLICAS:-1}",
    }


@pytest.mark.parametrize("name", API_SERVERS)
def test_each_api_server_can_have_its_own_catalog(name: str) -> None:
    given = SERVICES[name]["environment"]["APISERVER_CATALOG"]
    own = f"PAIRWAY_{name[-2:].upper()}_CATALOG"
    assert resolved(given) == "deploy/models/demo.yaml"
    assert resolved(given, APISERVER_CATALOG="/models/all.yaml") == "/models/all.yaml"
    assert resolved(given, APISERVER_CATALOG="/models/all.yaml", **{own: "/models/mine.yaml"}) == "/models/mine.yaml"
    gpu = GPU["services"][name]["environment"]["APISERVER_CATALOG"]
    assert resolved(gpu, **{own: "/models/mine.yaml"}) == "/models/mine.yaml"


def test_only_proxies_reach_redis() -> None:
    assert COMPOSE["networks"]["registry"]["internal"] is True
    assert {name for name, each in SERVICES.items() if "registry" in each.get("networks", ())} == {"redis", "proxy"}
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
        host, slash, _ = service["image"].partition("/")
        assert not slash or host in {"prom", "grafana"}
        for volume in service.get("volumes", []):
            if isinstance(volume, str):
                assert volume.split(":")[0] in COMPOSE["volumes"]
            else:
                assert volume["read_only"] is True
                assert Path(resolved(volume["source"])).is_dir()
        if "build" in service:
            assert service["build"]["context"] == "."
            assert Path(service["build"]["dockerfile"]).is_file()
            assert resolved(service["build"]["additional_contexts"]["wheels"]) == "./requirements"


def test_foreign_images_have_exact_tags_in_one_file() -> None:
    assert {name: list(each) for name, each in IMAGES.items()} == {
        "python": ["build"],
        "redis": ["image"],
        "edge": ["image"],
        "prometheus": ["image"],
        "alertmanager": ["image"],
        "grafana": ["image"],
    }
    python = IMAGES["python"]["build"]["args"]["PYTHON_IMAGE"]
    assert python.startswith("python:3.11.")
    for image in (python, *(IMAGES[name]["image"] for name in ("redis", "edge", *MONITORING))):
        assert IMAGE.fullmatch(image)
    own = {name for name, each in COMPOSE["services"].items() if "image" in each}
    assert own == {"proxy", *API_SERVERS, "check"}
    assert {name for name, each in SERVICES.items() if "PYTHON_IMAGE" in each.get("build", {}).get("args", {})} == {
        "proxy",
        "apiserver-de",
    }


@pytest.mark.parametrize("answer", ["sha256:" + "a1" * 32, "", "not a digest"])
def test_digests_are_written_where_a_registry_answers(tmp_path: Path, answer: str) -> None:
    """All of them or none; a second time too."""
    (tmp_path / "deploy").mkdir()
    copy = Path(shutil.copy("deploy/images.yml", tmp_path / "deploy"))
    before = re.sub("@sha256:.*", "", copy.read_text())
    docker = tmp_path / "docker"
    docker.write_text(f"#!/bin/sh\ntest '{answer}' && echo '{answer}'\n")
    docker.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = ["make", "--no-print-directory", "-f", str(ROOT / "Makefile"), "pin-images"]
    for _ in range(2):
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        if answer.startswith("sha256:"):
            assert done.returncode == 0
            assert re.sub("@sha256:.*", "", copy.read_text()) == before
            assert copy.read_text().count(f"@{answer}\n") == len(IMAGES)
        else:
            assert done.returncode != 0
            assert "no registry answers for python:3.11." in done.stderr
            assert copy.read_text() == before
        assert list(copy.parent.iterdir()) == [copy]


def test_own_images_are_built_once_and_never_pulled() -> None:
    """Two services that build one name leave a nameless image behind; one that builds nothing must not look elsewhere."""
    built = [service["image"] for service in SERVICES.values() if "build" in service]
    assert sorted(map(resolved, built)) == [f"pairway-apiserver:{VERSION}-cpu", f"pairway-proxy:{VERSION}"]
    assert resolved(SERVICES["proxy"]["image"], PAIRWAY_VERSION="0.0.9") == "pairway-proxy:0.0.9"
    for name, service in SERVICES.items():
        takes_anothers = service["image"] in built and "build" not in service
        assert service.get("pull_policy") == ("never" if takes_anothers else None), name


def test_gpu_override_builds_the_same_images() -> None:
    built = {name for name, service in GPU["services"].items() if "build" in service}
    assert built == {name for name in API_SERVERS if "build" in SERVICES[name]}
    images = {resolved(service["image"]) for service in GPU["services"].values()}
    assert images == {f"pairway-apiserver:{VERSION}-cuda"}


def test_health_checks_ask_start_and_readiness() -> None:
    for name in ("proxy", *API_SERVERS):
        environment = SERVICES[name]["environment"]
        port = environment["PROXY_PORT" if name == "proxy" else "APISERVER_PORT"]
        command = SERVICES[name]["healthcheck"]["test"]
        assert command[:3] == ["CMD", "python", "-c"]
        assert f"'127.0.0.1', {port}" in command[3]
        assert "('/startupz', '/readyz')" in command[3]
        compile(command[3], "healthcheck", "exec")


def test_stop_grace_period_covers_the_drain() -> None:
    """Draining, the longest request and the end of an engine fit into the grace period."""
    for settings in (proxy.settings.ProxySettings.model_fields, apiserver.settings.ApiServerSettings.model_fields):
        longest = settings["drain_seconds"].default + settings["max_request_timeout"].default + STOP_SECONDS
        assert all(seconds(service["stop_grace_period"]) > longest for service in SERVICES.values())


def test_edge_and_proxy_stop_first_and_wait_for_nobody() -> None:
    conditions = {name: each["condition"] for name, each in SERVICES["proxy"]["depends_on"].items()}
    assert conditions == dict.fromkeys(("redis", *API_SERVERS), "service_started")
    assert SERVICES["edge"]["depends_on"] == {"proxy": {"condition": "service_started"}}
    assert SERVICES["edge"]["stop_signal"] == "SIGQUIT", "nginx finishes what it has accepted"


def test_settings_reach_only_their_service() -> None:
    """All of them, by name: one that is missing here would never reach its server."""
    names = {prefix: {f"{prefix}{each.upper()}" for each in kind.model_fields} for prefix, kind in SETTINGS.items()}
    assert SERVICES["proxy"]["environment"].keys() == names["PROXY_"], "x-proxy-environment in docker-compose.yml"
    for name in API_SERVERS:
        environment = SERVICES[name]["environment"]
        known = names["APISERVER_"] | DOWNLOADS | ENVIRONMENT.keys()
        assert environment.keys() == known, "x-apiserver-environment in docker-compose.yml"
        # Nobody else reaches their network.
        assert resolved(environment["APISERVER_OPEN"]) == "true"
    assert not [name for name, service in SERVICES.items() if "env_file" in service and name != "check"]


def test_api_servers_say_that_compose_runs_them() -> None:
    for name in API_SERVERS:
        runs_by = SERVICES[name]["environment"]["APISERVER_RUNS_BY"]
        assert apiserver.settings.ApiServerSettings(runs_by=runs_by).runs_by == f"compose:{name}"


def test_settings_without_a_value_are_passed_on() -> None:
    fixed = {"HOST", "PORT", "REPLICAS", "REDIS_URL", "KEYS", "TRUSTED_PROXIES", "OPEN", "CATALOG", "MODELS", "RUNS_BY"}
    for name in ("proxy", *API_SERVERS):
        given = {each for each, value in SERVICES[name]["environment"].items() if value is not None}
        assert {each.partition("_")[2] for each in given} <= fixed


def test_check_gets_every_setting() -> None:
    check = SERVICES["check"]
    servers = SERVICES["proxy"]["environment"] | COMPOSE["x-apiserver-environment"]
    own = {name for name in DOCUMENTED if name.startswith("PAIRWAY_")}
    assert check["environment"] == servers | dict.fromkeys({*own, "COMPOSE_PROFILES", "COMPOSE_ENV_FILES"})
    assert check["env_file"] == [{"path": "${COMPOSE_ENV_FILES:-.env}", "required": False}]
    assert check["image"] == SERVICES["proxy"]["image"]
    assert not [name for name, each in SERVICES.items() if "check" in each.get("depends_on", ())]


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
    assert others == DOWNLOADS | ENVIRONMENT.keys()
    assert {name: DOCUMENTED[name] for name in ENVIRONMENT} == ENVIRONMENT


def test_example_sets_nothing() -> None:
    assert [line for line in EXAMPLE.splitlines() if line and not line.startswith("#")] == []


def test_example_names_every_compose_variable() -> None:
    used, used_by_gpu = (variables(Path(name).read_text()) for name in ("docker-compose.yml", "deploy/compose.gpu.yml"))
    documented = {name: value for name, value in DOCUMENTED.items() if name.startswith("PAIRWAY_")}
    own = {name: value for name, value in used.items() if name.startswith("PAIRWAY_")}
    only_gpu = {"PAIRWAY_DE_GPU": "0", "PAIRWAY_FR_GPU": "1"}
    # Empty means another setting, or none.
    empty = dict.fromkeys(
        ("PAIRWAY_DE_CATALOG", "PAIRWAY_FR_CATALOG", "PAIRWAY_EDGE_BALANCERS", "PAIRWAY_EDGE_CERTIFICATES"), ""
    )
    assert documented == own | only_gpu | empty
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
def test_images_install_with_hashes(name: str) -> None:
    """pip itself too."""
    text = (
        DOCKERFILES[name]
        .replace("\\\n", " ")
        .replace('"$@"', "".join(re.findall(r"set -- (--.*?);", DOCKERFILES[name])))
    )
    installed = re.findall(r"pip install ([^&|]*)", text)
    assert len(installed) >= 2
    assert all("--require-hashes" in each and "-r " in each for each in installed), installed


@pytest.mark.parametrize("name", API_SERVERS)
def test_api_servers_share_no_compiled_code(name: str) -> None:
    """What they compile and run is in memory of the container's own, with a size; weights may be shared."""
    environment = dict(re.findall(r"^(?:ENV|   ) ([A-Z_]+)=(\S+)", DOCKERFILES["apiserver"], re.MULTILINE))
    of_code = {"HOME", "VLLM_CACHE_ROOT", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "HF_MODULES_CACHE"}
    assert {each for each, value in environment.items() if f"{value}/".startswith("/compiled/")} == of_code
    assert {each for each, value in environment.items() if f"{value}/".startswith("/cache/")} == {"HF_HOME"}
    (options,) = [each for each in SERVICES[name]["tmpfs"] if each.startswith("/compiled:")]
    assert resolved(options) == "/compiled:exec,mode=0700,uid=10001,gid=10001,size=1g"
    assert [each for each in SERVICES[name]["volumes"] if isinstance(each, str)] == ["cache:/cache"]
    assert "mkdir /cache /compiled && chown 10001:10001 /cache /compiled" in DOCKERFILES["apiserver"]


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
        re.fullmatch(r"requirements/[a-z-]+\.txt|deploy/(__init__|client_command|lockfiles)\.py", each)
        for each in sources
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
    assert not [line for line in copied if "models" in line or "torch" in line]
    # Its settings are checked there.
    needed = ["apiserver/__init__.py apiserver/settings.py apiserver/"]
    assert [line for line in copied if "apiserver" in line] == needed
    assert re.findall(r"-r (\S+)", DOCKERFILES["proxy"]) == ["requirements/pip.txt", "requirements/proxy.txt"]


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
