# The proxy, without torch, vLLM and weights, built by `docker compose build` or by hand, on the image in deploy/images.yml:
#   docker build -f deploy/proxy.Dockerfile --build-arg PYTHON_IMAGE=… -t pairway-proxy .
#
# Without access to PyPI: --build-context wheels=FOLDER (compose: PAIRWAY_WHEELS), a folder with wheels and a pip.conf.
# Only packages installed from it stay in the image; each must have one of its hashes in the lock.
ARG PYTHON_IMAGE
FROM scratch AS wheels

FROM $PYTHON_IMAGE AS environment
WORKDIR /build
COPY deploy/__init__.py deploy/client_command.py deploy/lockfiles.py deploy/
COPY requirements/pip.txt requirements/proxy.txt requirements/
RUN --mount=type=bind,from=wheels,target=/wheels \
    --mount=type=cache,target=/root/.cache/pip \
    export PIP_CONFIG_FILE=/wheels/pip.conf; \
    python -m venv /venv \
    && /venv/bin/pip install --require-hashes --find-links /wheels -r requirements/pip.txt \
    && /venv/bin/pip install --require-hashes --no-deps --find-links /wheels -r requirements/proxy.txt \
    && /venv/bin/python -m deploy.lockfiles requirements/proxy.txt \
    && /venv/bin/python deploy/client_command.py /app/client

FROM $PYTHON_IMAGE
RUN useradd --uid 10001 --user-group --home-dir /nonexistent --shell /usr/sbin/nologin pairway
COPY --from=environment /venv /venv
WORKDIR /app
COPY shared shared
COPY client/pairway client/pairway
COPY proxy proxy
COPY web web
COPY docs/operations docs/operations
# For the check of all settings, without the rest of the API server (docker compose run --rm check).
COPY apiserver/__init__.py apiserver/settings.py apiserver/
COPY deploy/__init__.py deploy/
COPY deploy/rollout/__init__.py deploy/rollout/settings_check.py deploy/rollout/
COPY .env.example ./
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PROXY_HOST=0.0.0.0
USER 10001:10001
EXPOSE 8000
CMD ["python", "-m", "proxy"]
