"""The checks of the project, each in an environment of its own: ``nox -l`` lists them, ``nox -s lint`` runs one."""

import re
import tomllib
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["lint", "types", "tests"]


@nox.session
def lint(session: nox.Session) -> None:
    """The format and the rules of ruff."""
    session.install(pinned("ruff"))
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """The types, checked by mypy."""
    session.install("-e", ".[dev]")
    session.run("mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """The tests; what follows ``--`` goes to pytest."""
    session.install("-e", ".[test]")
    session.run("pytest", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Every snippet, link and example of the documentation, and the whole site without a warning."""
    session.install("-e", ".[test,docs]")
    session.run("pytest", "tests/docs", *session.posargs)
    session.run("pytest", "-m", "docs", "tests/docs")
    session.run("python", "-m", "sphinx", "-W", "--keep-going", "docs", "docs/_build", env={"BREGOPT_DOCS": "small"})


@nox.session
def reliability(session: nox.Session) -> None:
    """The long tests: ``nox -s reliability -- faults``, or fuzz, or long; without a word all of them."""
    session.install("-e", ".[test]")
    for marker in session.posargs or ("faults", "fuzz", "long"):
        session.run("pytest", "--dist", "load", "-m", marker)


@nox.session
def devices(session: nox.Session) -> None:
    """The pass on a device, with torch."""
    session.install("-e", ".[test,torch]")
    session.run("pytest", "-m", "torch", *session.posargs)


@nox.session
def benchopt(session: nox.Session) -> None:
    """The exported race, run by benchopt."""
    session.install("-e", ".[test,benchopt]")
    session.run("pytest", "-m", "benchopt", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """The lines and branches that the tests reach."""
    session.install("-e", ".[dev]")
    session.run("pytest", "--cov", "--cov-report=term", *session.posargs)


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """The tests with the lowest version of each dependency that pyproject.toml allows."""
    constraints = Path(session.create_tmp()) / "lowest.txt"
    constraints.write_text("\n".join(lowest_versions()), encoding="utf-8")
    session.install("-e", ".[test]", "--constraint", str(constraints))
    session.run("pip", "list")
    session.run("pytest", *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """The wheel: built, installed where the sources are not seen, and used."""
    folder = Path(session.create_tmp()).resolve()
    for old in folder.glob("*.whl"):
        old.unlink()
    session.run("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), ".")
    session.install("--force-reinstall", *map(str, folder.glob("*.whl")))
    session.chdir(folder)
    session.run("python", "-c", "import bregopt; print(bregopt.__version__, bregopt.__file__)")
    session.run("bregopt", "plugins")
    session.run("bregopt", "solve")


def requirements() -> list[str]:
    """Everything that pyproject.toml asks for, extras included."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *(name for extra in project["optional-dependencies"].values() for name in extra)]


def pinned(tool: str) -> str:
    """``ruff==…`` as the extra ``dev`` has it."""
    return next(requirement for requirement in requirements() if requirement.startswith(f"{tool}=="))


def lowest_versions() -> list[str]:
    """``numpy==2.0`` for ``numpy>=2.0``, for every requirement that has a lower bound."""
    bounds = (re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", requirement) for requirement in requirements())
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound]
