"""What the plugin for torch does where torch is not installed: it loads, and says what is missing when it is asked."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from bregopt_torch import devices, hooks, on_device

import bregopt as bo
from bregopt.errors import ParameterError, PluginError

M = np.maximum(0, np.random.default_rng(0).standard_normal((12, 9)))


@pytest.fixture
def without(monkeypatch):
    """As if torch were not installed."""
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.fixture
def stand_in(monkeypatch):
    """A module with the few names that recognising a tensor and finding a device need."""

    class Tensor:
        pass

    def device(name):
        if name != "cpu":
            raise RuntimeError("Expected one of cpu, cuda")
        return SimpleNamespace(type=name)

    torch = ModuleType("torch")
    torch.Tensor, torch.device = Tensor, device
    torch.empty = lambda *shape, device: SimpleNamespace(cpu=lambda: None)
    torch.cuda = SimpleNamespace(device_count=lambda: 2)
    torch.backends = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: True))
    monkeypatch.setitem(sys.modules, "torch", torch)
    return torch


@pytest.mark.usefixtures("without")
def test_other_data_are_read_without_torch():
    assert hooks.bregopt_resolve_data(M) is None
    assert bo.solve(bo.compose("relu-nmd", M, rank=2), method="aapb", max_iterations=2).iterations == 2


@pytest.mark.usefixtures("without")
def test_a_device_without_torch_says_what_to_install():
    with pytest.raises(PluginError, match=r"A device needs torch. Install it: pip install 'bregopt\[torch\]'"):
        on_device(M, "cpu")


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize("command", ["solve", "bench pass --size 40x30:3"])
def test_a_command_without_torch_says_what_to_install(call, command):
    code, out, err = call(*command.split(), "--device", "cpu")
    assert (code, out) == (2, "")
    assert "A device needs torch. Install it: pip install 'bregopt[torch]'." in err
    assert err.count("\n") == 1


def test_a_tensor_is_recognised_and_nothing_else_is(stand_in, monkeypatch):
    loaded = SimpleNamespace(TorchTensor=lambda tensor: ("tensor", tensor))
    monkeypatch.setitem(sys.modules, "bregopt_torch.load", loaded)
    tensor = stand_in.Tensor()
    assert hooks.bregopt_resolve_data(tensor) == ("tensor", tensor)
    for other in (M, [[1.0]], "M.npy", None):
        assert hooks.bregopt_resolve_data(other) is None


@pytest.mark.usefixtures("stand_in")
def test_a_device_that_is_not_there_is_named_with_those_that_are():
    assert devices.found("cpu")[1].type == "cpu"
    with pytest.raises(
        ParameterError, match=r"The device 'tpu' is not there. This torch has cpu, cuda:0, cuda:1, mps."
    ):
        on_device(M, "tpu")


def test_the_benchmark_of_a_device_is_for_the_table_of_sizes(call):
    code, out, err = call("bench", "pass", "--device", "cpu", "--residual")
    assert (code, out) == (2, "")
    assert "--device measures the table of sizes: leave --residual and --stored out." in err


def test_a_loss_has_no_form_for_torch_unless_its_author_gives_one():
    from bregopt_lowrank import EntrywiseLoss

    class Own(EntrywiseLoss):
        @staticmethod
        def entry(x, m):
            return 0.5 * (x - m) ** 2, x - m, 1.0

    assert Own().by_torch(None, M, None) is None
