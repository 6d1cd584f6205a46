"""A worker's process, as the main process starts it; not meant for people."""

import signal


def _main() -> None:
    # Whoever stops the service may tell all its processes; a worker ends when the main one says so.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    from specmeter.workers.worker import work  # noqa: PLC0415 - slow, so not before that

    work()


if __name__ == "__main__":
    _main()
