"""Makes the golden databases of the schema that the code beside it writes: once, when a release fixes that schema.

    python -m tests.golden.make

Writes ``schema-N.db`` and ``schema-N.postgres.sql``. One that is there already is left alone: it is what a user's disk
may hold.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import warnings
from pathlib import Path

from chongming_task import PostgresTaskStore, SqliteTaskStore
from chongming_task.stores.queries import queries
from tests.golden import history
from tests.support import postgres

HERE = Path(__file__).parent


def make_sqlite(folder: Path) -> Path:
    """A file with the history, small and folded into one."""
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch, "new.db")
        store = SqliteTaskStore(made)
        history.write(store)
        version = store.meta()["schema_version"]
        store.close()
        with sqlite3.connect(made, isolation_level=None) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA page_size = 1024")
            connection.execute("VACUUM")
            connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
        return Path(shutil.copyfile(made, _free(folder / f"schema-{version}.db")))


def make_postgres(folder: Path) -> Path:
    """The statements that make the tables and fill them: what a dump says, without what differs between servers."""
    import psycopg

    with postgres.cluster() as dsn:
        store = PostgresTaskStore(dsn)
        history.write(store)
        version = int(store.meta()["schema_version"])
        store.close()
        with psycopg.connect(dsn, autocommit=True) as connection:
            names = connection.execute(
                "SELECT relname FROM pg_class WHERE relname LIKE 'chongming%' AND relkind = 'r' ORDER BY oid"
            ).fetchall()
            rows = [line for (name,) in names for line in _rows(connection, name)]
    sql = queries("postgres.sql")
    ddl = [sql["bootstrap"], *(sql[f"migration_{n}"] for n in range(1, version + 1))]
    made = _free(folder / f"schema-{version}.postgres.sql")
    made.write_text("\n\n".join([*ddl, "\n".join(rows)]) + "\n", encoding="utf-8")
    return made


def _rows(connection, table: str) -> list[str]:
    from psycopg import sql

    cursor = connection.execute(sql.SQL("SELECT * FROM {} ORDER BY 1, 2").format(sql.Identifier(table)))
    names = [column.name for column in cursor.description]
    lines = []
    for row in cursor:
        values = ", ".join(sql.Literal(value).as_string(connection) for value in row)
        lines.append(f"INSERT INTO {table} ({', '.join(names)}) OVERRIDING SYSTEM VALUE VALUES ({values});")
    if "seq" in names and _is_identity(connection, table):
        lines.append(f"SELECT setval(pg_get_serial_sequence('{table}', 'seq'), (SELECT max(seq) FROM {table}));")
    return lines


def _is_identity(connection, table: str) -> bool:
    return connection.execute("SELECT pg_get_serial_sequence(%s, 'seq')", [table]).fetchone()[0] is not None


def _free(path: Path) -> Path:
    if path.exists():
        raise SystemExit(f"{path} is there already, and is what a user's disk may hold: raise the schema's version")
    return path


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for make in (make_sqlite, make_postgres):
        print(make(HERE))
