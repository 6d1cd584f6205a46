"""The loader: layers, ranges, messages."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter import backends
from specmeter.config import (
    BACKENDS,
    Address,
    Settings,
    Upstream,
    as_toml,
    load,
)
from specmeter.errors import ConfigError
from tests.unprivileged import unprivileged

BAD = sorted((Path(__file__).parent / "bad").glob("*.toml"))
Write: TypeAlias = Callable[[str], Path]

URL = "http://127.0.0.1:8080"
SECRET = "hunter2"

ONE = f'[[upstream]]\nurl = "{URL}"\n'
TWO = """
[[upstream]]
name = "a"
url = "http://127.0.0.1:8080"

[[upstream]]
name = "b"
url = "http://127.0.0.1:8081"
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "specmeter.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def fault(
    path: Path | None = None,
    environ: dict[str, str] | None = None,
    flags: dict[str, str] | None = None,
) -> str:
    with pytest.raises(ConfigError) as caught:
        load(path, environ or {}, flags or {})
    return str(caught.value)


def upstream(**values: Any) -> Upstream:
    return Upstream(**{"url": URL, **values})


class TestFaults:
    @pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
    def test_each_bad_file_has_its_exact_message(self, path: Path) -> None:
        """A bad file is refused with the message that its first lines foretell, and no other."""
        head = "# error: "
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        expected = [line.removeprefix(head) for line in lines if line.startswith(head)]
        assert fault(path).replace(str(path), "FILE").splitlines() == expected

    @pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
    def test_no_message_tells_a_secret(self, path: Path) -> None:
        """A password or key in a bad file never gets into the message."""
        assert SECRET not in fault(path)

    def test_the_corpus_holds_secrets(self) -> None:
        """Several bad files hold the secret, so the test above can fail."""
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in BAD]
        assert sum(SECRET in text for text in texts) >= 4

    def test_missing_file(self, tmp_path: Path) -> None:
        """A file that is not there is named with the reason."""
        path = tmp_path / "none.toml"
        assert fault(path) == f"{path}: cannot be read: No such file or directory"

    def test_directory(self, tmp_path: Path) -> None:
        """A directory in place of a file is named with the reason."""
        assert fault(tmp_path) == f"{tmp_path}: cannot be read: Is a directory"

    def test_huge_file(self, tmp_path: Path) -> None:
        """A file that cannot be a configuration is not read to its end."""
        path = tmp_path / "model.gguf"
        path.write_bytes(b" " * (1024 * 1024 + 1))
        expected = f"{path}: is larger than 1 MiB: name a specmeter configuration file"
        assert fault(path) == expected

    def test_unreadable_file(self, write: Write) -> None:
        """A file without permission is named with the reason."""
        path = write(ONE)
        path.chmod(0)
        with unprivileged():
            assert fault(path) == f"{path}: cannot be read: Permission denied"

    def test_byte_order_mark_is_no_fault(self, write: Write) -> None:
        """A mark that some editors put first does not spoil the file."""
        assert load(write("\ufeff" + ONE), {}, {}).settings == Settings(upstream=(upstream(),))


