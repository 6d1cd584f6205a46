"""Every error that specmeter raises on purpose.

SpecmeterError          exit code 1
├── ConfigError         exit code 2: a bad file, environment variable or flag
└── StartupError        exit code 1: a port in use, a file that cannot be read

Their text is meant for whoever runs specmeter: it names the thing, the value and the remedy, and
never a secret. A ConfigError may tell of several faults, one a line.
"""

from typing import ClassVar


class SpecmeterError(Exception):
    """An error that the command line shows as one line instead of a traceback."""

    exit_code: ClassVar[int] = 1


class ConfigError(SpecmeterError):
    """The configuration is at fault, and only changing it helps."""

    exit_code: ClassVar[int] = 2


class StartupError(SpecmeterError):
    """The configuration is fine, yet specmeter cannot start here and now."""

    exit_code: ClassVar[int] = 1
