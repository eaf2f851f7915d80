"""What this plugin registers."""

from collections.abc import Sequence
from typing import Any

from bregopt import Registrar, Regularizer, Zero, hookimpl, make
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


EXAMPLES = ["none", "ridge(0.7)", "l1(0.4)", "nonneg", "elastic-net(0.4, 0.7)", "l0-ball(3)", "l0-ball(1, per=row)"]


@hookimpl
def bregopt_examples(kind: str) -> Sequence[tuple[str, Any]]:
    return [(spec, make(kind, spec)) for spec in EXAMPLES] if kind == "regularizer" else []
