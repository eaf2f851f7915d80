"""What this plugin registers."""

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


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    registry.add(Selector, "auto", Auto)
    registry.add(Method, "aapb", aapb)
    registry.add(Method, "aapb-certified", aapb_certified)
    registry.add(Method, "aapb-paper", aapb_paper)
    registry.add(Method, "apb", apb)
    registry.add(Method, "apb-paper", apb_paper)
    registry.add(Method, "palm", PALM)
    registry.add(Method, "ipalm", IPALM)
    registry.add(Method, "ppalm", PPALM)
    registry.add(Method, "ippalm", IPPALM)
    registry.add(Method, "bpg", bpg)
    registry.add(Method, "cocain", cocain)
    registry.add(Method, "bella", BELLA)
    registry.add(Method, "a-nmd", ANMD)
    registry.add(Method, "ebcd-nmd", EBCD)
    registry.add(Method, "ecd", ECD)
    registry.add(Method, "els", ELS)
    registry.add(Method, "aals", AALS)
    registry.add(Method, "hybrid", hybrid)
