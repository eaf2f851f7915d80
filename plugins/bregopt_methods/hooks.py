"""What this plugin registers."""

from bregopt import Method, Registrar, hookimpl
from bregopt_methods.aapb import aapb, apb


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    registry.add(Method, "aapb", aapb)
    registry.add(Method, "apb", apb)
