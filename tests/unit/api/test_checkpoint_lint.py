"""Loops that never reach a checkpoint are found in functions as people write them, and others are left alone."""

from __future__ import annotations

import ast
import functools
import linecache
import sysconfig
import textwrap
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chongming_task import task
from chongming_task.checkpoint_lint import CheckpointWarning, Finding, format_findings, lint_function, lint_source

IMPORT = "from chongming_task import TaskContext, current_context, task\nimport itertools, time\n"


def lint(source: str, header: str = IMPORT) -> list[Finding]:
    """Findings in a source that is written with an indent."""
    return lint_source(header + textwrap.dedent(source), "tasks.py")


def loops(source: str, header: str = IMPORT) -> list[str]:
    """The loops found."""
    return [each.loop for each in lint(source, header)]


FOUND = {
    "plain for": (
        """
        @task
        def load(ctx, rows):
            for row in rows:
                row.save()
        """,
        ["for row in rows"],
    ),
    "endless while": (
        """
        @task(name="poll")
        def poll(ctx, queue):
            while True:
                item = queue.get(timeout=1)
                if item is None:
                    break
        """,
        ["while True"],
    ),
    "a checkpoint before, after and in the else": (
        """
        @task
        def export(ctx, rows):
            ctx.checkpoint()
            for row in rows:
                row.write()
            else:
                ctx.checkpoint()
            ctx.checkpoint()
        """,
        ["for row in rows"],
    ),
    "progress and log are no checkpoints": (
        """
        @task
        def export(ctx, rows):
            for n, row in enumerate(rows):
                row.write()
                ctx.progress(n)
                ctx.log.info("row %s", n)
        """,
        ["for n, row in enumerate(rows)"],
    ),
    "a checkpoint that is only defined": (
        """
        @task
        def export(ctx, rows):
            for row in rows:
                def later():
                    ctx.checkpoint()
                row.save()
                lambda: ctx.checkpoint()
        """,
        ["for row in rows"],
    ),
    "a helper that reaches none": (
        """
        def write(row):
            time.sleep(1)

        @task
        def export(ctx, rows):
            for row in rows:
                write(row)
        """,
        ["for row in rows"],
    ),
    "a helper that would, if it got the context": (
        """
        def write(row, ctx=None):
            if ctx is not None:
                ctx.checkpoint()

        @task
        def export(ctx, rows):
            for row in rows:
                write(row)
        """,
        ["for row in rows"],
    ),
    "helpers that go round in a circle": (
        """
        def ping(ctx, n):
            return pong(ctx, n - 1)

        def pong(ctx, n):
            return ping(ctx, n) if n else None

        @task
        def play(ctx, rows):
            for row in rows:
                ping(ctx, row)
        """,
        ["for row in rows"],
    ),
    "a rows function called once": (
        """
        def read(ctx):
            ctx.checkpoint()
            return [1, 2, 3]

        @task
        def load(ctx):
            for row in read(ctx):
                row.save()
        """,
        ["for row in read(ctx)"],
    ),
    "tracked, but gone through at once": (
        """
        @task
        def load(ctx, rows):
            for row in sorted(ctx.track(rows)):
                row.save()
        """,
        ["for row in sorted(ctx.track(rows))"],
    ),
    "both loops": (
        """
        @task
        def load(ctx, days):
            for day in days:
                for row in day:
                    row.save()
        """,
        ["for day in days", "for row in day"],
    ),
    "an inner loop that may take long": (
        """
        @task
        def load(ctx, days):
            for day in ctx.track(days):
                for row in day:
                    row.save()
        """,
        ["for row in day"],
    ),
    "a small range around a slow call": (
        """
        @task
        def fetch(ctx, client):
            for attempt in range(5):
                if client.get("/"):
                    pass
        """,
        ["for attempt in range(5)"],
    ),
    "a long range of quick things": (
        """
        @task
        def count(ctx):
            n = 0
            for i in range(10_000_000):
                n += i
            for i in range(100):
                for j in range(100):
                    n += j
            for i in range(0, 10**9, -1 + 2):
                n += i
            return n
        """,
        ["for i in range(10000000)", "for i in range(100)", "for i in range(0, 10 ** 9, -1 + 2)"],
    ),
    "async": (
        """
        @task
        async def listen(ctx, stream):
            async for message in stream:
                await message.ack()
            while await stream.alive():
                await stream.ping()
        """,
        ["async for message in stream", "while await stream.alive()"],
    ),
    "no context at all": (
        """
        @task
        def load(rows):
            for row in rows:
                row.save()
        """,
        ["for row in rows"],
    ),
    "annotated, under another name": (
        """
        def load(context: TaskContext, rows):
            for row in rows:
                row.save()

        def store(context: "chongming_task.TaskContext", rows):
            for row in rows:
                row.save()
        """,
        ["for row in rows", "for row in rows"],
    ),
    "a function in the task": (
        """
        @task
        def load(ctx, files):
            def one(file):
                for line in file:
                    line.save()
            for file in ctx.track(files):
                one(file)
        """,
        ["for line in file"],
    ),
    "a task in a class and in a function": (
        """
        class Jobs:
            @task
            def load(ctx, rows):
                while rows:
                    rows.pop().save()

        def make():
            @task
            def load(ctx, rows):
                while rows:
                    rows.pop().save()
            return load
        """,
        ["while rows", "while rows"],
    ),
    "inside other statements": (
        """
        @task
        def load(ctx, path):
            try:
                with open(path) as file:
                    if file:
                        for line in file:
                            line.save()
            finally:
                match path:
                    case "x":
                        while path:
                            path = path.next()
        """,
        ["for line in file", "while path"],
    ),
    "a name that hides the context": (
        """
        def step(row, check):
            check.run()

        @task
        def load(ctx, rows):
            def inner(ctx):
                ctx.checkpoint()
            for row in rows:
                inner(row)
                step(row, row)
        """,
        ["for row in rows"],
    ),
    "printing the context": (
        """
        @task
        def load(ctx, rows):
            for row in rows:
                print(ctx, row.save())
        """,
        ["for row in rows"],
    ),
    "a loop that goes on after its first pass": (
        """
        @task
        def load(ctx, rows):
            for row in rows:
                if not row.ready():
                    continue
                return row
        """,
        ["for row in rows"],
    ),
    "a generator that reaches none": (
        """
        def read(file):
            for line in file:
                yield line

        @task
        def load(ctx, file):
            for line in read(file):
                line.save()
        """,
        ["for line in read(file)"],
    ),
}