class TestLayers:
    def test_each_layer_overrides_the_one_before(self, write: Write) -> None:
        """A flag beats its variable, and a variable beats the file; each leaves the rest alone."""
        path = write(
            'listen = "127.0.0.1:1"\nadmin = "127.0.0.1:2"\nlog_level = "error"\n'
            + ONE
            + "inject = false\n"
        )
        environ = {"SPECMETER_LISTEN": "127.0.0.1:11", "SPECMETER_ADMIN": "127.0.0.1:12"}
        settings = load(path, environ, {"listen": "127.0.0.1:21"}).settings
        expected = Settings(
            listen="127.0.0.1:21",
            admin="127.0.0.1:12",
            log_level="error",
            upstream=(upstream(inject=False),),
        )
        assert settings == expected

    def test_defaults_need_only_an_upstream(self) -> None:
        """An upstream's URL is enough."""
        assert load(None, {}, {"upstream": URL}).settings == Settings(upstream=(upstream(),))

    def test_a_flag_that_was_not_given_says_nothing(self) -> None:
        """None is no value."""
        environ = {"SPECMETER_UPSTREAM": URL, "SPECMETER_LOG_LEVEL": "debug"}
        settings = load(None, environ, {"upstream": None, "log_level": None}).settings
        assert settings == Settings(upstream=(upstream(),), log_level="debug")

    def test_every_scalar_has_a_variable(self) -> None:
        """SPECMETER_ and the name of any setting sets it, numbers as numbers."""
        values: dict[str, Any] = {
            "listen": "[::1]:0",
            "admin": "0.0.0.0:9000",
            "workers": 4,
            "drain_seconds": 1.5,
            "log_level": "warning",
            "log_format": "json",
            "position_limit": 8,
            "event_bytes": 2048,
            "body_bytes": 4096,
            "probe_seconds": 60.0,
            "scrape_seconds": 30.0,
            "state_file": "learned.json",
            "client_keys_file": "clients.keys",
            "admin_keys_file": "admin.keys",
        }
        assert {*values, "upstream"} == set(Settings.__struct_fields__)
        environ = {f"SPECMETER_{key.upper()}": str(value) for key, value in values.items()}
        environ |= {"SPECMETER_UPSTREAM": URL, "SPECMETER_BACKEND": "vllm"}
        expected = Settings(upstream=(upstream(backend="vllm"),), **values)
        assert load(None, environ, {}).settings == expected

    def test_config_variable_names_the_file(self, write: Write) -> None:
        """SPECMETER_CONFIG is the file if no other is named."""
        environ = {"SPECMETER_CONFIG": str(write('log_level = "error"\n' + ONE))}
        assert load(None, environ, {}).settings.log_level == "error"

    def test_config_variable_yields_to_the_path(self, write: Write, tmp_path: Path) -> None:
        """A path given by flag wins over SPECMETER_CONFIG, which may then name anything."""
        environ = {"SPECMETER_CONFIG": str(tmp_path / "none.toml")}
        assert load(write(ONE), environ, {}).settings == Settings(upstream=(upstream(),))

    def test_fault_of_the_config_variable_names_it(self, tmp_path: Path) -> None:
        """A bad SPECMETER_CONFIG is named with its path and the reason."""
        path = tmp_path / "none.toml"
        message = fault(None, {"SPECMETER_CONFIG": str(path)})
        assert message == f"SPECMETER_CONFIG: {path}: cannot be read: No such file or directory"

    def test_empty_variable_is_not_set(self) -> None:
        """An empty variable, as compose files leave them, says nothing."""
        environ = {"SPECMETER_UPSTREAM": URL, "SPECMETER_LISTEN": "", "SPECMETER_CONFIG": ""}
        assert load(None, environ, {}).settings == Settings(upstream=(upstream(),))

    @pytest.mark.parametrize(
        ("variable", "value", "message"),
        [
            ("DRAIN_SECONDS", "30s", '"30s" is not a number: write seconds, 0 to 86400'),
            ("DRAIN_SECONDS", "nan", "nan is out of range: write seconds, 0 to 86400"),
            ("POSITION_LIMIT", "1.5", '"1.5" is not a whole number: write 1 to 64'),
            ("POSITION_LIMIT", "65", "65 is out of range: write 1 to 64"),
            ("POSITION_LIMIT", "2_0", '"2_0" is not a whole number: write 1 to 64'),
            ("POSITION_LIMIT", "\uff12", '"\uff12" is not a whole number: write 1 to 64'),
            ("POSITION_LIMIT", " 2", '" 2" is not a whole number: write 1 to 64'),
            ("POSITION_LIMIT", "+2", '"+2" is not a whole number: write 1 to 64'),
            ("POSITION_LIMIT", "-2", "-2 is out of range: write 1 to 64"),
            ("DRAIN_SECONDS", "1_0.5", '"1_0.5" is not a number: write seconds, 0 to 86400'),
            ("DRAIN_SECONDS", "\uff12", '"\uff12" is not a number: write seconds, 0 to 86400'),
            ("LOG_FORMAT", "xml", '"xml" is not one of text, json'),
            ("UPSTREAM", f"http://user:{SECRET}@h", '"http://***@h" holds a user name'),
        ],
    )
    def test_bad_value_names_its_variable(self, variable: str, value: str, message: str) -> None:
        """A fault in the environment starts with the variable's name."""
        environ = {"SPECMETER_UPSTREAM": URL, f"SPECMETER_{variable}": value}
        assert fault(None, environ).startswith(f"SPECMETER_{variable}: {message}")

    @pytest.mark.parametrize("typed", ["2_0", "\uff12", " 2", "two"])
    def test_whole_number_of_a_flag_is_digits_only(self, typed: str) -> None:
        """What Python would read as a number all the same is none on a command line."""
        message = fault(None, {}, {"upstream": URL, "workers": typed})
        assert message.startswith(f'--workers: "{typed}" is not a whole number: write 1 to ')

    @pytest.mark.parametrize("typed", ["2", "02"])
    def test_digits_are_a_whole_number(self, typed: str) -> None:
        """Digits are read as they stand."""
        assert load(None, {}, {"upstream": URL, "workers": typed}).settings.workers == 2

    def test_bad_value_names_its_flag(self) -> None:
        """A fault in a flag starts with the flag's name, as it is typed."""
        message = fault(None, {}, {"upstream": URL, "log_level": "loud"})
        assert message.startswith('--log-level: "loud" is not one of')


