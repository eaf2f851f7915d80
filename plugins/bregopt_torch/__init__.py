"""M as a torch tensor: the pass on the device that holds it."""

from bregopt_torch.devices import on_device

__all__ = ["on_device"]
