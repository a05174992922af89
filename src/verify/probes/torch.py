"""Asks torch. Its text follows those of torch_device.py, torch_operators.py and torch_trials.py.

Every case is one function of tensors. It is called with them on the device in the type that is asked, and on the CPU in
float64, with the same numbers; views are taken inside, so that their layout is that of the device.
"""

SIZES = REQUEST["sizes"]
TYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "complex64": torch.complex64,
}
LONG, ROWS, SIDE = SIZES["long"], SIZES["rows"], SIZES["product"]


def normal(id, shapes, element):
    """Tensors of a check: float32 from its own seed, rounded to the type."""
    generator = torch.Generator().manual_seed(seed_of(id))
    if element == "complex64":
        return [torch.complex(*torch.randn((2,) + shape, generator=generator).unbind()) for shape in shapes]
    return [torch.randn(shape, generator=generator).to(TYPES[element]) for shape in shapes]


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def grouped_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def gradients(of, *tensors):
    """All gradients of a function's summed squares, in one row."""
    tensors = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    return torch.cat([one.flatten() for one in torch.autograd.grad(of(*tensors).square().sum(), tensors)])


def in_place(a, b, c):
    a = a.t().contiguous().t()
    a.addcmul_(b, c, value=0.5)
    return a.addcdiv_(b, c.abs() + 1, value=0.25)


def copy_strided(a, b):
    a = a.clone()
    a[:, ::2] = b
    a.t()[1::2].copy_(b.t())
    return a


def random_strided(a):
    """Where nothing was written, zeros are left."""
    left = torch.zeros_like(a.t().contiguous()).t()
    right = left.clone(memory_format=torch.preserve_format)
    return torch.cat([left.normal_() != 0, right.uniform_(1, 2) != 0]).to(a.dtype)


def embedding(table):
    return F.embedding(torch.arange(0, 4000, 37, device=table.device) % table.shape[0], table)


def adam_strided(weight, other, x):
    """Five steps of Adam on a transposed weight and a plain one."""
    first = torch.nn.Parameter(weight.detach().clone().t())
    second = torch.nn.Parameter(other.detach().clone())
    optimizer = torch.optim.Adam([first, second], lr=0.05)
    for _ in range(5):
        optimizer.zero_grad()
        (torch.tanh(x @ first) @ second - 1).square().mean().backward()
        optimizer.step()
    return torch.cat([first.detach().flatten(), second.detach().flatten()])



