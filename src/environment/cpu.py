"""Hides the GPU from a Python that `macml run --device cpu` started, or that such a program started.

Python runs it before anything else, since its folder stands first on PYTHONPATH. It imports no framework: each is changed
right after the program itself has imported it. Then it makes way for the `sitecustomize` that would have run without it.
Any Python may come by, so the words are plain; one that is too old for it runs unchanged.
"""

import os
import sys


def _torch(torch):
    c = torch._C
    if hasattr(c, "_mps_is_available"):
        c._mps_is_available = lambda: False
    # It keeps its answer.
    torch.backends.mps.is_available = lambda: False
    if hasattr(torch, "mps"):
        torch.mps.device_count = lambda: 0
        torch.mps.is_available = lambda: False
    if hasattr(c, "_accelerator_getAccelerator"):
        get = c._accelerator_getAccelerator

        def get_without_mps(*args, **kwargs):
            device = get(*args, **kwargs)
            return None if getattr(device, "type", None) == "mps" else device

        c._accelerator_getAccelerator = get_without_mps


def _tensorflow(tensorflow):
    config = tensorflow.config
    config.set_visible_devices([], "GPU")
    # Programs count these, and make visible what they found.
    for place in (config, getattr(config, "experimental", None)):
        listed = getattr(place, "list_physical_devices", None)
        if listed is not None:
            place.list_physical_devices = _without_gpus(listed)


def _without_gpus(listed):
    def list_physical_devices(*args, **kwargs):
        return [device for device in listed(*args, **kwargs) if device.device_type != "GPU"]

    return list_physical_devices


def _mlx(core):
    core.set_default_device(core.cpu)
    set_default_device = core.set_default_device

    def is_gpu(device):
        try:
            return getattr(device, "type", device) == core.gpu
        except TypeError:
            # MLX compares its own with its own only; what else was given, it names itself.
            return False

    def set_default_device_but_gpu(device):
        if is_gpu(device):
            # What MLX says where there is none.
            raise ValueError("[set_default_device] Cannot set gpu device without gpu backend.")
        return set_default_device(device)

    core.set_default_device = set_default_device_but_gpu
    metal = getattr(core, "metal", None)
    if metal is not None:
        metal.is_available = lambda: False
    for name, answer in (("is_available", False), ("device_count", 0)):
        asked = getattr(core, name, None)
        if asked is not None:
            setattr(core, name, _unless(is_gpu, asked, answer))


def _unless(is_gpu, asked, answer):
    def ask(*args, **kwargs):
        given = list(args) + list(kwargs.values())
        return answer if given and is_gpu(given[0]) else asked(*args, **kwargs)

    return ask


def _coremltools(coremltools):
    for name in ("MLModel", "CompiledMLModel"):
        model = getattr(coremltools.models, name, None)
        if model is not None:
            model.__init__ = _on_the_cpu(model.__init__, coremltools.ComputeUnit.CPU_ONLY)


def _on_the_cpu(init, cpu_only):
    import functools
    import inspect

    signature = inspect.signature(init)

    @functools.wraps(init)
    def __init__(*args, **kwargs):
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            # Its own message says it best.
            return init(*args, **kwargs)
        # Every other value only allows more.
        bound.arguments["compute_units"] = cpu_only
        return init(*bound.args, **bound.kwargs)

    return __init__


CHANGES = {"torch": _torch, "tensorflow": _tensorflow, "mlx.core": _mlx, "coremltools": _coremltools}


def _change(name, module):
    try:
        CHANGES[name](module)
    except Exception as error:
        sys.stderr.write("macml run --device cpu: could not hide the GPU from %s: %r\n" % (name, error))
