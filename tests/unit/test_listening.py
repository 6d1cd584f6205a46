"""What is said when nobody can listen where the configuration says."""

import errno

import pytest

from specmeter.config import Address
from specmeter.errors import StartupError
from specmeter.listening import told_plainly


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EADDRINUSE, "address already in use. Stop what uses it, or choose another with"),
        (errno.EACCES, "permission denied. Choose a port above 1023, or "),
        (errno.EADDRNOTAVAIL, "cannot assign requested address. Name an address of this machine"),
        (errno.EAFNOSUPPORT, "not supported by protocol. Name an address of this machine"),
        (errno.ENOBUFS, "no buffer space available. Choose another with"),
    ],
)
def test_each_failure_has_its_remedy(number: int, remedy: str) -> None:
    """What is in the way differs, and so does what to do."""
    with pytest.raises(StartupError) as told, told_plainly("listen", Address("127.0.0.1", 80)):
        raise OSError(number, "as the loop words it")
    assert remedy in str(told.value)
    assert str(told.value).startswith("listen: cannot listen on 127.0.0.1:80: ")
    assert str(told.value).endswith(" with --listen HOST:PORT")


def test_what_can_be_listened_on_is_not_told() -> None:
    """Nothing is in the way then."""
    with told_plainly("listen", Address("127.0.0.1", 8080)):
        pass
