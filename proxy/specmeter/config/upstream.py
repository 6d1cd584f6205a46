"""Settings of one upstream."""

from typing import Annotated

from specmeter.config import rules
from specmeter.config.address import Target, parse_target
from specmeter.config.checked import Checked
from specmeter.errors import ConfigError

BACKENDS = (
    *("auto", "llama_cpp", "ik_llama", "vllm", "sglang", "ollama", "lm_studio", "mlx_vlm"),
    *("tabby", "trtllm", "koboldcpp", "openai"),
)

_DAY = 86400


class Upstream(Checked, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One server to forward to.

    Attributes:
        url: http or https, host, port and maybe a path; see `target`.
        name: the `upstream` label of its series; unique.
        backend: its kind, one of BACKENDS; `auto` finds out.
        models: the names that route here and may be `model_name` labels, or patterns of them with
            * ? [ ], of which those are labels that its /v1/models lists; empty takes all it lists.
        method: how it drafts, for the label of specmeter_upstream_info.
        inject: whether numbers may be asked for that are taken out of the answer again.
        meter_cancelled: whether llama.cpp's streams are asked for timings on every chunk, so that
            a stream its client leaves is metered up to there.
        continuous_usage: whether its streams are asked for usage on every chunk, so that a stream
            its client leaves is counted up to there.
        log: path of the server's log, which completes what its answers do not say; empty for none.
        scrape: whether its own metrics page is read and shown as `specmeter_upstream_…`.
        plain: name of another upstream with the same model and without speculation, which is
            what `holdout` and `shadow` compare with; empty for none.
        plain_model: the model's name there; empty for the same name.
        holdout: share of live requests that the plain upstream answers instead.
        holdout_header: name of the header by whose value a conversation stays with one of the
            two; empty draws each request anew.
        holdout_patience_seconds: how long the plain upstream may take to begin its answer before
            the request goes to this one after all.
        shadow: share of finished requests that are replayed, unseen, on the plain upstream.
        shadow_per_minute: the most replays a minute.
        shadow_in_flight: the most live requests under way while a replay runs.
        baseline_file: path of a file that `specmeter baseline` wrote; empty for none.
        plain_tokens_per_second: speed without speculation as a number; 0 for none.
        memory_bandwidth_gb_s: of the memory that holds the weights, for the bound; 0 for none.
        weights_gb: gigabytes read for each token, for the bound; 0 for none.
        connect_seconds: longest wait for a connection.
        idle_seconds: longest silence within a response; 0 waits forever.
        keepalive_seconds: how long an idle connection is used again.
        api_key_file: path of the key for specmeter's own requests; empty for none.
        lend_key: whether clients that bring no key use that one.
        ca_file: path of the certificates to trust instead of the system's; empty for the system's.

    Raises:
        ConfigError: a value is out of its range, or two of them do not go together.
    """

    url: Annotated[str, rules.url]
    name: Annotated[str, rules.name] = "default"
    backend: Annotated[str, rules.choice(BACKENDS)] = "auto"
    models: Annotated[tuple[str, ...], rules.names] = ()
    method: Annotated[str, rules.text] = ""
    inject: Annotated[bool, rules.switch] = True
    continuous_usage: Annotated[bool, rules.switch] = False
    meter_cancelled: Annotated[bool, rules.switch] = False
    log: Annotated[str, rules.text] = ""
    scrape: Annotated[bool, rules.switch] = False
    plain: Annotated[str, rules.text] = ""
    plain_model: Annotated[str, rules.text] = ""
    holdout: Annotated[float, rules.share(0.5)] = 0.0
    holdout_header: Annotated[str, rules.header_name] = ""
    holdout_patience_seconds: Annotated[float, rules.seconds(0.1, 3600)] = 10.0
    shadow: Annotated[float, rules.share(1.0)] = 0.0
    shadow_per_minute: Annotated[float, rules.amount(6000)] = 6.0
    shadow_in_flight: Annotated[int, rules.whole(0, 10000)] = 0
    baseline_file: Annotated[str, rules.text] = ""
    plain_tokens_per_second: Annotated[float, rules.amount(1_000_000)] = 0.0
    memory_bandwidth_gb_s: Annotated[float, rules.amount(1_000_000)] = 0.0
    weights_gb: Annotated[float, rules.amount(1_000_000)] = 0.0
    connect_seconds: Annotated[float, rules.seconds(0.01, 3600)] = 5.0
    idle_seconds: Annotated[float, rules.seconds(0, _DAY)] = 0.0
    keepalive_seconds: Annotated[float, rules.seconds(0, 3600)] = 4.0
    api_key_file: Annotated[str, rules.key_file] = ""
    lend_key: Annotated[bool, rules.switch] = False
    ca_file: Annotated[str, rules.text] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ca_file and not self.target.is_tls:
            raise ConfigError(
                f"ca_file: {rules.shown(self.ca_file)} has no use with an http url: "
                "write https, or take it out"
            )

        if not self.plain:
            for key in ("holdout", "shadow", "plain_model"):
                if value := getattr(self, key):
                    raise ConfigError(
                        f"{key}: {rules.shown(value)} has no use without plain: name the upstream "
                        "that serves the same model without speculation"
                    )
        if self.plain and self.plain == self.name:
            raise ConfigError(
                f"plain: {rules.shown(self.plain)} is this upstream itself: name another one"
            )
        if bool(self.memory_bandwidth_gb_s) is not bool(self.weights_gb):
            given, missing = "memory_bandwidth_gb_s", "weights_gb"
            if self.weights_gb:
                given, missing = missing, given
            raise ConfigError(f"{given}: has no use without {missing}: give both, or take it out")

    @property
    def target(self) -> Target:
        """The url taken apart. It is parsed at each call, so keep it."""
        return parse_target(self.url)