class TestOneUpstream:
    def test_url_replaces_the_files_and_keeps_the_rest(self, write: Write) -> None:
        """With one upstream in the file, a URL by flag changes only where it is."""
        path = write(ONE + 'name = "fast"\nmodels = ["qwen"]\n')
        settings = load(path, {}, {"upstream": "http://127.0.0.1:9000"}).settings
        expected = upstream(url="http://127.0.0.1:9000", name="fast", models=("qwen",))
        assert settings.upstream == (expected,)

    def test_file_without_upstream_takes_the_flag(self, write: Write) -> None:
        """With no upstream in the file, a URL by variable makes one."""
        settings = load(write(""), {"SPECMETER_UPSTREAM": URL}, {"backend": "vllm"}).settings
        assert settings.upstream == (upstream(backend="vllm"),)

    @pytest.mark.parametrize(
        ("environ", "flags", "where"),
        [
            ({}, {"upstream": URL}, "--upstream"),
            ({"SPECMETER_BACKEND": "vllm"}, {}, "SPECMETER_BACKEND"),
        ],
    )
    def test_several_upstreams_make_it_ambiguous(
        self, write: Write, environ: dict[str, str], flags: dict[str, str], where: str
    ) -> None:
        """With several upstreams in the file, a single URL or kind is refused, and told why."""
        assert fault(write(TWO), environ, flags) == (
            f"{where}: the file has 2 upstreams, so it is unclear which one this is about: "
            "change it in the file"
        )

    @pytest.mark.parametrize(
        ("typed", "url"),
        [
            ("localhost:8080", "http://localhost:8080"),
            ("box", "http://box"),
            ("[::1]:8080", "http://[::1]:8080"),
            ("https://box", "https://box"),
            ("HTTPS://box", "HTTPS://box"),
        ],
    )
    def test_scheme_may_be_left_out_when_typed(self, typed: str, url: str) -> None:
        """A URL typed without a scheme is http."""
        assert load(None, {}, {"upstream": typed}).settings.upstream == (Upstream(url=url),)

    @pytest.mark.parametrize("typed", ["http:/box", "unix:/run/x", "ftp://box", "", ":8080"])
    def test_mistyped_scheme_is_not_taken_for_a_host(self, typed: str) -> None:
        """What is neither a URL nor HOST:PORT is refused."""
        assert fault(None, {}, {"upstream": typed}).startswith("--upstream: ")

    def test_password_without_scheme_is_not_shown(self) -> None:
        """A password typed without a scheme is refused without being shown."""
        message = fault(None, {}, {"upstream": f"user:{SECRET}@box:8080"})
        assert message.startswith('--upstream: "http://***@box:8080" holds a user name')

    def test_no_upstream_says_what_to_type(self) -> None:
        """Nothing given at all ends in the command that works."""
        expected = "type `specmeter serve --upstream http://127.0.0.1:8080`"
        assert expected in fault()
        assert expected in fault(None, {"SPECMETER_BACKEND": "vllm"})