QUIET = {
    "a checkpoint": """
        @task
        def load(ctx, rows):
            for n, row in enumerate(rows):
                row.save()
                if n % 100 == 0:
                    ctx.checkpoint()
        """,
    "sleep": """
        @task
        def poll(ctx, client):
            while not client.done():
                ctx.sleep(5)
        """,
    "an awaited checkpoint": """
        @task
        async def listen(ctx, stream):
            async for message in stream:
                await message.ack()
                await ctx.acheckpoint()
            async for message in ctx.atrack(stream):
                await message.ack()
            while stream:
                await ctx.asleep(1)
        """,
    "the test of a while": """
        def more(ctx, queue):
            ctx.checkpoint()
            return bool(queue)

        @task
        def drain(ctx, queue):
            while more(ctx, queue):
                queue.pop().run()
            while (ctx.checkpoint(), queue)[1]:
                queue.pop().run()
        """,
    "track": """
        @task
        def load(ctx, rows):
            for row in ctx.track(rows, unit="rows"):
                row.save()
            for n, row in enumerate(ctx.track(rows)):
                row.save()
            for a, b in zip(rows, itertools.islice(ctx.track(rows), 5)):
                a.save(b)
            for row in (r.load() for r in ctx.track(rows)):
                row.save()
            for row in map(str, ctx.track(rows)):
                row.save()
        """,
    "track by a name": """
        @task
        def load(ctx, rows):
            tracked = ctx.track(rows)
            for row in tracked:
                row.save()
            go_through = ctx.track
            for row in go_through(rows):
                row.save()
        """,
    "aliases": """
        @task
        def load(ctx, rows):
            check = ctx.checkpoint
            for row in rows:
                row.save()
                check()
            look, log = ctx.checkpoint, ctx.log
            again = look
            for row in rows:
                row.save(log)
                again()
            stop = lambda: ctx.checkpoint()
            for row in rows:
                row.save(stop())
            if (pause := ctx.sleep):
                while rows:
                    rows.pop().save(pause(1))
            c: TaskContext = ctx
            while rows:
                rows.pop().save(c.checkpoint())
        """,
    "an inner loop that reaches one": """
        @task
        def load(ctx, days):
            for day in days:
                for row in day:
                    row.save()
                    ctx.checkpoint()
        """,
    "current_context": """
        import chongming_task as ct

        @task
        def load(rows):
            for row in rows:
                row.save()
                current_context().checkpoint()
            me = ct.current_context()
            for row in me.track(rows):
                row.save()
            check = current_context().checkpoint
            for row in rows:
                row.save()
                check()
        """,
    "a helper": """
        def save(ctx, row):
            row.save()
            ctx.checkpoint()

        @task
        def load(ctx, rows):
            for row in rows:
                save(ctx, row)
            for row in rows:
                save(row=row, ctx=ctx)
        """,
    "a helper that names it otherwise": """
        def save(row, *, context):
            row.save()
            context.checkpoint()

        def write(row, tick):
            row.save()
            tick()

        @task
        def load(ctx, rows):
            for row in rows:
                save(row, context=ctx)
            for row in rows:
                write(row, ctx.checkpoint)
        """,
    "helpers of helpers, in a circle": """
        def a(c, n):
            return b(c, n - 1)

        def b(c, n):
            if n:
                return a(c, n)
            return d(c)

        def d(c):
            c.checkpoint()

        @task
        def load(ctx, rows):
            for row in rows:
                a(ctx, row)
        """,
    "a helper that asks for the context itself": """
        def save(row):
            row.save()
            current_context().checkpoint()

        @task
        def load(ctx, rows):
            for row in rows:
                save(row)
        """,
    "a helper that goes on with the task's own name": """
        @task
        def load(ctx, rows):
            def save(row):
                row.save()
                ctx.checkpoint()
            for row in rows:
                save(row)
        """,
    "an async helper": """
        async def save(ctx, row):
            await row.save()
            await ctx.acheckpoint()

        @task
        async def load(ctx, rows):
            for row in rows:
                await save(ctx, row)
        """,
    "a generator with checkpoints": """
        def read(ctx, file):
            for line in file:
                ctx.checkpoint()
                yield line

        def tracked(ctx, rows):
            yield from ctx.track(rows)

        @task
        def load(ctx, file):
            for line in read(ctx, file):
                line.save()
            for n, line in enumerate(tracked(ctx, file)):
                line.save(n)
        """,
    "a helper given something tracked": """
        def save_all(rows):
            for row in rows:
                row.save()

        @task
        def load(ctx, days):
            for day in days:
                save_all(ctx.track(day))
        """,
    "a function from elsewhere, given the context": """
        from mine import save

        @task
        def load(ctx, rows, saver):
            for row in rows:
                save(ctx, row)
            for row in rows:
                saver.save(row, context=ctx)
            for row in saver.rows(ctx):
                row.save()
        """,
    "map with a helper": """
        def one(row):
            current_context().checkpoint()
            return row

        @task
        def load(ctx, rows):
            for row in map(one, rows):
                row.save()
        """,
    "partial": """
        from functools import partial

        @task
        def load(ctx, rows):
            nap = partial(ctx.sleep, 1)
            for row in rows:
                row.save()
                nap()
        """,
    "an attribute": """
        @task
        def load(ctx, rows, job):
            job.ctx = ctx
            for row in rows:
                row.save()
                job.ctx.checkpoint()
        """,
    "tqdm": """
        from chongming_task.tqdm import tqdm, trange
        import chongming_task.tqdm as bars
        import chongming_task.tqdm

        @task
        def load(ctx, rows):
            for row in tqdm(rows, desc="x"):
                row.save()
            for n in trange(10_000):
                rows[n].save()
            for row in bars.tqdm(rows):
                row.save()
            for row in chongming_task.tqdm.tqdm(rows):
                row.save()
            bar = tqdm(rows)
            for row in bar:
                row.save()
            with tqdm(total=5) as bar:
                while rows:
                    rows.pop().save()
                    bar.update(1)
        """,
    "short loops": """
        @task
        def add(ctx, table):
            total, names = 0, []
            for weight in (0.1, 0.2, 0.7):
                total += weight
            for n in range(1000):
                total += n
            for n in range(3):
                for name in ["a", "b"]:
                    names.append(name.upper())
            for key, value in {"a": 1, "b": 2}.items():
                total += value
            for letter in "abc":
                names.append(letter)
            for n, (a, b) in enumerate(zip([1, 2], range(10))):
                total += a * b
            return total
        """,
    "a quick loop inside another": """
        @task
        def add(ctx, rows):
            total = 0
            for row in ctx.track(rows):
                for cell in row:
                    total += float(cell)
                ctx.progress(message=str(total))
            return total
        """,
    "one pass": """
        @task
        def first(ctx, rows):
            for row in rows:
                return row
            while True:
                break
            for row in rows:
                raise LookupError(row)
        """,
    "comprehensions": """
        @task
        def load(ctx, rows):
            return [row.load() for row in rows]
        """,
    "silenced": """
        @task
        def load(ctx, rows):
            for row in rows:  # no-checkpoint: three rows at most
                row.save()
            while (
                rows
            ):  # no-checkpoint
                rows.pop().save()
        """,
    "no task": """
        def load(rows):
            for row in rows:
                row.save()

        class Reader:
            def read(self, rows):
                while rows:
                    rows.pop().save()

        while False:
            load([])
        """,
}


