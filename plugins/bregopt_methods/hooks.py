"""What this plugin registers."""

from collections.abc import Callable

from bregopt import Method, Registrar, Selector, hookimpl
from bregopt_methods.acceleration.hybrid import hybrid
from bregopt_methods.auto import Auto
from bregopt_methods.blockwise.aals import AALS
from bregopt_methods.blockwise.ecd import ECD
from bregopt_methods.blockwise.els import ELS
from bregopt_methods.bregman.aapb import aapb, aapb_certified, aapb_paper, apb, apb_paper, bpg
from bregopt_methods.bregman.bella import BELLA
from bregopt_methods.bregman.cocain import cocain
from bregopt_methods.nmd.a_nmd import ANMD
from bregopt_methods.nmd.ebcd_nmd import EBCD
from bregopt_methods.palm.palm import IPALM, IPPALM, PALM, PPALM

METHODS: dict[str, Callable[..., Method]] = {
    "aapb": aapb,
    "aapb-certified": aapb_certified,
    "aapb-paper": aapb_paper,
    "apb": apb,
    "apb-paper": apb_paper,
    "palm": PALM,
    "ipalm": IPALM,
    "ppalm": PPALM,
    "ippalm": IPPALM,
    "bpg": bpg,
    "cocain": cocain,
    "bella": BELLA,
    "a-nmd": ANMD,
    "ebcd-nmd": EBCD,
    "ecd": ECD,
    "els": ELS,
    "aals": AALS,
    "hybrid": hybrid,
}


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    registry.add(Selector, "auto", Auto)
    for name, method in METHODS.items():
        registry.add(Method, name, method)
