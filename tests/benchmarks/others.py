"""How the other proxies are started, each with one worker and as little as it needs."""

import shutil
from pathlib import Path

from tests.benchmarks.errors import ProcessError

_NGINX = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
lock_file {folder}/nginx.lock;
error_log stderr warn;
worker_rlimit_nofile 20000;
events {{ worker_connections 10000; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 1000000;
    upstream model {{
        server 127.0.0.1:{upstream};
        keepalive 128;
        keepalive_requests 1000000;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://model;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_request_buffering off;
            client_max_body_size 0;
        }}
    }}
}}
"""

_HAPROXY = """
global
    nbthread 1
    maxconn 9000
defaults
    mode http
    option http-no-delay
    timeout connect 5s
    timeout client 1h
    timeout server 1h
frontend clients
    bind 127.0.0.1:{port}
    default_backend models
backend models
    http-reuse always
    server model 127.0.0.1:{upstream}
"""

_LITELLM = """
model_list:
  - model_name: smollm2-135m
    litellm_params:
      model: openai/smollm2-135m
      api_base: http://127.0.0.1:{upstream}/v1
      api_key: none
general_settings:
  dangerously_permit_weak_or_unset_master_key: true
"""


def nginx(upstream: int, port: int, folder: Path) -> list[str]:
    """The command that starts nginx."""
    config = folder / "nginx.conf"
    config.write_text(_NGINX.format(folder=folder, upstream=upstream, port=port))
    return [installed("nginx"), "-e", "stderr", "-p", str(folder), "-c", str(config)]


def haproxy(upstream: int, port: int, folder: Path) -> list[str]:
    """The command that starts haproxy."""
    config = folder / "haproxy.cfg"
    config.write_text(_HAPROXY.format(upstream=upstream, port=port))
    return [installed("haproxy"), "-db", "-f", str(config)]


def litellm_command(environment: Path, upstream: int, port: int, folder: Path) -> list[str]:
    """The command that starts LiteLLM's proxy."""
    config = folder / "litellm.yaml"
    config.write_text(_LITELLM.format(upstream=upstream))
    # It would fetch a price list from the network.
    program = ["env", "LITELLM_LOCAL_MODEL_COST_MAP=True", str(environment / "bin" / "litellm")]
    return [
        *program,
        "--telemetry",
        "False",
        "--config",
        str(config),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]


def installed(name: str) -> str:
    """Where a program of Debian's is.

    Raises:
        ProcessError: it is not installed.
    """
    path = shutil.which(name) or shutil.which(f"/usr/sbin/{name}")
    if path is None:
        raise ProcessError(f"{name} is neither on PATH nor in /usr/sbin: install Debian's `{name}`")
    return path
