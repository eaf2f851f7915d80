"""What this plugin registers."""

from bregopt import Method, Registrar, hookimpl
from bregopt_methods.a_nmd import ANMD
from bregopt_methods.aals import AALS
from bregopt_methods.aapb import aapb, aapb_certified, aapb_paper, apb, apb_paper
from bregopt_methods.auto import Auto
from bregopt_methods.bella import BELLA
from bregopt_methods.bpg import bpg
from bregopt_methods.cocain import cocain
from bregopt_methods.ebcd import EBCD
from bregopt_methods.ecd import ECD
from bregopt_methods.els import ELS
from bregopt_methods.palm import IPALM, PALM
from bregopt_methods.ppalm import IPPALM, PPALM
from bregopt_methods.switch import hybrid


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    registry.add(Method, "auto", Auto)
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