@pytest.mark.parametrize(("source", "expected"), FOUND.values(), ids=FOUND.keys())
def test_a_loop_without_a_checkpoint_is_found(source, expected):
    """Each of these can be neither paused nor stopped while it runs."""
    assert loops(source) == expected


@pytest.mark.parametrize("source", QUIET.values(), ids=QUIET.keys())
def test_a_loop_that_can_be_stopped_is_left_alone(source):
    """A false alarm costs more than a miss: who is alarmed too often no longer looks."""
    assert lint(source) == []


def test_a_finding_says_where_what_and_how_to_mend_it():
    """For a person and for an editor."""
    found = lint(
        """
        @task
        def load(ctx, rows):
            def one(row):
                while row:
                    row = row.next()
            for row in rows:
                one(row)
        """
    )
    assert [(each.path, each.line, each.function) for each in found] == [
        ("tasks.py", 7, "load.<locals>.one"),
        ("tasks.py", 9, "load"),
    ]
    assert "`for row in rows` in load reaches no checkpoint" in found[1].message
    assert "ctx.track(...)" in found[1].message
    assert "ctx.checkpoint()" in found[0].message
    assert "track" not in found[0].message
    lines = format_findings(found).splitlines()
    assert lines[1] == f"tasks.py:9: {found[1].message}"
    assert format_findings([]) == ""


