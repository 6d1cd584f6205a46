"""Messages arrive whole and in order, however the system cuts their bytes."""

import asyncio
import logging
import random
import socket
from typing import Any

import msgspec
import pytest

from specmeter.workers.channel import Channel
from specmeter.workers.messages import FromWorker, HeldOut, Ping, Pong, Ready

_decode = msgspec.msgpack.Decoder(FromWorker).decode


@pytest.mark.parametrize("seed", range(5))
def test_cut_anywhere(seed: int) -> None:
    """Pieces of any size make the same messages."""
    dice = random.Random(seed)
    messages = [Ready(), *(HeldOut("u" * dice.randrange(300), "x") for _ in range(100)), Pong(7)]
    stream = b""
    for message in messages:
        data = msgspec.msgpack.encode(message)
        stream += len(data).to_bytes(4) + data
    got: list[Any] = []
    channel = Channel(_decode, got.append)
    while stream:
        size = dice.choice((1, 2, 3, 5, 50, 500))
        channel.data_received(stream[:size])
        stream = stream[size:]
    assert got == messages


async def test_a_message_that_cannot_be_taken(caplog: pytest.LogCaptureFixture) -> None:
    """It is told in the log, without what it said, and those behind it arrive."""
    ours, theirs = socket.socketpair()
    got: list[Any] = []
    sender: Channel[Any] = Channel(_decode, got.append)
    receiver = Channel(_decode, got.append)
    await sender.connect(ours)
    await receiver.connect(theirs)
    sender.send(Ping(1))  # nothing that a worker says
    sender.send(HeldOut("a", "b"))
    sender.close()
    async with asyncio.timeout(5):
        await receiver.lost.wait()
        await sender.lost.wait()
    assert got == [HeldOut("a", "b")]
    (record,) = caplog.records
    assert (record.levelno, record.message.splitlines()[0]) == (
        logging.ERROR,
        "cannot take a message: ValidationError",
    )
    sender.send(Ready())  # nobody is there: nothing happens
    assert sender.unsent_bytes == 0
