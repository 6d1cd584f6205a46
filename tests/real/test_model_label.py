"""The `model_name` label comes from what the server lists, never from what a client asks for."""

from specmeter.demo.llama_server import LlamaServer
from tests.real.proxy import Proxy, running_proxy
from tests.real.requests import text

ALIAS = "smollm2-135m"


async def test_any_name_asked_for_counts_under_the_servers_own(plain_proxy: Proxy) -> None:
    """llama.cpp answers whatever model is asked for, under its own name, and so it is counted."""
    for name in (ALIAS, "gpt-4o", "smollm2-135m ", "no/such\nmodel"):
        await plain_proxy.post("/v1/completions", **text("One", max_tokens=2, model=name))
    await plain_proxy.post("/v1/completions", **text("One", max_tokens=2))
    page = await plain_proxy.page()
    assert page.total("specmeter_completions_total", model_name=ALIAS) == 5
    assert page.total("specmeter_completions_total", model_name="other") == 0
    assert page.label_values("model_name") == {ALIAS, "other"}


async def test_model_that_is_not_configured_is_other(plain_llama: LlamaServer) -> None:
    """Where the configuration lists the models, any other is counted as `other`."""
    async with running_proxy(plain_llama.url, models=("some-other-model",)) as proxy:
        await proxy.post("/v1/completions", **text("One", max_tokens=2))
        page = await proxy.page()
    assert page.total("specmeter_completions_total", model_name="other") == 1
    assert page.label_values("model_name") == {"some-other-model", "other"}
