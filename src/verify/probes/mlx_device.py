"""Loads MLX and finds the device. Its text follows that of protocol.py, and stands before each probe of MLX."""

with loading():
    import mlx.core as mx
    import mlx.nn as nn
    import mlx.optimizers as optim
    from mlx.utils import tree_flatten, tree_map

DEVICE = REQUEST["device"]
HERE = mx.cpu
THERE = mx.cpu if DEVICE == "cpu" else mx.gpu


def found_device():
    built, name, error = None, processor(), None
    if DEVICE == "mps":
        folder = os.path.join(os.path.dirname(mx.__file__), "lib")
        built = os.path.isdir(folder) and any(name.endswith(".metallib") for name in os.listdir(folder))
        available = mx.metal.is_available()
    elif DEVICE == "cuda":
        available = hasattr(mx, "cuda") and mx.cuda.is_available()
    else:
        built, available = True, True
    try:
        with mx.stream(THERE):
            there = mx.ones(3).sum()
            mx.eval(there)
            available = available and float(there) == 3.0
        if available and DEVICE == "mps":
            info = mx.device_info if hasattr(mx, "device_info") else mx.metal.device_info
            name = info().get("device_name", name)
    except Exception as problem:
        available, error = False, text_of(problem)
    say_device(built, available, str(mx.Device(THERE)) if available else None, name, error)
    return available
