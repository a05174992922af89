"""Asks MLX. Its text follows that of mlx_device.py.

A case is computed on the device in the type that is asked, and on the CPU in float64 with the same numbers. MLX has no
operators that move to the CPU by themselves, and its arrays lie in memory that both share: there is neither a fallback
nor a place of an optimizer's state to tell. Convolutions of float64 are done in float32 inside, or not at all, and there
is no wider complex type: references of both are put together from products of float64.
"""

SIZES = REQUEST["sizes"]
LONG, ROWS, SIDE = SIZES["long"], SIZES["rows"], SIZES["product"]
TYPES = {
    "float32": mx.float32,
    "float16": mx.float16,
    "bfloat16": mx.bfloat16,
    "complex64": mx.complex64,
}
# Before 0.22 there is none; then the reference is float32 on the CPU.
WIDE = getattr(mx, "float64", mx.float32)


def normal(id, shapes, element):
    """Arrays of a check: float32 from its own seed, rounded to the type."""
    with mx.stream(HERE):
        key = mx.random.key(seed_of(id))
        arrays = []
        for shape in shapes:
            key, own = mx.random.split(key)
            one = mx.random.normal(shape, key=own)
            if element == "complex64":
                key, own = mx.random.split(key)
                one = one + 1j * mx.random.normal(shape, key=own)
            arrays.append(one.astype(TYPES[element]))
        mx.eval(arrays)
        return arrays


def product(a, b):
    return a @ b


def linear(x, weight, bias=None):
    """Weights are (out, in), as in mlx.nn."""
    return x @ weight.T if bias is None else mx.addmm(bias, x, weight.T)


def convolution(x, w, bias=None, **more):
    result = mx.conv2d(x, w, **more)
    return result if bias is None else result + bias


def convolution_by_products(x, w, bias=None, stride=1, padding=0, groups=1):
    """The same, as one product for each place in the filter."""
    x = mx.pad(x, [(0, 0), (padding, padding), (padding, padding), (0, 0)])
    filters, high, wide, depth = w.shape
    height, width = (x.shape[1] - high) // stride + 1, (x.shape[2] - wide) // stride + 1
    parts = []
    for group in range(groups):
        own = x[..., group * depth : (group + 1) * depth]
        weights = w[group * filters // groups : (group + 1) * filters // groups]
        total = 0
        for i in range(high):
            for j in range(wide):
                seen = own[:, i : i + stride * (height - 1) + 1 : stride, j : j + stride * (width - 1) + 1 : stride]
                total = total + seen @ weights[:, i, j].T
        parts.append(total)
    result = mx.concatenate(parts, axis=-1)
    return result if bias is None else result + bias


def transposed_by_products(x, w):
    """The transposed convolution of stride 2, likewise."""
    result = mx.zeros((x.shape[0], 2 * x.shape[1] + 1, 2 * x.shape[2] + 1, w.shape[0]), dtype=x.dtype)
    for i in range(3):
        for j in range(3):
            result[:, i : i + 2 * x.shape[1] : 2, j : j + 2 * x.shape[2] : 2] += x @ w[:, i, j].T
    return result


def complex_by_products(x, w):
    """A complex linear layer as real and imaginary parts, side by side."""
    a, b = mx.real(x).astype(WIDE), mx.imag(x).astype(WIDE)
    c, d = mx.real(w).astype(WIDE).T, mx.imag(w).astype(WIDE).T
    return mx.stack([a @ c - b @ d, a @ d + b @ c], axis=-1)


def attention(q, k, v):
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=1 / math.sqrt(q.shape[-1]), mask="causal")


def grouped_attention(q, k, v):
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=1 / math.sqrt(q.shape[-1]))


def gradients(of, *arrays):
    """All gradients of a function's summed squares, in one row."""
    found = mx.grad(lambda *all: of(*all).square().sum(), argnums=list(range(len(arrays))))(*arrays)
    return mx.concatenate([one.flatten() for one in found])


def copy_strided(a, b):
    a = mx.array(a)
    a[:, ::2] = b
    return a


def embedding(table):
    return table[mx.arange(0, 4000, 37) % table.shape[0]]


