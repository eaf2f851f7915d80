"""``bregopt solve``: from the options to a finished run."""

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, NoReturn, cast, final

import click
from attrs import evolve, frozen

import bregopt
from bregopt.cli.problem import COMMON, Model, absolute_setting, asked_model, counts
from bregopt.cli.report import check_pictures, draw
from bregopt.cli.run import AskedProblem, Run, check_folder, files_of, plain, row, summary, summary_rows, write_run
from bregopt.compiled import told_of_compiling
from bregopt.engine.checkpoint import checkpoints_in, forget, write_file
from bregopt.engine.state import State
from bregopt.errors import DuplicateNameError, FileError
from bregopt.host import defaults
from bregopt.matrices import LabelledMatrix, mycielskian
from bregopt.problem import Start
from bregopt.rules.interrupt import ENDINGS, Interrupt
from bregopt.rules.stopping import Status, StopRule

OUTPUT = (
    *("file", "plugin", "out", "overwrite", "plot", "report", "checkpoint_every", "certificate"),
    *("as_json", "quiet", "no_progress"),
)
"""The parameters that say nothing of the problem and the method."""
SETTINGS = "settings"
"""The parameter of --set, whose values may hold paths."""
BUILT_IN = "mycielskian9 (built in)"
EXIT_CODES = {Status.NOT_FINITE: 1, Status.DIVERGED: 1}
COMMAND = "command.json"
"""The file that says how a run was started, as long as it has not ended."""
PATH = click.Path(path_type=Path)

Put = Callable[[Any], Any]
"""Takes the matrix, and returns what the problem is to read in its place."""
Opener = Callable[[Any, bool], AbstractContextManager[Put]]


@final
class SolveCommand(click.Command):
    """``bregopt solve``, to which plugins may add options that say where the matrix is to lie."""

    openers: Mapping[str, Opener] = {}

    def add_place(self, option: click.Option, opener: Opener) -> None:
        """Add an option that names a place for the matrix, such as the address of a cluster.

        Parameters
        ----------
        option : click.Option
            Its value is ``None`` where it is not given.
        opener : callable
            ``opener(value, dashboard)`` is a context manager that is open during the run. It yields a function that
            takes the matrix and returns what the problem is to read in its place. ``dashboard`` tells whether it may
            say on stderr where the place can be watched.
        """
        taken = {text for param in self.params for text in (param.name, *param.opts)}
        for text in (option.name, *option.opts):
            if text in taken:
                raise DuplicateNameError(f"'bregopt solve' has the option '{text}' already.")
        self.params.insert([param.name for param in self.params].index("out"), option)
        self.openers = {**self.openers, str(option.name): opener}

    def model(self, problem: str, **options: Any) -> Model:
        """The problem that the options of this command name, for other commands that have the same ones.

        ``rank``, ``U``, ``V``, ``kernel``, ``settings`` and ``on`` are as the options give them. The model reads data
        from a file, and is composed with them.
        """
        return asked_model(problem, **options)

    def place(self, options: dict[str, Any], dashboard: bool) -> AbstractContextManager[Put]:
        """The place that was asked for, or this machine; its options are taken out of ``options``."""
        values = {name: options.pop(name) for name in self.openers}
        asked = [name for name, value in values.items() if value is not None]
        if len(asked) > 1:
            flags = [param.opts[0] for param in self.params if param.name in asked]
            raise click.UsageError(f"The matrix can lie in one place only: give {' or '.join(flags)}.")
        return self.openers[asked[0]](values[asked[0]], dashboard) if asked else nullcontext(lambda M: M)


