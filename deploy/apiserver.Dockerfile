# An API server with vLLM, built by `docker compose build` or by hand, on the image in deploy/images.yml:
#   docker build -f deploy/apiserver.Dockerfile --build-arg BUILD=cpu --build-arg PYTHON_IMAGE=… -t pairway-apiserver .
# BUILD=cuda is for NVIDIA GPUs, and not tested, because no GPU was available.
#
# Without access to PyPI, PyTorch's index or Debian's mirror: --build-context wheels=FOLDER (compose: PAIRWAY_WHEELS), a
# folder with wheels, a pip.conf and Debian packages (libnuma1). Only packages installed from it stay in the image; each
# wheel must have one of its hashes in the lock.
ARG PYTHON_IMAGE
FROM scratch AS wheels

FROM $PYTHON_IMAGE AS base
ARG BUILD=cpu
# vLLM's CPU kernels link to libnuma. On a GPU, Triton compiles small C programs while the server runs.
RUN --mount=type=bind,from=wheels,target=/wheels \
    case "$BUILD" in \
        cpu) packages="libnuma1" ;; \
        cuda) packages="gcc g++ libc6-dev libnuma1" ;; \
        *) echo "BUILD is cpu or cuda, not '$BUILD'" >&2; exit 1 ;; \
    esac; \
    if ls /wheels/*.deb >/dev/null 2>&1; then \
        for package in /wheels/*.deb; do dpkg-deb -x "$package" / || exit 1; done; \
    else \
        apt-get update && apt-get install --yes --no-install-recommends $packages || exit 1; \
        rm -rf /var/lib/apt/lists/*; \
    fi; \
    ldconfig
# A user id that hosts rarely use. Its home is for all files that vLLM and its libraries write, such as code that they
# compile and run: no other container may share it. Weights are in /cache.
RUN useradd --uid 10001 --user-group --home-dir /compiled --shell /usr/sbin/nologin pairway \
    && mkdir /cache /compiled && chown 10001:10001 /cache /compiled

FROM base AS environment
WORKDIR /build
COPY deploy/__init__.py deploy/client_command.py deploy/lockfiles.py deploy/
COPY requirements/pip.txt requirements/
RUN --mount=type=bind,from=wheels,target=/wheels \
    --mount=type=cache,target=/root/.cache/pip \
    python -m venv /venv \
    && PIP_CONFIG_FILE=/wheels/pip.conf /venv/bin/pip install --require-hashes --find-links /wheels \
        -r requirements/pip.txt
# torch+cpu is not on PyPI: pip's own configuration is tried first, then the index in deploy/lockfiles.py.
COPY requirements/torch-cpu.txt requirements/
RUN --mount=type=bind,from=wheels,target=/wheels \
    --mount=type=cache,target=/root/.cache/pip \
    if [ "$BUILD" = cpu ]; then \
        export PIP_CONFIG_FILE=/wheels/pip.conf; \
        set -- --require-hashes --no-deps --find-links /wheels -r requirements/torch-cpu.txt; \
        /venv/bin/pip install "$@" || /venv/bin/pip install "$@" \
            --index-url "$(python -c 'from deploy.lockfiles import TORCH_CPU_INDEX; print(TORCH_CPU_INDEX)')"; \
    fi
# --no-deps: the lock has all dependencies, except those in requirements/excluded.txt.
COPY requirements/apiserver-cpu.txt requirements/apiserver-cuda.txt requirements/excluded.txt requirements/
RUN --mount=type=bind,from=wheels,target=/wheels \
    --mount=type=cache,target=/root/.cache/pip \
    PIP_CONFIG_FILE=/wheels/pip.conf /venv/bin/pip install --require-hashes --no-deps \
        --find-links /wheels -r "requirements/apiserver-$BUILD.txt" \
    && if [ "$BUILD" = cpu ]; then set -- requirements/torch-cpu.txt; else set --; fi \
    && /venv/bin/python -m deploy.lockfiles "$@" "requirements/apiserver-$BUILD.txt" \
    && /venv/bin/python deploy/client_command.py /app/client

FROM base
COPY --from=environment /venv /venv
WORKDIR /app
# The card has the attribution that the weights' licence asks for.
COPY models/CARD.md models/CARD.md
COPY models/en-de models/en-de
COPY models/en-fr models/en-fr
COPY models/en-es models/en-es
COPY deploy/models deploy/models
COPY shared shared
COPY client/pairway client/pairway
COPY apiserver apiserver
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HF_HOME=/cache/huggingface \
    HOME=/compiled \
    HF_MODULES_CACHE=/compiled/modules \
    VLLM_CACHE_ROOT=/compiled/vllm \
    TORCHINDUCTOR_CACHE_DIR=/compiled/torchinductor \
    TRITON_CACHE_DIR=/compiled/triton \
    APISERVER_HOST=0.0.0.0
USER 10001:10001
EXPOSE 8001
CMD ["python", "-m", "apiserver"]