def test_the_remedy_names_what_is_there():
    """The context by its name; where there is none, how to get it."""
    (named,) = lint("def load(me: TaskContext, rows):\n    for row in rows:\n        row.save()\n")
    assert "me.track(...)" in named.message
    (awaited,) = lint("async def load(ctx, rows):\n    async for row in rows:\n        await row.save()\n")
    assert "ctx.atrack(...)" in awaited.message
    assert "await ctx.acheckpoint()" in awaited.message
    (none,) = lint("@task\ndef load(rows):\n    for row in rows:\n        row.save()\n")
    assert "first parameter ctx" in none.message
    assert "current_context().checkpoint()" in none.message


def test_a_long_loop_is_shortened():
    """A message stays a line."""
    (found,) = lint(f"@task\ndef load(ctx):\n    for row in source.rows({'x' * 500}):\n        row.save()\n")
    assert len(found.loop) == 60
    assert "\n" not in found.message


LOOP = "def load(ctx, rows):\n    for row in rows:\n        row.save()\n"


@pytest.mark.parametrize(
    ("header", "count"),
    [
        ("import chongming_task as ct\n@ct.task\n", 1),
        ("import chongming_task\n@chongming_task.task(priority=1)\n", 1),
        ("from chongming_task import task as job\n@job\n", 1),
        ("from chongming_task import *\n@task\n", 1),
        ("from chongming_task.api.task import task\n@task\n", 1),
        ("@task\n", 1),  # a later cell of a notebook
        ("import chongming_task\n", 1),  # called ctx, in a module that uses the package
        ("", 0),
        ("from click import pass_context\n@pass_context\n", 0),
        ("from celery import task\n@task\n", 0),
        ("import prefect\n@prefect.task\n", 0),
        ("def task(f): return f\n@task\n", 0),
        ("task = print\n@task\n", 0),
        ("from .jobs import task\n@task\n", 0),
    ],
)
def test_what_a_task_is(header, count):
    """Ours, by whatever name, and nobody else's."""
    assert len(lint_source(header + LOOP)) == count


