"""Passwords are not repeated, wherever they were written."""

from __future__ import annotations

import pytest

from chongming_task.cli.parser import parser_for
from chongming_task.cli.secrets import Hidden, has_password

SECRET = {
    "postgresql://me:hunter2@db/work": "hunter2",
    "postgres://me:hunter2@db:5432/work?sslmode=require": "hunter2",
    "postgresql://db/work?user=me&password=hunter2": "hunter2",
    "postgresql://me:p%40hunter2@db/work": "p@hunter2",
    "host=db user=me password=hunter2": "hunter2",
    "host=db password='hunter2 more'": "hunter2 more",
    "postgresql://me:hunter2 more@db/work": "hunter2 more",
}
DSNS = list(SECRET)


@pytest.mark.parametrize(("dsn", "password"), SECRET.items())
def test_a_password_is_known_and_hidden(dsn, password):
    """In the DSN as it was written, in quotes, and alone."""
    hide = Hidden([dsn])
    assert has_password(dsn)
    for text in (dsn, repr(dsn), f"cannot connect: {dsn}, tried twice", f"FATAL: {password}, really"):
        told = hide(text)
        assert "hunter2" not in told
        assert " more" not in told  # nor what follows a blank


@pytest.mark.parametrize("dsn", [dsn for dsn in DSNS if "more" not in dsn])
def test_a_dsn_that_nobody_wrote_here_is_hidden_too(dsn):
    """One that comes out of a message of somebody else."""
    assert "hunter2" not in Hidden([])(f"cannot connect to {dsn}")


@pytest.mark.parametrize("where", ["runs.db", "postgresql://db/work", "postgresql://me@db/work", "", "http://[bad"])
def test_what_holds_no_password_is_said_so(where):
    """No warning for these."""
    assert not has_password(where)
    assert Hidden([where])("a plain message") == "a plain message"


@pytest.mark.parametrize("dsn", DSNS)
@pytest.mark.parametrize(
    "words", [["{}"], ["ps", "{}"], ["--dbb", "{}", "ps"], ["ps", "--limit", "{}"], ["ps", "--dbb={}"]]
)
def test_a_parser_that_complains_repeats_none(dsn, words, capsys):
    """Argparse repeats what it does not understand."""
    given = [word.format(dsn) for word in words]
    parser = parser_for(Hidden([*given, *(word.partition("=")[2] for word in given)]))
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(given)
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert "hunter2" not in told.out + told.err
    assert "chongming-task" in told.err
