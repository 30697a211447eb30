"""The proxy's apps: routes, handlers, and what they start."""

from __future__ import annotations

import asyncio
import logging
import socket
import uuid
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from fastapi import FastAPI

from proxy.api import detect, fleet, glossaries, health, keys, pages, translate
from proxy.api.compat import mounts
from proxy.context_builder import build_context
from proxy.fleet.discovery import Resolver, system_resolver
from proxy.fleet.prober import FIRST_SWEEP_SECONDS
from proxy.settings import ProxySettings
from shared.http.app_setup import configure_app
from shared.http.origin_policy import OriginPolicy
from shared.ip_addresses import is_loopback
from shared.runtime import gc_tuning
from shared.runtime.background import running
from shared.version import VERSION

log = logging.getLogger(__name__)

# Routes for operators only, on the operators' port if one is set.
OPERATOR_ROUTES = (fleet.routes, keys.usage_routes, keys.routes)
# What a refused web page is told, at either port.
CLIENT_ORIGINS = "PROXY_CORS_ORIGINS names the origins that may"
CLIENT_HOSTS = ", set PROXY_KEYS=on, or name the web server in front in PROXY_TRUSTED_PROXIES"
OPERATOR_ORIGINS = "the port for operators (PROXY_OPERATOR_PORT) serves its own pages alone"
# Pages that only show something, which a link of another site may open.
PAGES = ("/", "/status", "/health", "/languages", "/fleet")
OPERATOR_PATHS = ("/fleet", "/keys")
# Polled by dashboards.
QUIET_PATHS = ("/health", "/status/data")
# Headers of answers that pages of other origins may read.
EXPOSED_HEADERS = (
    "X-Cache",
    "X-Pairway-Ignored",
    "X-Pairway-Warnings",
    "X-Trace-ID",
    "RateLimit",
    "RateLimit-Policy",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
)


def create_app(settings: ProxySettings, resolver: Resolver = system_resolver) -> FastAPI:
    """Build the app; it serves after the first sweep or ``FIRST_SWEEP_SECONDS``."""
    draining = asyncio.Event()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            owner = f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}"
            app.state.context = context = await build_context(settings, owner, resolver, draining, stack)
            await context.fleet.lease.renew()
            await context.fleet.registry.restore()
            await context.keys.authenticator.warn(published=settings.published_without_keys)
            stack.enter_context(gc_tuning.rare_collections(freezes=True))
            log.info("proxy up", extra={"proxy": owner, "replicas": settings.replicas})
            await stack.enter_async_context(running(*context.process.loops))
            await stack.enter_async_context(context.translation.coalescer.closing())
            with suppress(TimeoutError):
                await asyncio.wait_for(context.fleet.registry.swept.wait(), FIRST_SWEEP_SECONDS)
            yield

    app = FastAPI(
        title="Pairway",
        version=VERSION,
        lifespan=lifespan,
        root_path=settings.root_path,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    app.state.draining = draining
    app.state.page_config = pages.page_config(settings) if settings.pages else None
    app.state.operator_origins = _operator_origins(settings)
    apis = mounts.select(settings.compat)
    serve_translate = mounts.translate_handler(apis)
    fast_handlers = {"/translate": serve_translate, **mounts.fast_handlers(apis)}
    configure_app(app, _client_origins(settings), fast_handlers, mounts.find_renderer(apis), QUIET_PATHS)
    for routes in (
        translate.create_routes(serve_translate),
        detect.routes,
        glossaries.routes,
        health.routes,
        *(() if settings.operator_port else OPERATOR_ROUTES),
    ):
        app.include_router(routes)
    mounts.add_routes(app, apis)
    if settings.pages:
        own = (pages.TRANSLATE_PAGE,) if settings.operator_port else (pages.TRANSLATE_PAGE, pages.STATUS_PAGE)
        pages.add_pages(app, pages.page_config(settings), *own)
    return app


def _client_origins(settings: ProxySettings) -> OriginPolicy:
    return OriginPolicy(
        settings.cors_origins,
        private_hosts_only=settings.serves_this_machine,
        rule=CLIENT_ORIGINS,
        host_rule=CLIENT_HOSTS,
        pages=PAGES,
        operator_paths=OPERATOR_PATHS,
        exposed_headers=EXPOSED_HEADERS,
    )


def _operator_origins(settings: ProxySettings) -> OriginPolicy:
    return OriginPolicy(
        (),
        private_hosts_only=not settings.keys_on and is_loopback(settings.operator_host),
        rule=OPERATOR_ORIGINS,
        host_rule=CLIENT_HOSTS,
        pages=PAGES,
    )


def create_operator_app(main: FastAPI) -> FastAPI:
    """Build the app of the operators' port, with the main app's context."""
    app = FastAPI(title="Pairway for operators", version=VERSION, redirect_slashes=False, docs_url=None, redoc_url=None)
    configure_app(app, main.state.operator_origins, quiet_paths=QUIET_PATHS)
    app.state = main.state
    for routes in OPERATOR_ROUTES:
        app.include_router(routes)
    if main.state.page_config is not None:
        pages.add_pages(app, main.state.page_config, pages.STATUS_PAGE)
    return app