def adam(weight, x):
    """Five steps on a transposed weight. The rate has the type of the weight, which it would otherwise narrow."""
    optimizer = optim.Adam(learning_rate=mx.array(0.05, dtype=weight.dtype))
    parameters = {"weight": weight.T}
    for _ in range(5):
        grads = mx.grad(lambda p: (mx.tanh(x @ p["weight"]) - 1).square().mean())(parameters)
        parameters = optimizer.apply_gradients(grads, parameters)
    return parameters["weight"]


# Name, shapes, function, types (none for the real ones that were asked). Images are (rows, height, width, channels).
PRODUCT = [("product", [(SIDE, SIDE), (SIDE, SIDE)], product, None)]
PRODUCTS = [
    ("matmul-odd", [(127, 255), (255, 63)], product, None),
    ("matmul-thin", [(1, 1000), (1000, 3)], product, None),
    ("matmul-transposed", [(96, 65), (33, 96)], lambda a, b: a.T @ b.T, None),
    ("bmm", [(8, 64, 48), (8, 48, 80)], product, None),
    ("matmul-long", [(25, LONG), (LONG + 63, 25)], lambda a, b: a @ b[:LONG], None),
    ("matmul-long-transposed", [(LONG, 25), (LONG + 63, 25)], lambda a, b: a.T @ b[:LONG], None),
    ("bmm-long", [(2, 25, LONG), (2, LONG, 25)], product, None),
    ("linear-thin", [(80, 1, 2), (192, 2)], linear, None),
    ("linear-thin-bias", [(80, 1, 2), (192, 2), (192,)], linear, None),
    ("linear-vector-bias", [(1, 64), (32, 64), (32,)], linear, None),
    ("linear-rows-bias", [(ROWS, 2, 8), (16, 8), (16,)], linear, None),
    ("linear-deep", [(1, 3, 28, 315), (315, 315)], linear, None),
    ("linear-deep-bias", [(4, 8, 16, 64), (48, 64), (48,)], linear, None),
    ("linear-sliced-weight", [(24, 64), (48, 128), (48,)], lambda x, w, b: linear(x, w[:, ::2], b), None),
    ("linear-transposed-weight", [(2, 256, 256), (256, 256)], lambda x, w: linear(x, w.T), None),
    (
        "linear-expanded-input",
        [(1, 1, 64), (48, 64), (48,)],
        lambda x, w, b: linear(mx.broadcast_to(x, (4, 8, 64)), w, b),
        None,
    ),
]
OTHERS = [
    ("linear-backward", [(24, 64), (48, 64), (48,)], lambda *all: gradients(linear, *all), None),
    ("conv2d", [(4, 32, 32, 3), (8, 3, 3, 3)], convolution, None),
    ("conv2d-bias", [(4, 32, 32, 3), (8, 3, 3, 3), (8,)], convolution, None),
    (
        "conv2d-strided",
        [(2, 31, 29, 4), (6, 3, 3, 2), (6,)],
        lambda x, w, b: convolution(x, w, b, stride=2, padding=1, groups=2),
        None,
    ),
    (
        "conv2d-sliced-weight",
        [(2, 16, 16, 4), (12, 3, 3, 8)],
        lambda x, w: convolution(x, w[2:10, :, :, 1:5]),
        None,
    ),
    ("conv2d-backward", [(2, 16, 16, 3), (5, 3, 3, 3), (5,)], lambda *all: gradients(convolution, *all), None),
    ("conv1d-bias", [(4, 65, 6), (8, 5, 6), (8,)], lambda x, w, b: mx.conv1d(x, w) + b, None),
    ("conv-transpose2d", [(2, 9, 9, 6), (4, 3, 3, 6)], lambda x, w: mx.conv_transpose2d(x, w, stride=2), None),
    ("attention-causal", [(1, 4, 64, 64)] * 3, attention, None),
    ("attention-long-grouped", [(1, 8, 4, 64), (1, 2, 1100, 64), (1, 2, 1100, 64)], grouped_attention, None),
    # Without `precise` sums of half types are kept in them, by design.
    ("softmax", [(64, 1000)], lambda x: mx.softmax(x, axis=-1, precise=True), None),
    ("layer-norm", [(64, 257), (257,), (257,)], lambda x, w, b: mx.fast.layer_norm(x, w, b, 1e-5), None),
    # In float32 alone: in half types a sum may be kept in something too small for it.
    ("sum-long", [(1000, 1000)], lambda x: (x + 1).sum().reshape(1), ["float32"]),
    ("embedding", [(101, 16)], embedding, None),
    ("copy-strided", [(20, 30), (20, 15)], copy_strided, None),
    ("linear-deep-backward", [(2, 1, 2, 1, 2), (4, 2)], lambda *all: gradients(linear, *all), None),
    ("linear-complex", [(2, 1, 2, 1, 2), (4, 2)], linear, ["complex64"]),
]
ADAM = [("adam-strided", [(24, 16), (32, 16)], adam, ["float32"])]