# Name, shapes, function, types (none for the real ones that were asked).
PRODUCT = [("product", [(SIDE, SIDE), (SIDE, SIDE)], lambda a, b: a @ b, None)]
PRODUCTS = [
    ("matmul-odd", [(127, 255), (255, 63)], lambda a, b: a @ b, None),
    ("matmul-thin", [(1, 1000), (1000, 3)], lambda a, b: a @ b, None),
    ("matmul-transposed", [(96, 65), (33, 96)], lambda a, b: a.t() @ b.t(), None),
    ("bmm", [(8, 64, 48), (8, 48, 80)], torch.bmm, None),
    # What lies behind the second operand is not zero: reading past its end shows.
    ("matmul-long", [(25, LONG), (LONG + 63, 25)], lambda a, b: a @ b[:LONG], None),
    ("matmul-long-transposed", [(LONG, 25), (LONG + 63, 25)], lambda a, b: a.t() @ b[:LONG], None),
    ("bmm-long", [(2, 25, LONG), (2, LONG, 25)], torch.bmm, None),
    ("linear-thin", [(80, 1, 2), (192, 2)], F.linear, None),
    ("linear-thin-bias", [(80, 1, 2), (192, 2), (192,)], F.linear, None),
    ("linear-vector-bias", [(1, 64), (32, 64), (32,)], F.linear, None),
    ("linear-rows-bias", [(ROWS, 2, 8), (16, 8), (16,)], F.linear, None),
    ("linear-deep", [(1, 3, 28, 315), (315, 315)], F.linear, None),
    ("linear-deep-bias", [(4, 8, 16, 64), (48, 64), (48,)], F.linear, None),
    ("linear-sliced-weight", [(24, 64), (48, 128), (48,)], lambda x, w, b: F.linear(x, w[:, ::2], b), None),
]
OTHERS = [
    ("linear-backward", [(24, 64), (48, 64), (48,)], lambda *all: gradients(F.linear, *all), None),
    ("conv2d", [(4, 3, 32, 32), (8, 3, 3, 3)], F.conv2d, None),
    ("conv2d-bias", [(4, 3, 32, 32), (8, 3, 3, 3), (8,)], F.conv2d, None),
    (
        "conv2d-strided",
        [(2, 4, 31, 29), (6, 2, 3, 3), (6,)],
        lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1, groups=2),
        None,
    ),
    (
        "conv2d-sliced-weight",
        [(2, 4, 16, 16), (12, 8, 3, 3)],
        lambda x, w: F.conv2d(x, w[2:10, 1:5]),
        None,
    ),
    (
        "conv2d-backward",
        [(2, 3, 16, 16), (5, 3, 3, 3), (5,)],
        lambda *all: gradients(F.conv2d, *all),
        None,
    ),
    ("conv1d-bias", [(4, 6, 65), (8, 6, 5), (8,)], F.conv1d, None),
    (
        "conv-transpose2d",
        [(2, 6, 9, 9), (6, 4, 3, 3)],
        lambda x, w: F.conv_transpose2d(x, w, stride=2),
        None,
    ),
    ("attention-causal", [(1, 4, 64, 64)] * 3, attention, None),
    ("attention-long-grouped", [(1, 8, 4, 64), (1, 2, 1100, 64), (1, 2, 1100, 64)], grouped_attention, None),
    ("softmax", [(64, 1000)], lambda x: torch.softmax(x, -1), None),
    ("layer-norm", [(64, 257), (257,), (257,)], lambda x, w, b: F.layer_norm(x, (257,), w, b), None),
    # In float32 alone: in half types a sum may be kept in something too small for it.
    ("sum-long", [(1000, 1000)], lambda x: (x + 1).sum().reshape(1), ["float32"]),
    ("embedding", [(101, 16)], embedding, None),
    ("in-place-strided", [(33, 40), (33, 40), (33, 40)], in_place, None),
    ("copy-strided", [(20, 30), (20, 15)], copy_strided, None),
    ("random-strided", [(37, 21)], random_strided, None),
]
# These have aborted the process on some systems; so they come last.
RISKY = [
    ("linear-transposed-weight", [(2, 256, 256), (256, 256)], lambda x, w: F.linear(x, w.t()), None),
    (
        "linear-expanded-input",
        [(1, 1, 64), (48, 64), (48,)],
        lambda x, w, b: F.linear(x.expand(4, 8, 64), w, b),
        None,
    ),
    ("linear-deep-backward", [(2, 1, 2, 1, 2), (4, 2)], lambda *all: gradients(F.linear, *all), None),
    ("linear-complex", [(2, 1, 2, 1, 2), (4, 2)], F.linear, ["complex64"]),
]
ADAM = [("adam-strided", [(24, 16), (24, 3), (32, 16)], adam_strided, ["float32"])]


def unsupported(error):
    """Why something could not be asked, when an error says that it is not there, and not that it failed."""
    text = str(error)
    if isinstance(error, TypeError) and "backend" in text or "is not supported on MPS" in text:
        return "no-type"
    if re.search(r"only supported on MacOS|[Dd]oes not support .*(?:[Bb][Ff]loat16|[Hh]alf|[Cc]omplex)", text):
        return "no-type"
    if isinstance(error, (NotImplementedError, AttributeError)):
        return "no-operation"
    if "not implemented for" in text or "unsupported autocast device_type" in text:
        return "no-operation"
    if isinstance(error, TypeError) and "unexpected keyword" in text:
        return "no-operation"
    return None


