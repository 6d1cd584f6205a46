"""The server's own log completes what its answers do not say."""

from pathlib import Path

from specmeter.demo.llama_server import running_llama_server
from specmeter.demo.model import Model
from specmeter.meter.completion import Source
from tests.real.proxy import running_proxy, until

COUNT = "one two three one two three one two"


async def test_every_request_counts_once(llama_model: Model, tmp_path: Path) -> None:
    """Answers without numbers, with numbers, and what went past the proxy: the totals are exact."""
    log = tmp_path / "server.log"
    chat = {"messages": [{"role": "user", "content": COUNT}], "max_tokens": 16, "temperature": 0}
    async with (
        running_llama_server(
            llama_model.path, drafter="draft-simple", threads=1, log_file=log
        ) as server,
        running_proxy(server.url, log=str(log)) as proxy,
    ):
        await proxy.post("/v1/messages", **chat)
        await proxy.post("/v1/responses", input=COUNT, max_output_tokens=17, temperature=0)
        await proxy.post("/v1/chat/completions", **(chat | {"max_tokens": 18}))
        await proxy.post("/v1/messages", **(chat | {"max_tokens": 19}), stream=True)
        past = chat | {"max_tokens": 20}
        async with proxy.client.post(f"{server.url}/v1/messages", json=past) as response:
            assert response.status == 200

        async def all_counted() -> bool:
            return len(proxy.completions) == 5

        await until(all_counted)
        page, counts = await proxy.page(), await proxy.server_counts()
    assert all(one.reading.drafted for one in proxy.completions)
    told = sorted((one.endpoint, one.source) for one in proxy.completions)
    assert told == [
        ("/v1/chat/completions", Source.RESPONSE),
        ("/v1/messages", Source.MATCHED),
        ("/v1/messages", Source.MATCHED),
        ("/v1/responses", Source.MATCHED),
        ("other", Source.LOG),
    ]
    drafted = page.total("specmeter_spec_decode_num_draft_tokens_total")
    accepted = page.total("specmeter_spec_decode_num_accepted_tokens_total")
    generated = page.total("specmeter_generated_tokens_total")
    assert (generated, drafted, accepted) == (counts.generated, counts.drafted, counts.accepted)
