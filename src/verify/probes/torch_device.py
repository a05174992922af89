"""Loads torch and finds the device. Its text follows that of protocol.py, and stands before each probe of torch."""

with loading():
    import torch
    import torch.nn.functional as F

DEVICE = REQUEST["device"]


def found_device():
    if DEVICE == "mps":
        built, available = torch.backends.mps.is_built(), torch.backends.mps.is_available()
    elif DEVICE == "cuda":
        built, available = torch.backends.cuda.is_built(), torch.cuda.is_available()
    else:
        built, available = True, True
    name, error = None, None
    # `is_available` may say yes on a system that is too old: what counts is a tensor.
    try:
        there = torch.ones(3, device=DEVICE)
        id = str(there.device)
        available = available and float(there.sum().cpu()) == 3.0
        name = torch.cuda.get_device_name(0) if DEVICE == "cuda" else processor()
    except Exception as problem:
        id, error, available = None, text_of(problem), False
    say_device(built, available, id, name, error)
    return available


def wait():
    if DEVICE == "mps" and hasattr(torch, "mps"):
        torch.mps.synchronize()
    elif DEVICE == "mps":
        # Before torch 2.0 only reading a result waits for it.
        torch.ones(1, device=DEVICE).cpu()
    elif DEVICE == "cuda":
        torch.cuda.synchronize()