def unsupported(error):
    """Why something could not be asked, when an error says that it is not there, and not that it failed."""
    text = str(error)
    if isinstance(error, AttributeError) or re.search(r"[Nn]ot (?:yet )?(?:implemented|supported)", text):
        return "no-operation"
    return None


def index_of(flat, shape):
    index = []
    for side in reversed(shape):
        index.append(flat % side)
        flat //= side
    return index[::-1]


def compared(element, result, reference):
    """How far a result is from its reference."""
    with mx.stream(HERE):
        if result.dtype == mx.complex64:
            result = mx.stack([mx.real(result), mx.imag(result)], axis=-1)
        shape = list(result.shape)
        if shape != list(reference.shape):
            return dict(error="the result has shape %s instead of %s" % (shape, list(reference.shape)))
        result, reference = result.astype(WIDE).flatten(), reference.astype(WIDE).flatten()
        fine = mx.isfinite(result) & mx.isfinite(reference)
        none = mx.zeros_like(reference)
        scale = float(mx.where(mx.isfinite(reference), mx.abs(reference), none).max())
        apart = mx.where(fine, mx.abs(result - reference), none)
        most, at = float(apart.max()), int(mx.argmax(apart))
        tolerance = REQUEST["tolerances"]["float32" if element == "complex64" else element]
        return {
            "elements": result.size,
            "max-abs": number(most),
            "max-rel": number(most / scale if scale else most),
            "worst": index_of(at, shape),
            "beyond": int((apart > tolerance * (scale or 1.0)).sum()),
            "nan": int((mx.isnan(result) & ~mx.isnan(reference)).sum()),
            "inf": int((mx.isinf(result) & ~mx.isinf(reference)).sum()),
        }


# How the references of some are computed instead.
REFERENCES = {
    "conv2d": convolution_by_products,
    "conv2d-bias": convolution_by_products,
    "conv2d-strided": lambda x, w, b: convolution_by_products(x, w, b, stride=2, padding=1, groups=2),
    "conv2d-sliced-weight": lambda x, w: convolution_by_products(x, w[2:10, :, :, 1:5]),
    "conv2d-backward": lambda *all: gradients(convolution_by_products, *all),
    "conv1d-bias": lambda x, w, b: convolution_by_products(x[:, None], w[:, None], b)[:, 0],
    "conv-transpose2d": transposed_by_products,
    "linear-complex": complex_by_products,
}


def check(id, shapes, of, element, round=0):
    """Computes a case on the device and on the CPU, and says what came of it."""
    count = sum(math.prod(shape) for shape in shapes)
    if too_large(id, element, count * 3 * (4 + 8)) or not begin(id, element, round):
        return
    said = dict(id=id, type=element, round=round, shapes=[list(shape) for shape in shapes])
    try:
        inputs = normal(id, shapes, element)
        with mx.stream(HERE):
            wide = mx.complex64 if element == "complex64" else WIDE
            reference = REFERENCES.get(id, of)(*(one.astype(wide) for one in inputs))
            mx.eval(reference)
        begun = time.monotonic()
        with mx.stream(THERE):
            result = of(*inputs)
            mx.eval(result)
        said["seconds"] = time.monotonic() - begun
        said.update(compared(element, result, reference))
    except Exception as error:
        why = unsupported(error)
        if why:
            skip(id, why, element, text_of(error))
            return
        said["error"] = text_of(error)
    say("check", **said)