def index_of(flat, shape):
    index = []
    for side in reversed(shape):
        index.append(flat % side)
        flat //= side
    return index[::-1]


def compared(id, element, result, reference):
    """How far a result is from its reference."""
    shape = list(result.shape)
    if shape != list(reference.shape):
        return dict(error="the result has shape %s instead of %s" % (shape, list(reference.shape)))
    if result.is_complex():
        result, reference = torch.view_as_real(result), torch.view_as_real(reference)
        shape = list(result.shape)
    result, reference = result.to(torch.float64).flatten(), reference.to(torch.float64).flatten()
    fine = result.isfinite() & reference.isfinite()
    scale = float(reference[reference.isfinite()].abs().max()) if reference.numel() else 0.0
    apart = torch.where(fine, (result - reference).abs(), torch.zeros_like(reference))
    most, at = (float(one) for one in apart.max(0)) if apart.numel() else (0.0, 0)
    tolerance = REQUEST["tolerances"]["float32" if element == "complex64" else element]
    return {
        "elements": result.numel(),
        "max-abs": number(most),
        "max-rel": number(most / scale if scale else most),
        "worst": index_of(int(at), shape) if apart.numel() else [],
        "beyond": int((apart > tolerance * (scale or 1.0)).sum()),
        "nan": int((result.isnan() & ~reference.isnan()).sum()),
        "inf": int((result.isinf() & ~reference.isinf()).sum()),
    }


def check(id, shapes, of, element, round=0, reference_of=None):
    """Computes a case on the device and on the CPU, and says what came of it."""
    count = sum(math.prod(shape) for shape in shapes)
    if too_large(id, element, count * 3 * (4 + 8)) or not begin(id, element, round):
        return
    said = dict(id=id, type=element, round=round, shapes=[list(shape) for shape in shapes])
    try:
        inputs = normal(id, shapes, element)
        wide = torch.complex128 if element == "complex64" else torch.float64
        reference = (reference_of or of)(*(one.to(wide) for one in inputs))
        there = [one.to(DEVICE) for one in inputs]
        wait()
        begun = time.monotonic()
        result = of(*there)
        wait()
        said["seconds"] = time.monotonic() - begun
        if result.device.type != DEVICE:
            said["elsewhere"] = str(result.device)
        said.update(compared(id, element, result.detach().cpu(), reference.detach()))
    except Exception as error:
        why = unsupported(error)
        if why:
            skip(id, why, element, text_of(error))
            return
        said["error"] = text_of(error)
    say("check", **said)


def autocast():
    """Under mixed precision the inputs are float32 and the work is done in a half type."""
    cases = [
        ("autocast-linear", [(24, 64), (48, 64), (48,)], F.linear),
        ("autocast-conv2d", [(4, 3, 32, 32), (8, 3, 3, 3), (8,)], F.conv2d),
    ]
    for id, shapes, of in cases:
        for element in REAL:
            if element == "float32":
                continue

            def mixed(*inputs, of=of, element=element):
                heard = len(HEARD)
                with torch.autocast(DEVICE, dtype=TYPES[element]):
                    result = of(*(one.float() for one in inputs))
                if result.dtype != TYPES[element]:
                    if any("autocast" in text for text in HEARD[heard:]):
                        raise NotImplementedError(HEARD[-1])
                    raise RuntimeError("under autocast to %s the result is %s" % (TYPES[element], result.dtype))
                return result

            check(id, shapes, mixed, element, reference_of=of)


def dense(generator):
    """A classifier of points by which of four quarters they lie in."""
    x = torch.randn((256, 8), generator=generator)
    y = (x[:, 0] > 0).long() * 2 + (x[:, 1] > 0).long()
    return torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)), x, y


