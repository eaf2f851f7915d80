"""What this plugin registers."""

from collections.abc import Callable, Sequence

from bregopt import Method, Registrar, Selector, hookimpl
from bregopt_methods.acceleration.hybrid import hybrid
from bregopt_methods.acceleration.portfolio import portfolio
from bregopt_methods.auto import Auto
from bregopt_methods.blockwise.aals import AALS
from bregopt_methods.blockwise.ecd import ECD, warm_up_ecd
from bregopt_methods.blockwise.els import ELS
from bregopt_methods.blockwise.support_search import SupportSearch
from bregopt_methods.bregman.aapb import aapb, aapb_certified, aapb_paper, apb, apb_paper, bpg, bpge
from bregopt_methods.bregman.bella import BELLA
from bregopt_methods.bregman.bmme import BMME
from bregopt_methods.bregman.bpdca import bpdca, bpdcae
from bregopt_methods.bregman.cocain import cocain
from bregopt_methods.bregman.dcae import DCAe
from bregopt_methods.nmd.a_nmd import ANMD
from bregopt_methods.nmd.bcd_nmd import BCDNMD, NMD3B
from bregopt_methods.nmd.ebcd_nmd import EBCD
from bregopt_methods.nmd.naive_nmd import NaiveNMD
from bregopt_methods.nmd.nmd_tm import NMDTM
from bregopt_methods.nmd.tsvd import TSVD
from bregopt_methods.nmf.gnmf import GNMF
from bregopt_methods.nmf.hals import HALS
from bregopt_methods.nmf.mu import MU
from bregopt_methods.palm.bpalm import BPALM
from bregopt_methods.palm.gipalm import GiPALM
from bregopt_methods.palm.nipalm import NiPALM
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
    "gipalm": GiPALM,
    "nipalm": NiPALM,
    "bpalm": BPALM,
    "bmme": BMME,
    "bpg": bpg,
    "bpge": bpge,
    "bpdca": bpdca,
    "bpdcae": bpdcae,
    "dcae": DCAe,
    "cocain": cocain,
    "bella": BELLA,
    "a-nmd": ANMD,
    "ebcd-nmd": EBCD,
    "naive-nmd": NaiveNMD,
    "bcd-nmd": BCDNMD,
    "3b-nmd": NMD3B,
    "nmd-tm": NMDTM,
    "tsvd": TSVD,
    "ecd": ECD,
    "els": ELS,
    "aals": AALS,
    "support-search": SupportSearch,
    "hybrid": hybrid,
    "portfolio": portfolio,
    "hals": HALS,
    "mu": MU,
    "gnmf": GNMF,
}

ALIASES: dict[str, tuple[str, ...]] = {
    "bpg": ("bregman-proximal-gradient", "nolips"),
    "tsvd": ("svd", "truncated-svd"),
    "ecd": ("coordinate-descent", "cd"),
    "mu": ("multiplicative", "multiplicative-updates"),
}
"""Other names that people know them by."""


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    registry.add(Selector, "auto", Auto)
    for name, method in METHODS.items():
        registry.add(Method, name, method, ALIASES.get(name, ()))


@hookimpl
def bregopt_warm_up() -> Sequence[tuple[str, Callable[[], object]]]:
    return [("ecd: coordinates", warm_up_ecd)]