def dense():
    """A classifier of points by which of four quarters they lie in."""
    x = mx.random.normal((256, 8))
    y = (x[:, 0] > 0).astype(mx.int32) * 2 + (x[:, 1] > 0).astype(mx.int32)
    return nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4)), x, y


def convolutional():
    """A classifier of noisy stripes, upright or lying."""
    y = mx.arange(64) % 2
    upright = mx.broadcast_to(mx.sin(mx.arange(12) * 1.6), (12, 12))
    x = mx.where((y == 0)[:, None, None], upright, upright.T) + 0.5 * mx.random.normal((64, 12, 12))
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3),
        nn.ReLU(),
        nn.MaxPool2d(2, 2),
        nn.Conv2d(8, 8, 3),
        nn.ReLU(),
        lambda maps: maps.flatten(1),
        nn.Linear(72, 2),
    )
    return model, x[..., None], y


def training(id, of, optimizer_of):
    """Trains on the device until the loss is small, and on the CPU for as many steps."""
    if not begin(id, "float32"):
        return
    try:
        with mx.stream(HERE):
            mx.random.seed(seed_of(id))
            model, x, y = of()
            first = tree_map(mx.array, model.parameters())
            mx.eval(first, x, y)

        def trained(where, element, until):
            with mx.stream(where):
                model.update(tree_map(lambda one: one.astype(element), first))
                xs, optimizer = x.astype(element), optimizer_of(element)
                loss_of = nn.value_and_grad(model, lambda x: nn.losses.cross_entropy(model(x), y).mean())

                def step():
                    loss, grads = loss_of(xs)
                    optimizer.update(model, grads)
                    mx.eval(model.parameters(), optimizer.state, loss)
                    return loss.item()

                losses, seconds = train(step, until)
                return losses, seconds, tree_flatten(model.parameters()), optimizer

        losses, seconds, after, optimizer = trained(THERE, mx.float32, SIZES["steps"])
        again, seconds_again = trained(HERE, WIDE if DEVICE == "cpu" else mx.float32, len(losses))[:2]
        with mx.stream(HERE):
            before = dict(tree_flatten(first))
            moved = all(bool((value != before[name]).any()) for name, value in after)
        state = {name: "unified memory" for name, value in tree_flatten(optimizer.state) if isinstance(value, mx.array)}
        say_training(id, losses, again, (seconds, seconds_again), state=state, state_on_device=None, moved=moved)
    except Exception as error:
        say("training", id=id, error=text_of(error))


def churn():
    """Sends pieces of many sizes through the allocator and gives every second one back, as other work would."""
    if not begin("churn"):
        return
    left, size, kept = SIZES["churn"], 1 << 10, []
    with mx.stream(THERE):
        while left > 0:
            kept.append(mx.full((size // 4,), float("nan")) * 2)
            mx.eval(kept[-1])
            left -= 2 * size
            if len(kept) % 2:
                kept[len(kept) // 2] = None
            size = size * 3 if size < 16 << 20 else 1 << 10


def main():
    versions = package_versions(["mlx-metal", "mlx-cpu", "mlx-cuda", "numpy"])
    versions["mlx"] = mx.__version__
    reach_device(versions)
    if asked("product"):
        check_all(check, PRODUCT)
    if asked("training"):

        def rate(value, element):
            return mx.array(value, dtype=element)

        training("training-dense", dense, lambda element: optim.Adam(learning_rate=rate(0.01, element)))
        training(
            "training-convolution",
            convolutional,
            lambda element: optim.SGD(learning_rate=rate(0.1, element), momentum=0.9),
        )
    if asked("optimizer"):
        check_all(check, ADAM)
    if asked("autocast"):
        for id in ("autocast-linear", "autocast-conv2d"):
            skip(id, "no-operation")
    if asked("numbers"):
        check_all(check, PRODUCTS)
        check_all(check, OTHERS)
    if asked("again"):
        churn()
        check_all(check, PRODUCT + PRODUCTS, round=1)
    device_bytes = None
    if DEVICE != "cpu" and hasattr(mx, "get_peak_memory"):
        device_bytes = mx.get_peak_memory()
    done(device_bytes)


main()
