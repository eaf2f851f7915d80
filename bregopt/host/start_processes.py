"""Starts in processes of their own: a run travels there and back as a checkpoint, in pieces of half a second."""

import io
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, final

from bregopt.engine.checkpoint import FORMAT, Checkpoint, read_archive, saved_run, write_archive
from bregopt.engine.iterate import Iteration
from bregopt.engine.observer import Observer
from bregopt.engine.saving import Json, from_json, to_json
from bregopt.engine.solve import Course
from bregopt.engine.starts import StartedRun, WholeClock, is_over
from bregopt.errors import BregoptError
from bregopt.host.compose import catalog
from bregopt.host.resume import loaded_problem, packages, saved_problem
from bregopt.host.selection import with_method_kernels
from bregopt.host.watching import interrupts
from bregopt.problem import ResolvedProblem

PIECE = 0.5
"""Seconds after which a process reports, so that Ctrl-C is heard and nothing more is lost with it."""
WORKER = "from bregopt.host.start_processes import serve; serve()"
"""A program of its own: the script that called ``solve`` is not run again, as multiprocessing would do."""
PIPED = Path("a pipe")
Message = tuple[Json, Any]
"""JSON, and the arrays that it refers to."""


def send(handle: IO[bytes], content: Json, arrays: Any) -> None:
    """Its length, and an archive without pickles."""
    buffer = io.BytesIO()
    write_archive(buffer, {"format": FORMAT, **content}, arrays)
    handle.write(len(buffer.getvalue()).to_bytes(8, "little"))
    handle.write(buffer.getvalue())
    handle.flush()


def receive(handle: IO[bytes]) -> Message | None:
    """What was sent, or ``None`` at the end."""
    head = handle.read(8)
    size = int.from_bytes(head, "little")
    data = handle.read(size)
    return read_archive(io.BytesIO(data)) if len(head) == 8 and len(data) == size else None


def restored(course: Course, content: Json, arrays: Any) -> Any:
    """The verdict of the run, which goes on from here as if it had never been away."""
    snapshot = Checkpoint(PIPED, content, arrays).snapshot(course.places)
    course.restore(snapshot)
    return snapshot.verdict


# ---- the process


def serve() -> None:
    """Take the problem from stdin, then one run after the other, and send each back after a while."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for the one that started it
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a part prints is no answer
    catalog()
    problem: ResolvedProblem | None = None
    while (message := receive(sys.stdin.buffer)) is not None:
        try:
            if problem is None:
                problem = loaded_problem(*message)
                continue
            send(answers, *_gone_on(problem, *message))
        except BrokenPipeError:
            return
        except Exception as error:  # it is met again, and told, where the run goes on without this process
            send(answers, {"trouble": f"{type(error).__name__}: {error}"}, ())
            return


def _gone_on(problem: ResolvedProblem, task: Json, arrays: Any) -> Message:
    method = from_json(task["method"], packages())
    ready = with_method_kernels(problem, method)
    course = Course(ready, method, Iteration(ready, method, None))
    run = StartedRun(task["seed"], lambda: course, task["unit"], course, restored(course, task, arrays))
    run.leave()
    on_the_way = max(time.time() - task["sent"], 0.0)  # while this process was started, too
    stop = WholeClock(from_json(task["stop"], packages()), task["before"] + on_the_way)
    amount = math.inf if task["amount"] is None else task["amount"]
    with ready.oracle.working():
        run.advance(amount, stop, (), until=time.monotonic() + PIECE)
    return saved_run(course.snapshot(run.verdict), course.places)


# ---- the one that started it


class LostError(Exception):
    """A process that did not answer, or had trouble."""


@final
class Worker:
    """A process that serves, with the problem."""

    def __init__(self, problem: Message) -> None:
        path = os.pathsep.join(it for it in sys.path if it)
        environment = {**os.environ, "PYTHONPATH": path}
        command = [sys.executable, "-c", WORKER]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
        )
        self._first: list[Message] = [problem]

    def ask(self, task: Json, arrays: Any) -> Message:
        """The run after a while."""
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise LostError("A process has no pipes.")
        while self._first:
            send(process.stdin, *self._first.pop())
        send(process.stdin, task, arrays)
        answer = receive(process.stdout)
        if answer is None:
            raise LostError("A process ended before its time.")
        if "trouble" in answer[0]:
            raise LostError(answer[0]["trouble"])
        return answer

    def kill(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


@final
class Processes:
    """Some processes with the problem, each for any of the runs."""

    def __init__(self, number: int, problem: ResolvedProblem, stop: WholeClock, observers: Sequence[Observer]) -> None:
        self._stop, self._observers, self._interrupts = stop, observers, list(interrupts(stop.rule))
        self._rule, saved = to_json(stop.rule, "the stop rule"), saved_problem(problem)
        self._pool = ThreadPoolExecutor(number, "bregopt-starts")
        self._all = [Worker(saved) for _ in range(number)]
        self._idle = list(self._all)
        self.trouble = ""
        """why the runs went on without them"""

    def advance(self, runs: Sequence[StartedRun], amount: float) -> None:
        """Let some runs go on, each so far or to its end; in turn, where a process was lost."""
        for run in runs:
            if run.course is None and not is_over(runs):
                run.advance(0.0, self._stop, self._observers)
        if not self.trouble:
            try:
                self._together(runs, amount)
            except (LostError, OSError, BregoptError) as error:
                self.trouble = str(error)
                self.close()
        for run in runs:
            if not is_over(runs):
                run.advance(amount, self._stop, self._observers)

    def _together(self, runs: Sequence[StartedRun], amount: float) -> None:
        at_work: dict[Future[Message], tuple[StartedRun, Worker]] = {}
        while True:
            away = [run for run, _ in at_work.values()]
            for run in runs:
                if self._idle and run not in away and not run.arrived(amount) and not is_over(runs):
                    worker = self._idle.pop()
                    at_work[self._pool.submit(worker.ask, *self._task(run, amount))] = run, worker
            if not at_work:
                return
            done, _ = wait(at_work, return_when=FIRST_COMPLETED)
            for future in done:
                run, worker = at_work.pop(future)
                self._take(run, *future.result())
                self._idle.append(worker)

    def _task(self, run: StartedRun, amount: float) -> Message:
        course = run.present()
        content, arrays = saved_run(course.snapshot(run.verdict), course.places)
        asked = {
            "seed": run.seed,
            "unit": run.unit,
            "amount": amount if amount < math.inf else None,
            "before": self._stop.seconds,
            "sent": time.time(),
            "stop": self._rule,
        }
        return {**content, **asked, "method": to_json(course.method, "the method")}, arrays

    def _take(self, run: StartedRun, content: Json, arrays: Any) -> None:
        course = run.present()
        run.verdict = restored(course, content, arrays)
        run.leave()
        for observer in self._observers:
            observer.see(course.state)
        for interrupt in self._interrupts:
            run.verdict = run.verdict or course.judge(interrupt, ())

    def close(self) -> None:
        """End the processes."""
        for worker in self._all:
            worker.kill()
        self._pool.shutdown()