@pytest.mark.parametrize("text", ["def (", "x = '\x00'", "\ud800", "if x:\npass", "return" * 3 + "("])
def test_what_is_no_python_is_one_finding(text):
    """Whoever looks at many files learns of it, and goes on."""
    (found,) = lint_source(text, "broken.py")
    assert "no valid Python" in found.message
    assert format_findings([found]).startswith("broken.py:")


def test_source_that_is_nested_beyond_reason_is_one_finding():
    """It is told, not crashed on."""
    text = f"@task\ndef f(ctx):\n    while {'.'.join(['a'] * 5_000)}:\n        g({'-' * 900}1)\n"
    assert len(lint_source(text)) == 1


def test_dubious_escapes_do_not_warn():
    """The linter was asked about loops."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lint_source(r"x = '\d'") == []


# functions


def stuck(ctx, rows):
    for row in rows:
        row.save()


def fine(ctx, rows):
    for row in ctx.track(rows):
        save(ctx, row)


def save(ctx, row):
    while row:
        row = row.next()
        ctx.checkpoint()


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


@decorated
def wrapped(ctx, rows):
    while rows:
        rows.pop().save()


def test_a_function_is_looked_at_in_its_module():
    """Whether it is marked or not, and through what is wrapped around it."""
    (found,) = lint_function(stuck)
    assert found.path == stuck.__code__.co_filename
    assert found.line == stuck.__code__.co_firstlineno + 1
    assert lint_function(task(stuck)) == [found]
    assert lint_function(fine) == []
    assert [each.loop for each in lint_function(wrapped)] == ["while rows"]


def test_a_function_without_source_has_no_findings():
    """Builtins, what exec made, callable objects, and a file that has changed since."""
    namespace: dict[str, object] = {}
    exec(LOOP, namespace)
    for function in (print, namespace["load"], functools.partial(stuck, None), pytest.raises, object()):
        assert lint_function(function) == []  # type: ignore[arg-type]


def test_a_changed_file_gives_no_wrong_lines(tmp_path):
    """The source is not the function's any more."""
    path = tmp_path / "changing.py"
    path.write_text(LOOP)
    namespace: dict[str, object] = {}
    exec(compile(LOOP, str(path), "exec"), namespace)
    assert len(lint_function(namespace["load"])) == 1  # type: ignore[arg-type]
    path.write_text("\n\n" + LOOP)
    linecache.clearcache()
    assert lint_function(namespace["load"]) == []  # type: ignore[arg-type]


