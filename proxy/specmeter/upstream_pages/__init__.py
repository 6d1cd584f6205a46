"""The upstreams' own metrics pages. Adding a server kind is adding a module and a row here.

Nothing in this package does any input or output.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from specmeter.upstream_pages.base import (
    DamagedPageError,
    Key,
    Name,
    NoPageError,
    Page,
    ServerPage,
    Target,
    Value,
)
from specmeter.upstream_pages.llama_cpp import LlamaCppPage
from specmeter.upstream_pages.sglang import SglangPage
from specmeter.upstream_pages.text import read_samples
from specmeter.upstream_pages.totals import Totals
from specmeter.upstream_pages.trtllm import TrtllmPage
from specmeter.upstream_pages.vllm import VllmPage

__all__ = [
    "PAGES",
    "DamagedPageError",
    "Key",
    "Name",
    "NoPageError",
    "Page",
    "ServerPage",
    "Target",
    "Totals",
    "Value",
    "read_page",
]

PAGES: Mapping[str, ServerPage] = MappingProxyType(
    {
        "llama_cpp": LlamaCppPage(),
        "vllm": VllmPage(),
        "sglang": SglangPage(),
        "trtllm": TrtllmPage(),
    }
)
"""By the kind of the server. No other server has a page that tells of drafting."""


def read_page(server: ServerPage, body: bytes) -> Page:
    """Read the page that a server answered with.

    Raises:
        NoPageError: It is not the metrics page of such a server.
        DamagedPageError: It is one that cannot be believed.
    """
    return server.read(read_samples(body, server.prefix, server.names))
