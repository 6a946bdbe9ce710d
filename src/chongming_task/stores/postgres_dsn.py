"""A PostgreSQL DSN that cannot be shown by accident, and the one place that imports psycopg."""

from __future__ import annotations

from types import ModuleType
from typing import Any
from urllib.parse import quote

from chongming_task.errors import ConfigurationError

__all__ = ["Dsn", "driver"]

_DEFAULTS = {
    "connect_timeout": "10",
    "fallback_application_name": "chongming-task",
    "client_encoding": "utf8",
    # A network that swallows everything (a lid that was shut, a VPN that is gone) is noticed within 40 seconds.
    "keepalives_idle": "20",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "40000",  # milliseconds
}


def driver() -> ModuleType:
    """The psycopg package.

    Raises:
        ConfigurationError: When it is not installed, with what to install.
    """
    try:
        import psycopg
    except ImportError as error:
        raise ConfigurationError(
            "the PostgreSQL store needs psycopg 3: pip install 'chongming-task[postgres]'"
        ) from error
    return psycopg


class Dsn:
    """How to connect. Its text is nowhere to be read: not in the repr, not in an error, not in a pickle.

    Args:
        text: ``postgresql://user:password@host:port/database?options``, or ``key=value`` pairs.

    Raises:
        ConfigurationError: When it cannot be understood; without repeating it.
    """

    __slots__ = ("_params", "_text")

    def __init__(self, text: object) -> None:
        self._text = text if isinstance(text, str) else ""
        self._params: dict[str, Any] = {}
        understood = bool(self._text) and self._parse()
        if not understood:  # here, not in an except block: the driver's error repeats the text
            raise ConfigurationError(
                "this is no PostgreSQL DSN (not shown here, it may hold a password); expected"
                " postgresql://user:password@host:port/database"
            )

    def _parse(self) -> bool:
        psycopg = driver()
        try:
            self._params = psycopg.conninfo.conninfo_to_dict(self._text)
        except psycopg.Error:
            return False
        return True

    @property
    def database(self) -> str:
        """The name of the database, which is no secret."""
        return str(self._params.get("dbname") or "the user's database")

    def conninfo(self) -> str:
        """All of it as one text, for another driver that speaks libpq's language: not to be shown."""
        return str(driver().conninfo.make_conninfo(**(_DEFAULTS | self._params)))

    def connect(self) -> Any:
        """A new connection, in autocommit mode.

        Raises:
            psycopg.Error: When there is none to be had.
        """
        params = _DEFAULTS | self._params
        return driver().connect(autocommit=True, **params)

    def scrubbed(self, text: str) -> str:
        """``text`` without the password or the DSN, should it hold them."""
        for secret in (self._text, self._params.get("password"), self._params.get("sslpassword")):
            if secret:
                text = text.replace(str(secret), "***").replace(quote(str(secret), safe=""), "***")
        return text

    def __repr__(self) -> str:
        return "<DSN, not shown>"

    def __reduce__(self) -> str:
        raise TypeError("a DSN may hold a password and is not pickled")