def test_strict_warns_where_the_loop_is():
    """At decoration, with the place and the remedy."""
    with pytest.warns(CheckpointWarning) as caught:

        @task(strict=True)
        def load(ctx, rows):
            for row in rows:
                row.save()

    (warning,) = caught
    line = load.spec.function.__code__.co_firstlineno + 2
    assert (warning.filename, warning.lineno) == (__file__, line)
    assert str(warning.message).startswith(f"{__file__}:{line}: the loop `for row in rows` in ")
    assert "ctx.track(...)" in str(warning.message)
    assert load.spec.name == "load"


def test_strict_is_quiet_about_what_is_fine():
    """And so is a task that is not strict."""

    @task(strict=True)
    def good(ctx, rows):
        for row in ctx.track(rows):
            row.save()

    @task
    def bad(ctx, rows):
        for row in rows:
            row.save()

    assert good.spec.name == "good"
    assert bad.spec.name == "bad"


# nothing breaks it

STDLIB = Path(sysconfig.get_path("stdlib"))
FILES = sorted(
    p
    for f in ("", "asyncio", "json", "unittest", "test")
    for p in (STDLIB / f).glob("*.py")
    if p.stat().st_size < 100_000
)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_standard_library_is_no_trouble():
    """Two hundred files as they are, and as if every function were a task."""
    for path in FILES[:: max(1, len(FILES) // 200)]:
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:  # a test of encodings
            continue
        plain = lint_source(text, str(path))
        assert all("no valid Python" in each.message for each in plain if not each.function), path
        for each in lint_source(text.replace("\ndef ", "\n@task\ndef "), str(path)):
            assert 0 < each.line <= text.count("\n") * 2 + 1


def statements(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Compound statements around others."""
    heads = st.sampled_from(
        [
            "for x in ctx.track(y):",
            "for x, *y in f(ctx):",
            "while (z := g(x)):",
            "with tqdm(x) as y, y as ctx:",
            "def f(ctx, /, x=f, *y, g, **z):",
            "@task\ndef g(x, ctx=None):",
            "async def h(ctx: 'TaskContext'):",
            "class C(f(x)):",
            "if x:",
            "try:\n    pass\nexcept* x as ctx:",
        ]
    )

    def nest(parts: tuple[str, list[str]]) -> str:
        head, body = parts
        return head + "\n" + textwrap.indent("\n".join(body), "    ")

    return st.tuples(heads, st.lists(children, min_size=1, max_size=4)).map(nest)


SIMPLE = st.sampled_from(
    [
        "ctx.checkpoint()",
        "f = ctx.checkpoint",
        "ctx = f",
        "f(ctx)",
        "g(f, x=ctx)",
        "x = y = g",
        "y = lambda: f(y())",
        "f = lambda: f()",
        "x = (f(z) for z in ctx.track(y))",
        "from chongming_task.tqdm import tqdm as f",
        "import chongming_task.tqdm as y, chongming_task",
        "ctx.x.y, (z, *x) = f, y",
        "del ctx",
        "pass",
        "x = f if g else ctx or y",
        "h(*ctx, **g)",
        "yield_ = [f() for f in map(g, x)]",
    ]
)


@given(st.lists(st.recursive(SIMPLE, statements, max_leaves=12), max_size=6).map("\n".join))
@settings(deadline=None, max_examples=300)
def test_no_valid_source_breaks_it(text):
    """Aliases in circles, names used for everything, definitions in any order."""
    ast.parse(text)
    for each in lint_source("import chongming_task\n" + text):
        assert each.function
        assert each.message
