"""The Bregman proximal maps of a regularizer with every kernel at hand, and of a kernel with every regularizer."""

from collections.abc import Iterator

from bregopt.errors import BregoptError
from bregopt.host.compose import examples, resolve_prox
from bregopt.parts.kernel import Kernel, KernelPolicy
from bregopt.parts.regularizer import Regularizer, Separable, Zero
from bregopt.testing.bregman_map import Map, solved
from bregopt.testing.draw import Draw
from bregopt.testing.ground import Ground
from bregopt.testing.signals import NotApplicableError, skip
from bregopt.testing.subject import Subject, fits


def of_regularizer(H: Regularizer, draw: Draw) -> None:
    """With H on U only and on both blocks."""
    _all_solved(_with_kernels(H, draw), draw)


def of_kernel(kernel: Kernel, draw: Draw) -> None:
    """With H = 0 and every example of a regularizer, on U only and on both blocks by turns."""
    _all_solved(_with_regularizers(kernel, draw), draw)


def _all_solved(maps: Iterator[Map], draw: Draw) -> None:
    if not sum(solved(one, turn, draw) for turn, one in enumerate(maps)):
        skip("No plugin resolves a Bregman proximal map of it.")


def _with_kernels(H: Regularizer, draw: Draw) -> Iterator[Map]:
    for label, policy in examples("kernel"):
        if isinstance(policy, KernelPolicy):
            made = f"psi = dict(bo.host.compose.examples('kernel'))[{label!r}].sample()"
            for form, code in _forms(H, "part"):
                yield from _maps(label, policy.sample(), form, f"{made}\n{code}", H, draw)


def _with_regularizers(kernel: Kernel, draw: Draw) -> Iterator[Map]:
    yield from _maps("H = 0", kernel, Separable(), "psi, H = part, bo.Separable()", Zero(), draw)
    for turn, (label, H) in enumerate(examples("regularizer")):
        made = f"dict(bo.host.compose.examples('regularizer'))[{label!r}]"
        forms = _forms(H, made)
        form, code = forms[turn % len(forms)]
        yield from _maps(label, kernel, form, f"psi = part\n{code}", H, draw)


def _forms(H: Regularizer, made: str) -> list[tuple[Separable, str]]:
    """H on U, and on both blocks where it takes their shapes."""
    forms = [(Separable(U=H), f"H = bo.Separable(U={made})")]
    return [*forms, (Separable(H), f"H = bo.Separable({made})")] if fits(H, _shape(H)[::-1]) else forms


def _shape(H: Regularizer) -> tuple[int, int]:
    return (3, 2) if fits(H, (3, 2)) else Subject.of(H).shape


def _maps(label: str, kernel: Kernel, form: Separable, code: str, H: Regularizer, draw: Draw) -> Iterator[Map]:
    """The map, where a plugin resolves the pair."""
    shape = _shape(H)
    try:
        prox = resolve_prox(kernel, form)
        ground = Ground.of(kernel, draw, ({"U": shape, "V": shape[::-1]},))
    except (BregoptError, NotApplicableError):
        return
    yield Map(label, ground, form, code, prox)
