"""What this plugin registers."""

from bregopt import Registrar, Regularizer, Zero, hookimpl
from bregopt_regularizers.elastic_net import ElasticNet
from bregopt_regularizers.l0_ball import L0Ball
from bregopt_regularizers.l1 import L1
from bregopt_regularizers.nonneg import NonNegative
from bregopt_regularizers.ridge import Ridge


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    registry.add(Regularizer, "none", Zero)
    registry.add(Regularizer, "ridge", Ridge)
    registry.add(Regularizer, "l1", L1)
    registry.add(Regularizer, "nonneg", NonNegative)
    registry.add(Regularizer, "elastic-net", ElasticNet)
    registry.add(Regularizer, "l0-ball", L0Ball)