@click.command(
    cls=SolveCommand,
    short_help="Decompose the matrix in a file, or a built-in one.",
    epilog="Exit codes: 0 the run ended by a rule, 1 it diverged or met nan or inf, 2 wrong input, 130 Ctrl-C, "
    "143 SIGTERM.",
)
@click.argument("file", required=False, type=PATH)
@click.option(
    "--header/--no-header",
    default=None,
    help="Whether the first line of a text file names the columns.  [default: found out]",
)
@click.option(
    "--index/--no-index",
    default=None,
    help="Whether the first column of a text file names the rows.  [default: found out]",
)
@click.option(
    "--problem",
    metavar="SPEC",
    default=defaults.PROBLEM,
    show_default=True,
    help="What is solved, as in 'nmf', 'robust-pca(d=0.5)' or 'low-rank(loss=huber(0.5))'.",
)
@click.option(
    SETTINGS,
    "--set",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of the problem, as in 'held_out=0.2' or 'mask=known.npy'. Repeat for more.",
)
@click.option(
    "-r",
    "--rank",
    type=int,
    metavar="N",
    help="Columns of U and rows of V, where the problem has them.  [default: 10, less for a small matrix]",
)
@click.option("-U", "U", metavar="SPEC", help="H on U, as in 'l1(0.01)'.  [default: the problem's own]")
@click.option("-V", "V", metavar="SPEC", help="H on V, as in 'nonneg'.  [default: the problem's own]")
@click.option(
    "--on", metavar="BLOCK=SPEC", multiple=True, help="H on another block, as in 'a=ridge(0.1)'. Repeat for more."
)
@click.option("--kernel", metavar="SPEC", help="Of the Bregman step, as in 'tight'.  [default: the problem's own]")
@click.option("--method", metavar="SPEC", help="As in 'aapb(beta=0.6, step=1)'.  [default: auto]")
@click.option(
    "--start", metavar="SPEC", help="First factors, as in 'tsvd', or the folder of a run.  [default: the problem's own]"
)
@click.option(
    "--seed", metavar="N", type=click.IntRange(min=0), default=0, show_default=True, help="For a random start."
)
@click.option(
    "--starts",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Return the best of so many starts, from --seed on. Those that fall behind are left on the way.",
)
@click.option(
    "--processes",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes for several starts. The result is the same with any number.",
)
@click.option("--max-iterations", metavar="N", type=click.IntRange(min=0), help="Stop after that many iterations.")
@click.option("--max-seconds", metavar="S", type=click.FloatRange(min=0), help="Stop after that much time.")
@click.option(
    "--tolerance", metavar="X", type=click.FloatRange(min=0), help="Stop at this relative error or stationarity."
)
@click.option("--stop", metavar="SPEC", multiple=True, help="Stop by a rule, as in 'plateau(1e-6)'. Repeat for more.")
@click.option(
    "--plugin", metavar="PY", type=PATH, multiple=True, help="Load this Python file as a plugin. Repeat for more."
)
@click.option("--out", metavar="DIR", type=PATH, help="Write factors, history and result there; before, checkpoints.")
@click.option("--overwrite", is_flag=True, help="Replace a finished run in the folder of --out.")
@click.option(
    "--checkpoint-every",
    metavar="S",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="Seconds between two checkpoints in the folder of --out.",
)
@click.option("--plot", metavar="FILE", type=PATH, help="Draw the curves of the run, as .png, .svg or .pdf.")
@click.option("--report", metavar="FILE", type=PATH, help="Write a page about the result, as one .html file.")
@click.option("--certificate", is_flag=True, help="Print the theorem behind the run, and which assumptions held.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the summary.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("--no-progress", is_flag=True, help="Show no progress bar.")
@click.pass_context
def solve(context: click.Context, /, out: Path | None, overwrite: bool, quiet: bool, **_: Any) -> None:
    """Find factors U and V of low rank of the matrix in FILE, or solve another problem whose data are in FILE.

    By default max(0, UV) is to be close to a non-negative matrix. --problem names another problem, --set gives its
    parameters, and -U, -V and --on its regularizers; 'bregopt plugins' lists what they can name.

    FILE is .npy, .npz, .mtx, .mtx.gz, .mat, .csv, .tsv or .txt (also .gz), .parquet, .h5ad, .h5, .hdf5 or .zarr, a
    folder of pictures, or a folder of 10x. 'cells.h5ad:layers/counts' names an array within a file. Names of rows and
    columns go with the factors. Without FILE a built-in matrix is solved, the Mycielskian graph of order 9.

    The run ends at a plateau, unless --stop or --tolerance names another goal, and after 1000 iterations at the latest,
    unless another limit is given. Ctrl-C ends it with the best result so far. With --out the run is saved every 30
    seconds: 'bregopt resume DIR' goes on with a run that was interrupted or killed. Several starts are not saved before
    their end. A SPEC is a name that 'bregopt plugins' lists, with arguments if it takes any.

    \b
    Examples:
      bregopt solve faces.mat -r 50 -V 'l1(0.015)' --max-seconds 20
      bregopt solve counts.mtx --stop 'relative-error(0.01)' --stop 'max-products(900)' --out run1
      bregopt solve counts.mtx --problem nmf -r 20 -V 'l1(0.1)'
      bregopt solve ratings.mtx --problem completion -r 5 -U 'ridge(1)' -V 'ridge(1)' --set held_out=0.1
    """
    if quiet:
        warnings.simplefilter("ignore")
    if out is not None:
        check_folder(out, overwrite)
    run_command(cast(SolveCommand, context.command), context.params)


def run_command(command: SolveCommand, params: dict[str, Any], *, resuming: bool = False) -> NoReturn:
    """``bregopt solve`` with these parameters, or the run of such a command that is in a folder; exits."""
    options = {name: value for name, value in params.items() if name not in OUTPUT}
    out, as_json, quiet = params["out"], params["as_json"], params["quiet"]
    for path in params["plugin"]:
        bregopt.load_plugin(path)
    silent = quiet or as_json
    pictures = {"plot": params["plot"], "report": params["report"]}
    check_pictures(**pictures)
    place = command.place(options, dashboard=not silent)
    saving = None if out is None else Saving(out, params, resuming)
    progress = not (silent or params["no_progress"])
    run = perform(params["file"], place, saving, progress=progress, silent=silent, **options)
    try:
        if out is not None:
            write_run(out, run, params)
            if run.result.status is not Status.INTERRUPTED:
                forget(out)
                (out / COMMAND).unlink(missing_ok=True)
    except FileError:
        if out is not None and not checkpoints_in(out):  # nothing could be written
            (out / COMMAND).unlink(missing_ok=True)
            with suppress(OSError):
                out.rmdir()
        raise
    finally:
        if as_json:
            click.echo(json.dumps(run.as_json(), indent=2, allow_nan=False))
        elif not quiet:
            click.echo(summary(run, saved=out is not None, certificate=params["certificate"]))
    if out is not None and not silent:
        click.echo(row("Written", f"{out}: {', '.join(files_of(run))}"))
        if run.result.status is Status.INTERRUPTED and checkpoints_in(out):
            click.echo(row("To go on", f"bregopt resume {out}"))
    drawn = draw(run.result, summary_rows(run), **pictures)
    if drawn and not silent:
        click.echo(row("Drawn", ", ".join(map(str, drawn))))
    click.get_current_context().exit(EXIT_CODES.get(run.result.status, 128 + run.signal if run.signal else 0))


@final
@frozen
class Saving:
    """The folder that a run is saved in, with the parameters of its command."""

    folder: Path
    params: Mapping[str, Any]
    resuming: bool

    @property
    def every(self) -> float:
        return float(self.params["checkpoint_every"])

    def remember_command(self, state: State) -> None:
        """Write down, once the run has begun, how it was started; paths as they are seen from everywhere."""
        if state.iteration > 0:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        absolute = {name: _absolute(value) for name, value in self.params.items()}
        absolute[SETTINGS] = [absolute_setting(text) for text in self.params[SETTINGS]]
        text = json.dumps(plain(absolute), indent=2, ensure_ascii=False)
        write_file(self.folder / COMMAND, lambda handle: handle.write(text.encode()))


def _absolute(value: Any) -> Any:
    if isinstance(value, Path):
        return value.absolute()
    return [_absolute(item) for item in value] if isinstance(value, (list, tuple)) else value


def perform(
    file: Path | None,
    place: AbstractContextManager[Put],
    saving: Saving | None = None,
    *,
    header: bool | None,
    index: bool | None,
    problem: str,
    rank: int | None,
    U: str | None,
    V: str | None,
    kernel: str | None,
    settings: Sequence[str],
    on: Sequence[str],
    method: str | None,
    start: str | None,
    seed: int,
    starts: int,
    processes: int,
    stop: Sequence[str],
    max_iterations: int | None,
    max_seconds: float | None,
    tolerance: float | None,
    progress: bool,
    silent: bool,
) -> Run:
    """Read, compose, solve; every spec is read before the data, so that a misspelt one costs no time."""
    from bregopt.host.api import iteration_limit, stop_rule
    from bregopt.host.compiling import CompilingLine
    from bregopt.host.progress import Bar, terminal

    interrupt = Interrupt()
    goal: StopRule = reduce(or_, (bregopt.make("stop", spec) for spec in stop), interrupt)
    rule = stop_rule(goal, max_iterations, max_seconds, tolerance)
    model = asked_model(problem, rank=rank, U=U, V=V, kernel=kernel, settings=settings, on=on)
    if file is None:
        model.check_matrix(f"what is solved without FILE, {BUILT_IN},")
    method = method or defaults.METHOD
    algorithm = bregopt.make("method", method)
    first = None if start is None else first_factors(start)

    console = terminal() if progress else None
    bar = Bar(console, iteration_limit(goal, max_iterations, max_seconds), max_seconds) if console else None
    watching: list[Any] = [bar] if bar else []
    telling = told_of_compiling((lambda _: None) if silent else (bar or CompilingLine()).compiling)

    with place as put, telling:
        given = LabelledMatrix(mycielskian()) if file is None else model.read_labelled(file, header, index)
        M = given.matrix
        chosen = model.rank(M.shape)
        composed = evolve(model.compose(put(M), rank=chosen), labels=given.labels)
        with bar or nullcontext(), interrupt.listening(bar.stopping if bar else None, ENDINGS):
            if saving is not None and saving.resuming:
                result = bregopt.resume(
                    saving.folder, composed, stop=rule, observers=watching, checkpoint_every=saving.every
                )
            else:
                kept: dict[str, Any] = {}
                if saving is not None and starts == 1:
                    watching.append(saving.remember_command)
                    kept = {"checkpoint": saving.folder, "checkpoint_every": saving.every}
                kept |= {"seed": seed, "starts": starts, "processes": processes}
                kept |= {"max_iterations": max_iterations, "max_seconds": max_seconds, "tolerance": tolerance}
                result = bregopt.solve(composed, method=algorithm, start=first, stop=goal, observers=watching, **kept)
    nonzeros, missing = counts(M)
    asked = AskedProblem(
        name=problem,
        matrix=BUILT_IN if file is None else file.name,
        shape=M.shape,
        nonzeros=nonzeros,
        missing=missing,
        **{name: model.shown(name) for name in COMMON} | {"rank": chosen},
        parameters=model.others(),
        words=tuple(model.words()),
        labels=given.labels.taken or None,
    )
    return Run(problem=asked, method=method, start=start, seed=seed, result=result, signal=interrupt.heard)


def first_factors(start: str) -> Start | Path:
    """A start from its spec, or the folder or file that holds one."""
    if os.sep in start or Path(start).exists():
        return Path(start)
    made: Start = bregopt.make("start", start)
    return made
