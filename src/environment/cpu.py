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


class _Loader(object):
    """Loads a module as its own loader does, and changes it then."""

    def __init__(self, loader):
        self.loader = loader

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        name = module.__spec__.name
        # The module shall see its own loader.
        module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        _change(name, sys.modules.get(name, module))


class _Finder(object):
    """Lets the others find a module, and puts the loader between."""

    def find_spec(self, name, path=None, target=None):
        if name not in CHANGES:
            return None
        for finder in sys.meta_path:
            find_spec = getattr(finder, "find_spec", None)
            spec = None if finder is self or find_spec is None else find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


def _make_way():
    """Runs the next `sitecustomize`, as if there had been none before it."""
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != own]
    import importlib.util

    sys.modules.pop("sitecustomize", None)
    spec = importlib.util.find_spec("sitecustomize")
    if spec is None:
        # Python goes on silently after just this error.
        raise ImportError("no sitecustomize", name="sitecustomize")
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if sys.version_info >= (3, 4):
    sys.meta_path.insert(0, _Finder())
    for _name in CHANGES:
        # A `.pth` file may have been faster.
        if _name in sys.modules:
            _change(_name, sys.modules[_name])
    _make_way()
