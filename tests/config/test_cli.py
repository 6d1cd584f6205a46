"""The command line, run as a real process."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

import specmeter
from specmeter.config import Settings, Upstream
from tests.ports import closed_port

ROOT = Path(specmeter.__file__).parents[1]
EXAMPLE = Path(__file__).parents[2] / "config" / "specmeter.toml"
BAD = Path(__file__).parent / "bad"
URL = "http://127.0.0.1:8080"
DEFAULTS = Settings(upstream=(Upstream(url=URL),))


def environment(**variables: str) -> dict[str, str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("SPECMETER_")}
    return {**clean, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **variables}


def run(*words: str | Path, code: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    start = ["-c", code] if code else ["-m", "specmeter"]
    return subprocess.run(
        [sys.executable, *start, *map(str, words)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment(**variables),
        timeout=30,
        check=False,
    )


class TestCommand:
    def test_version(self) -> None:
        """--version prints name and version."""
        done = run("--version")
        assert (done.returncode, done.stdout) == (0, f"specmeter {specmeter.__version__}\n")

    def test_version_imports_nothing_slow(self) -> None:
        """--version and --help answer without importing what only a command needs."""
        code = (
            "import sys\n"
            "from specmeter.cli import main\n"
            "try: main([sys.argv[1]])\n"
            "except SystemExit: pass\n"
            "print(sorted({'aiohttp', 'asyncio', 'msgspec', 'rich', 'http'} & set(sys.modules)))\n"
        )
        for flag in ("--version", "--help"):
            assert run(flag, code=code).stdout.splitlines()[-1] == "[]"

    @pytest.mark.parametrize("words", [(), ("sevre",), ("serve", "--lisen", "x"), ("serve", "x")])
    def test_wrong_usage(self, words: tuple[str, ...]) -> None:
        """No command, an unknown one, an unknown flag or word: usage on stderr, exit code 2."""
        done = run(*words)
        assert done.returncode == 2
        assert done.stderr.startswith("usage: specmeter")
        assert not done.stdout

    def test_flags_are_not_abbreviated(self) -> None:
        """A flag that is cut short is refused, so that a later flag cannot change its meaning."""
        assert "unrecognized arguments: --up" in run("serve", "--up", URL).stderr

    def test_help_tells_default_and_variable_of_each_flag(self) -> None:
        """Each flag of serve names its real default and its variable."""
        text = run("serve", "--help").stdout
        flags = re.findall(r"--([\w-]+) .*\(default: (.*); environment: (\w+)\)", text)
        names = ["config", "upstream", "listen", "admin", "backend", "workers"]
        assert [flag for flag, _, _ in flags] == [*names, "log-level", "log-format"]
        for flag, default, variable in flags:
            key = flag.replace("-", "_")
            assert variable == f"SPECMETER_{key.upper()}"
            if key not in {"config", "upstream"}:
                settings = DEFAULTS.upstream[0] if key == "backend" else DEFAULTS
                assert default == str(getattr(settings, key))

    def test_help_names_the_commands(self) -> None:
        """--help lists what there is."""
        text = run("--help").stdout
        for name in ("serve", "check-config", "healthcheck", "demo"):
            assert re.search(rf"^ +{name}\s+\w", text, re.MULTILINE)

    def test_demo_brings_its_own_flags(self) -> None:
        """The demo's flags are there when it is asked for."""
        done = run("demo", "--help")
        assert done.returncode == 0
        assert "--drafter" in done.stdout


