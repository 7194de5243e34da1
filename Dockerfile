# The image of the service. The build stage installs with pip; the final stage has no pip, an unprivileged user, and writes only
# to /data.
#   docker build -t germane .
#   docker run -v germane:/data germane --db /data/germane.db keys create --org acme
#   docker run -v germane:/data -p 127.0.0.1:7411:7411 -p 127.0.0.1:7412:7412 -e GERMANE_SERVE_PLAINTEXT=true germane
# The service listens on every interface, so it starts only with TLS, or with GERMANE_SERVE_PLAINTEXT=true. Use the variable only
# where the ports are published on 127.0.0.1 as above.
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
RUN python -m venv /opt/germane
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
# For more extras: --build-arg EXTRAS=serve,minilm,otlp. Only wheels are installed; a package that needs a compiler fails the
# build.
ARG EXTRAS=serve
RUN /opt/germane/bin/pip install --only-binary :all: --no-binary germane ".[${EXTRAS}]" \
 && /opt/germane/bin/pip uninstall --yes pip

FROM python:${PYTHON}-slim
LABEL org.opencontainers.image.title="germane" \
      org.opencontainers.image.description="A context assembly engine for LLM agents" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --system --gid 10001 germane \
 && useradd --system --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin germane \
 && install --directory --owner=10001 --group=10001 --mode=0700 /data
COPY --from=build /opt/germane /opt/germane
ENV PATH=/opt/germane/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /data
USER 10001:10001
VOLUME /data
EXPOSE 7411 7412
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:7412/health', timeout=2).read()"]
ENTRYPOINT ["germane"]
CMD ["serve", "--db", "/data/germane.db", "--grpc", "0.0.0.0:7411", "--http", "0.0.0.0:7412"]