class TestStrayVariables:
    def test_typing_error_is_a_warning(self) -> None:
        """An unknown SPECMETER_ variable is no error: it is named, but not its value."""
        environ = {"SPECMETER_UPSTREAM": URL, "SPECMETER_LISTNE": SECRET, "HOME": "/"}
        expected = "SPECMETER_LISTNE: sets nothing and is ignored; did you mean SPECMETER_LISTEN?"
        assert load(None, environ, {}).warnings == (expected,)

    def test_kubernetes_variables_are_silent(self) -> None:
        """What Kubernetes injects for a Service named specmeter brings no warning."""
        environ = {
            "SPECMETER_UPSTREAM": URL,
            "SPECMETER_SERVICE_HOST": "10.0.0.7",
            "SPECMETER_SERVICE_PORT": "8088",
            "SPECMETER_SERVICE_PORT_METRICS": "9108",
            "SPECMETER_PORT": "tcp://10.0.0.7:8088",
            "SPECMETER_PORT_8088_TCP": "tcp://10.0.0.7:8088",
            "SPECMETER_PORT_8088_TCP_PROTO": "tcp",
            "SPECMETER_PORT_8088_TCP_PORT": "8088",
            "SPECMETER_PORT_8088_TCP_ADDR": "10.0.0.7",
            "SPECMETER_ADMIN_SERVICE_HOST": "10.0.0.8",
            "SPECMETER_ADMIN_PORT": "tcp://10.0.0.8:9108",
        }
        assert load(None, environ, {}).warnings == ()

    def test_a_port_that_someone_meant_to_set_is_a_warning(self) -> None:
        """SPECMETER_PORT with a mere number is somebody's mistake, not Kubernetes."""
        environ = {"SPECMETER_UPSTREAM": URL, "SPECMETER_PORT": "8088"}
        assert load(None, environ, {}).warnings != ()


class TestSettings:
    def test_values_are_frozen(self) -> None:
        """Settings and upstreams cannot be changed."""
        settings = Settings(upstream=(upstream(),))
        for value, key in ((settings, "listen"), (settings.upstream[0], "url")):
            with pytest.raises(AttributeError):
                setattr(value, key, "x")

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"listen": "nowhere"}, 'listen: "nowhere" has no port'),
            ({"drain_seconds": math.nan}, "drain_seconds: nan is out of range"),
            ({"drain_seconds": 10**400}, "drain_seconds: 1000"),
            ({"upstream": ()}, "upstream: none is given"),
        ],
    )
    def test_made_in_code_they_are_checked_too(self, values: dict[str, Any], message: str) -> None:
        """There is no way to get settings that are out of range."""
        with pytest.raises(ConfigError) as caught:
            Settings(**{"upstream": (upstream(),), **values})
        assert str(caught.value).startswith(message)

    def test_made_by_msgspec_they_are_checked_too(self) -> None:
        """A conversion by msgspec refuses what the loader refuses."""
        with pytest.raises(ConfigError, match=r"^position_limit: 99 is out of range"):
            msgspec.convert({"upstream": [{"url": URL}], "position_limit": 99}, Settings)
        with pytest.raises(msgspec.ValidationError, match="unknown field"):
            msgspec.convert({"url": URL, "x": 1}, Upstream)

    def test_whole_seconds_become_floats(self, write: Write) -> None:
        """30 and 30.0 in a file are the same."""
        value = load(write("drain_seconds = 30\n" + ONE), {}, {}).settings.drain_seconds
        assert type(value) is float

    def test_addresses_are_parsed(self) -> None:
        """The listeners' addresses come taken apart."""
        settings = Settings(upstream=(upstream(),), listen="[::1]:0")
        assert settings.listen_address == Address("::1", 0)
        assert settings.admin_address == Address("127.0.0.1", 9108)

    def test_kinds_are_those_that_exist(self) -> None:
        """Each kind that can be configured has a backend, and the other way round."""
        assert set(BACKENDS) == {"auto", *(backend.name for backend in backends.BACKENDS)}


class TestAsToml:
    @given(
        model=st.text(st.characters(exclude_categories=["C"]), min_size=1)
        .map(str.strip)
        .filter(lambda name: name not in {"é", "😀"}),
        seconds=st.floats(0, 3600),
        inject=st.booleans(),
    )
    def test_it_loads_as_the_same_settings(
        self, model: str, seconds: float, inject: bool, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Settings written down and loaded again are the same."""
        first = upstream(
            name="a", models=(model,) if model else (), keepalive_seconds=seconds, inject=inject
        )
        second = Upstream(url="https://[::1]/x", name="b", ca_file='/a "b"\\c', models=("é", "😀"))
        settings = Settings(upstream=(first, second), drain_seconds=seconds, log_format="json")
        path = tmp_path_factory.mktemp("toml") / "written.toml"
        path.write_text(as_toml(settings), encoding="utf-8")
        assert load(path, {}, {}).settings == settings