def convolution(generator):
    """A classifier of noisy stripes, upright or lying."""
    y = torch.arange(64) % 2
    wave = torch.sin(torch.arange(12.0) * 1.6)
    upright, lying = wave.expand(12, 12), wave.expand(12, 12).t()
    x = torch.where((y == 0)[:, None, None], upright, lying) + 0.5 * torch.randn((64, 12, 12), generator=generator)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 8, 3),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(72, 2),
    )
    return model, x[:, None], y


def training(id, of, optimizer_of):
    """Trains on the device until the loss is small, and on the CPU for as many steps."""
    import copy

    if not begin(id, "float32"):
        return
    try:
        torch.manual_seed(seed_of(id))
        model, x, y = of(torch.Generator().manual_seed(seed_of(id)))

        def trained(model, x, y, until):
            optimizer = optimizer_of(model.parameters())

            def step():
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                return float(loss.detach().cpu())

            losses, seconds = train(step, until)
            return losses, seconds, optimizer

        there = copy.deepcopy(model).to(DEVICE)
        losses, seconds, optimizer = trained(there, x.to(DEVICE), y.to(DEVICE), SIZES["steps"])
        here, wide = copy.deepcopy(model), x
        if DEVICE == "cpu":
            here, wide = here.double(), x.double()
        again, seconds_again, _ = trained(here, wide, y, len(losses))
        # Where the CPU was through earlier, it took as long as the device for all that can be compared.
        state, on_device = {}, True
        for weight, kept in optimizer.state.items():
            for name, value in kept.items():
                if torch.is_tensor(value):
                    state[name] = str(value.device)
                    on_device = on_device and (value.shape != weight.shape or value.device.type == DEVICE)
        moved = all(bool((new.cpu() != old).any()) for new, old in zip(there.parameters(), model.parameters()))
        say_training(
            id,
            losses,
            again,
            (seconds, seconds_again),
            state=state,
            state_on_device=on_device if state else None,
            moved=moved,
        )
    except Exception as error:
        say("training", id=id, error=text_of(error))


def churn():
    """Sends pieces of many sizes through the allocator and gives every second one back, as other work would."""
    if not begin("churn"):
        return
    left, size, kept = SIZES["churn"], 1 << 10, []
    while left > 0:
        piece = torch.full((size // 4,), float("nan"), device=DEVICE)
        kept.append(piece * 2)
        left -= 2 * size
        if len(kept) % 2:
            kept[len(kept) // 2] = None
        size = size * 3 if size < 16 << 20 else 1 << 10
    wait()


def main():
    torch.manual_seed(REQUEST["seed"])
    if hasattr(torch, "set_warn_always"):
        torch.set_warn_always(True)
    # Shortened inner types would be told as wrong numbers.
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    versions = package_versions(["numpy", "torchvision", "torchaudio"])
    versions["torch"] = torch.__version__
    reach_device(versions)
    if asked("product"):
        check_all(check, PRODUCT)
    if asked("training"):
        training("training-dense", dense, lambda weights: torch.optim.Adam(weights, lr=0.01))
        training("training-convolution", convolution, lambda weights: torch.optim.SGD(weights, lr=0.1, momentum=0.9))
    if asked("optimizer"):
        check_all(check, ADAM)
    if asked("autocast"):
        autocast()
    if asked("numbers"):
        check_all(check, PRODUCTS)
        check_all(check, OTHERS)
    if asked("again"):
        churn()
        check_all(check, PRODUCT + PRODUCTS, round=1)
    if asked("numbers"):
        check_all(check, RISKY)
    if asked("operators"):
        try_operators(REQUEST.get("operators", []))
    device_bytes = None
    if DEVICE == "cuda":
        device_bytes = torch.cuda.max_memory_reserved()
    elif DEVICE == "mps" and hasattr(torch, "mps"):
        device_bytes = torch.mps.driver_allocated_memory()
    done(device_bytes)


main()
