# specmeter alone:  docker build -t specmeter:local .
# Two stages: pip and its cache stay in the first.
FROM python:3.13-slim-bookworm AS build
RUN python -m venv /opt/specmeter
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY proxy proxy
RUN /opt/specmeter/bin/pip install --no-cache-dir .

FROM python:3.13-slim-bookworm
COPY --from=build /opt/specmeter /opt/specmeter
# For state_file: a volume mounted here belongs to the user below.
RUN install --directory --owner=65532 --group=65532 /var/lib/specmeter
ENV PATH=/opt/specmeter/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
# Data, and metrics with health.
EXPOSE 8088 9108
HEALTHCHECK --interval=15s --timeout=5s --start-period=10s CMD ["specmeter", "healthcheck"]
ENTRYPOINT ["specmeter"]
CMD ["serve", "--config", "/etc/specmeter/specmeter.toml"]