class TestServe:
    def test_config_fault(self) -> None:
        """A bad flag ends in one line on stderr and exit code 2, without a traceback."""
        done = run("serve", "--upstream", URL, "--listen", "nowhere")
        assert done.returncode == 2
        assert done.stderr == (
            'specmeter: error: --listen: "nowhere" has no port: '
            "write HOST:PORT, such as 127.0.0.1:8088\n"
        )

    def test_no_upstream(self) -> None:
        """Without an upstream, the message shows what to type."""
        done = run("serve")
        assert done.returncode == 2
        assert "specmeter serve --upstream http://127.0.0.1:8080" in done.stderr

    def test_several_faults(self) -> None:
        """Each fault has a line of its own."""
        done = run("serve", "--config", BAD / "several-faults.toml")
        lines = done.stderr.splitlines()
        assert len(lines) == 3
        assert all(line.startswith("specmeter: error: ") for line in lines)

    def test_password_in_the_environment(self) -> None:
        """A password in a URL is refused without being shown."""
        done = run("serve", SPECMETER_UPSTREAM="http://user:hunter2@127.0.0.1")
        assert done.returncode == 2
        assert "SPECMETER_UPSTREAM" in done.stderr
        assert "hunter2" not in done.stderr

    def test_port_in_use(self) -> None:
        """A start-up fault ends in one line and exit code 1; stray variables are logged before."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            listen = f"127.0.0.1:{taken.getsockname()[1]}"
            words = ("serve", "--upstream", URL, "--listen", listen, "--admin", "127.0.0.1:0")
            done = run(*words, SPECMETER_LISTNE="x")
        assert done.returncode == 1
        assert re.search(r"^\S+Z WARNING specmeter: SPECMETER_LISTNE: ", done.stderr)
        assert re.search(rf"^specmeter: error: .*{listen}", done.stderr, re.MULTILINE)
        assert "Traceback" not in done.stderr


class TestCheckConfig:
    def test_effective_settings(self) -> None:
        """A good file is printed back as TOML, complete with defaults."""
        done = run("check-config", EXAMPLE)
        assert done.returncode == 0
        assert not done.stderr
        assert msgspec.convert(tomllib.loads(done.stdout), Settings) == DEFAULTS

    def test_environment_overrides(self) -> None:
        """What is printed is what serve would take, variables included; stray ones are told."""
        done = run("check-config", EXAMPLE, SPECMETER_DRAIN_SECONDS="5", SPECMETER_COLOUR="5")
        assert "drain_seconds = 5.0\n" in done.stdout
        assert done.stderr == "specmeter: warning: SPECMETER_COLOUR: sets nothing and is ignored\n"

    def test_fault(self) -> None:
        """A bad file is told on stderr with exit code 2, and nothing is printed."""
        path = BAD / "seconds-nan.toml"
        done = run("check-config", path)
        assert done.returncode == 2
        assert done.stderr == (
            f"specmeter: error: {path}: drain_seconds: nan is out of range: "
            "write seconds, 0 to 86400\n"
        )
        assert not done.stdout


class AdminServer(ThreadingHTTPServer):
    """An admin listener that answers /healthz with `status`, or with silence until released."""

    status: int | None = 200

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = threading.Event()
        self.release = threading.Event()


class Handler(BaseHTTPRequestHandler):
    server: AdminServer

    def do_GET(self) -> None:
        self.server.asked.set()
        if self.server.status is None:
            self.server.release.wait(20)
            return
        self.send_response(self.server.status if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture
def admin() -> Iterator[AdminServer]:
    with AdminServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.release.set()
        server.shutdown()
        thread.join()


class TestHealthcheck:
    def test_alive(self, admin: AdminServer) -> None:
        """A 200 from /healthz is exit code 0 and one line."""
        port = admin.server_port
        done = run("healthcheck", "--admin", f"127.0.0.1:{port}")
        assert done.returncode == 0
        assert done.stdout == f"alive: http://127.0.0.1:{port}/healthz answered 200\n"

    def test_default_address(self) -> None:
        """Without flag and variable, the default admin address is asked, whoever answers."""
        assert f": http://{DEFAULTS.admin}/healthz" in run("healthcheck").stdout

    def test_address_from_the_environment(self, admin: AdminServer) -> None:
        """SPECMETER_ADMIN is the address, and one for every interface is asked on loopback."""
        done = run("healthcheck", SPECMETER_ADMIN=f"0.0.0.0:{admin.server_port}")
        assert done.returncode == 0
        assert "http://127.0.0.1:" in done.stdout

    def test_proxies_are_not_asked(self, admin: AdminServer) -> None:
        """The check goes straight to the address, whatever proxy the environment names."""
        variables = {"http_proxy": "http://127.0.0.1:1", "no_proxy": ""}
        assert (
            run("healthcheck", "--admin", f"127.0.0.1:{admin.server_port}", **variables).returncode
            == 0
        )

    @pytest.mark.parametrize("status", [204, 302, 404, 503])
    def test_other_answer(self, admin: AdminServer, status: int) -> None:
        """Any other answer is exit code 1 and one line with the code."""
        admin.status = status
        done = run("healthcheck", "--admin", f"127.0.0.1:{admin.server_port}")
        assert done.returncode == 1
        assert re.fullmatch(rf"not alive: .* answered {status}\n", done.stdout)

    def test_nobody_there(self) -> None:
        """A refused connection is exit code 1 and one line."""
        with closed_port() as port:
            done = run("healthcheck", "--admin", f"127.0.0.1:{port}")
            expected = f"not alive: http://127.0.0.1:{port}/healthz: Connection refused\n"
            assert (done.returncode, done.stdout, done.stderr) == (1, expected, "")

    def test_silence(self, admin: AdminServer) -> None:
        """A server that does not answer is given up after two seconds."""
        admin.status = None
        begun = time.monotonic()
        done = run("healthcheck", "--admin", f"127.0.0.1:{admin.server_port}")
        assert done.returncode == 1
        assert done.stdout.endswith("/healthz: timed out\n")
        assert 2 <= time.monotonic() - begun < 10

    def test_another_protocol(self) -> None:
        """A port that speaks something else is exit code 1 and one line."""

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"SSH-2.0-x\r\n")

        with socket.create_server(("127.0.0.1", 0)) as server:
            thread = threading.Thread(target=answer)
            thread.start()
            done = run("healthcheck", "--admin", f"127.0.0.1:{server.getsockname()[1]}")
            thread.join()
        assert done.returncode == 1
        assert re.fullmatch(r"not alive: .*: its answer is not HTTP\n", done.stdout)

    @pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:0"])
    def test_bad_address(self, address: str) -> None:
        """An address that cannot be asked is a fault of the flag."""
        done = run("healthcheck", "--admin", address)
        assert done.returncode == 2
        assert done.stderr.startswith(f'specmeter: error: --admin: "{address}" ')

    def test_bad_address_in_the_environment(self) -> None:
        """A bad SPECMETER_ADMIN is named."""
        done = run("healthcheck", SPECMETER_ADMIN="nowhere")
        assert done.returncode == 2
        assert done.stderr.startswith('specmeter: error: SPECMETER_ADMIN: "nowhere" ')

    def test_interrupted(self, admin: AdminServer) -> None:
        """Ctrl-C ends it quietly, with the code that a shell expects."""
        admin.status = None
        words = ["-m", "specmeter", "healthcheck", "--admin", f"127.0.0.1:{admin.server_port}"]
        with subprocess.Popen(
            [sys.executable, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(),
        ) as process:
            assert admin.asked.wait(10)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=10)
        assert (process.returncode, output) == (130, b"")
