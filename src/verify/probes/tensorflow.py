"""Asks TensorFlow, with or without the Metal plugin. Its text follows those of tensorflow_device.py,
compared.py and tensorflow_operators.py.

A case is computed on the device in the type that is asked, and on the CPU in float64 with the same numbers. Operations
that have no kernel for the device run on the CPU by themselves; where a result lies tells that.
"""

SIZES = REQUEST["sizes"]
LONG, ROWS, SIDE = SIZES["long"], SIZES["rows"], SIZES["product"]


def linear(x, weight, bias=None):
    """Weights are (in, out) here, as in Keras."""
    result = tf.linalg.matmul(tf.reshape(x, (-1, x.shape[-1])), weight)
    if bias is not None:
        result = tf.nn.bias_add(result, bias)
    return tf.reshape(result, tuple(x.shape[:-1]) + (weight.shape[-1],))


def deep_dense(x, weight, bias=None):
    """Without flattening, as Keras does it."""
    result = tf.tensordot(x, weight, axes=1)
    return result if bias is None else result + bias


def attention(q, k, v):
    scores = tf.linalg.matmul(q, k, transpose_b=True) / tf.cast(math.sqrt(q.shape[-1]), q.dtype)
    seen = tf.linalg.band_part(tf.ones(scores.shape[-2:], scores.dtype), -1, 0)
    lowest = tf.cast(-1e4, scores.dtype)
    return tf.linalg.matmul(tf.nn.softmax(scores * seen + lowest * (1 - seen)), v)


def layer_norm(x, weight, bias):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + tf.cast(1e-5, x.dtype)) * weight + bias


def gradients(of, *tensors):
    with tf.GradientTape() as tape:
        for tensor in tensors:
            tape.watch(tensor)
        total = tf.reduce_sum(tf.square(of(*tensors)))
    return tf.concat([tf.reshape(one, [-1]) for one in tape.gradient(total, tensors)], 0)


def convolution(x, w, bias=None, strides=1, padding="VALID"):
    result = tf.nn.conv2d(x, w, strides=strides, padding=padding)
    return result if bias is None else tf.nn.bias_add(result, bias)


def copy_strided(a, b):
    variable = tf.Variable(a)
    variable[:, ::2].assign(b)
    return tf.identity(variable)


def embedding(table):
    return tf.gather(table, tf.range(0, 4000, 37) % table.shape[0])


def adam(weight, x):
    variable = tf.Variable(weight)
    optimizer = tf.keras.optimizers.Adam(learning_rate=0.05)
    for _ in range(5):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(tf.linalg.matmul(x, variable)) - 1))
        optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])
    return tf.identity(variable)


def product(a, b):
    return tf.linalg.matmul(a, b)


# Name, shapes, function, types (none for the real ones that were asked). Images are (rows, height, width, channels).
PRODUCT = [("product", [(SIDE, SIDE), (SIDE, SIDE)], product, None)]
PRODUCTS = [
    ("matmul-odd", [(127, 255), (255, 63)], product, None),
    ("matmul-thin", [(1, 1000), (1000, 3)], product, None),
    (
        "matmul-transposed",
        [(96, 65), (33, 96)],
        lambda a, b: tf.linalg.matmul(a, b, transpose_a=True, transpose_b=True),
        None,
    ),
    ("bmm", [(8, 64, 48), (8, 48, 80)], product, None),
    ("matmul-long", [(25, LONG), (LONG, 25)], product, None),
    (
        "matmul-long-transposed",
        [(LONG, 25), (LONG, 25)],
        lambda a, b: tf.linalg.matmul(a, b, transpose_a=True),
        None,
    ),
    ("bmm-long", [(2, 25, LONG), (2, LONG, 25)], product, None),
    ("linear-thin", [(80, 1, 2), (2, 192)], linear, None),
    ("linear-thin-bias", [(80, 1, 2), (2, 192), (192,)], linear, None),
    ("linear-vector-bias", [(1, 64), (64, 32), (32,)], linear, None),
    ("linear-rows-bias", [(ROWS, 2, 8), (8, 16), (16,)], linear, None),
    ("linear-deep", [(1, 3, 28, 315), (315, 315)], deep_dense, None),
    ("linear-deep-bias", [(4, 8, 16, 64), (64, 48), (48,)], deep_dense, None),
    ("linear-sliced-weight", [(24, 64), (128, 48), (48,)], lambda x, w, b: linear(x, w[::2], b), None),
    ("linear-transposed-weight", [(2, 256, 256), (256, 256)], lambda x, w: deep_dense(x, tf.transpose(w)), None),
]
OTHERS = [
    ("linear-backward", [(24, 64), (64, 48), (48,)], lambda *all: gradients(linear, *all), None),
    ("linear-deep-backward", [(2, 1, 2, 1, 2), (2, 4)], lambda *all: gradients(deep_dense, *all), None),
    ("conv2d", [(4, 32, 32, 3), (3, 3, 3, 8)], convolution, None),
    ("conv2d-bias", [(4, 32, 32, 3), (3, 3, 3, 8), (8,)], convolution, None),
    (
        "conv2d-strided",
        [(2, 31, 29, 4), (3, 3, 4, 6), (6,)],
        lambda x, w, b: convolution(x, w, b, strides=2, padding="SAME"),
        None,
    ),
    (
        "conv2d-sliced-weight",
        [(2, 16, 16, 4), (3, 3, 8, 12)],
        lambda x, w: convolution(x, w[:, :, 1:5, 2:10]),
        None,
    ),
    ("conv2d-backward", [(2, 16, 16, 3), (3, 3, 3, 5), (5,)], lambda *all: gradients(convolution, *all), None),
    ("conv1d-bias", [(4, 65, 6), (5, 6, 8), (8,)], lambda x, w, b: tf.nn.conv1d(x, w, 1, "VALID") + b, None),
    (
        "conv-transpose2d",
        [(2, 9, 9, 6), (3, 3, 4, 6)],
        lambda x, w: tf.nn.conv2d_transpose(x, w, (2, 19, 19, 4), strides=2, padding="VALID"),
        None,
    ),
    ("attention-causal", [(1, 4, 64, 64)] * 3, attention, None),
    ("softmax", [(64, 1000)], tf.nn.softmax, None),
    ("layer-norm", [(64, 257), (257,), (257,)], layer_norm, None),
    # In float32 alone: in half types a sum may be kept in something too small for it.
    ("sum-long", [(1000, 1000)], lambda x: tf.reshape(tf.reduce_sum(x + 1), [1]), ["float32"]),
    ("embedding", [(101, 16)], embedding, None),
    ("copy-strided", [(20, 30), (20, 15)], copy_strided, None),
]
ADAM = [("adam-strided", [(16, 24), (32, 16)], adam, ["float32"])]


def unsupported(error):
    """Why something could not be asked, when an error says that it is not there, and not that it failed."""
    if isinstance(error, (tf.errors.NotFoundError, tf.errors.UnimplementedError, AttributeError)):
        return "no-operation"
    if isinstance(error, tf.errors.InvalidArgumentError) and re.search("No OpKernel|not allowed|not supported", str(error)):
        return "no-operation"
    return None


def on_device(tensor):
    return there(tensor.device)


def check(id, shapes, of, element, round=0, reference_of=None):
    """Computes a case on the device and on the CPU, and says what came of it."""
    count = sum(math.prod(shape) for shape in shapes)
    if too_large(id, element, count * 3 * (4 + 8)) or not begin(id, element, round):
        return
    said = dict(id=id, type=element, round=round, shapes=[list(shape) for shape in shapes])
    try:
        source = numpy.random.default_rng(seed_of(id))
        with tf.device(HERE):
            inputs = [source.standard_normal(shape, dtype="float32") for shape in shapes]
            inputs = [tf.cast(one, element) for one in inputs]
            reference = (reference_of or of)(*(tf.cast(one, tf.float64) for one in inputs)).numpy()
        with on_there():
            moved = [tf.identity(one) for one in inputs]
            begun = time.monotonic()
            result = of(*moved)
            where, on = result.device, on_device(result)
        with tf.device(HERE):
            values = tf.cast(tf.identity(result), tf.float64).numpy()
        said["seconds"] = time.monotonic() - begun
        if not on:
            said["elsewhere"] = where
        said.update(compared(element, values, reference))
    except Exception as error:
        why = unsupported(error)
        if why:
            skip(id, why, element, text_of(error))
            return
        said["error"] = text_of(error)
    say("check", **said)


def autocast():
    """Keras layers under a mixed policy: the inputs and weights are float32 and the work is done in a half type."""
    layers = tf.keras.layers
    # Weights in Keras are (in, out), filters (height, width, in, out).
    cases = [
        ("autocast-linear", [(24, 64), (64, 48), (48,)], lambda policy: layers.Dense(48, dtype=policy)),
        ("autocast-conv2d", [(4, 32, 32, 3), (3, 3, 3, 8), (8,)], lambda policy: layers.Conv2D(8, 3, dtype=policy)),
    ]
    plain = {"autocast-linear": linear, "autocast-conv2d": convolution}
    for id, shapes, of in cases:
        for element in REAL:
            if element == "float32":
                continue

            def mixed(x, weight, bias, of=of, element=element):
                layer = of(tf.keras.mixed_precision.Policy("mixed_" + element))
                layer.build(x.shape)
                layer.set_weights([tf.cast(one, tf.float32).numpy() for one in (weight, bias)])
                result = layer(tf.cast(x, tf.float32))
                if result.dtype != element:
                    raise RuntimeError("under the policy mixed_%s the result is %s" % (element, result.dtype.name))
                return result

            check(id, shapes, mixed, element, reference_of=plain[id])


def dense(source):
    """A classifier of points by which of four quarters they lie in."""
    x = source.standard_normal((256, 8), dtype="float32")
    y = (x[:, 0] > 0) * 2 + (x[:, 1] > 0)
    layers = tf.keras.layers
    return [(layers.Dense, dict(units=64, activation="relu")), (layers.Dense, dict(units=4))], x, y


def stripes(source):
    """A classifier of noisy stripes, upright or lying."""
    y = numpy.arange(64) % 2
    upright = numpy.broadcast_to(numpy.sin(numpy.arange(12) * 1.6), (12, 12))
    x = numpy.where((y == 0)[:, None, None], upright, upright.T) + 0.5 * source.standard_normal((64, 12, 12))
    layers = tf.keras.layers
    parts = [
        (layers.Conv2D, dict(filters=8, kernel_size=3, activation="relu")),
        (layers.MaxPooling2D, dict(pool_size=2)),
        (layers.Conv2D, dict(filters=8, kernel_size=3, activation="relu")),
        (layers.Flatten, {}),
        (layers.Dense, dict(units=2)),
    ]
    return parts, x[..., None].astype("float32"), y


def training(id, of, optimizer_of):
    """Trains on the device until the loss is small, and on the CPU for as many steps."""
    if not begin(id, "float32"):
        return
    try:
        source = numpy.random.default_rng(seed_of(id))
        parts, x, y = of(source)
        first = []

        def trained(where, element, until):
            with where:
                model = tf.keras.Sequential([kind(dtype=element, **made) for kind, made in parts])
                model.build(x.shape)
                if not first:
                    # Our own numbers, so that both begin alike.
                    shapes = [weight.shape for weight in model.get_weights()]
                    for shape in shapes:
                        fan = math.prod(shape[:-1]) if len(shape) > 1 else 1
                        scale = math.sqrt(2 / fan) if len(shape) > 1 else 0.0
                        first.append(source.standard_normal(shape) * scale)
                model.set_weights(first)
                before = model.get_weights()
                xs, ys = tf.constant(x, element), tf.constant(y, tf.int32)
                optimizer = optimizer_of()

                def step():
                    with tf.GradientTape() as tape:
                        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(ys, model(xs))
                        loss = tf.reduce_mean(losses)
                    weights = model.trainable_variables
                    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
                    return float(loss)

                losses, seconds = train(step, until)
                moved = all((new != old).any() for new, old in zip(model.get_weights(), before))
                return losses, seconds, optimizer, model, moved

        losses, seconds, optimizer, model, moved = trained(on_there(), "float32", SIZES["steps"])
        wide = "float64" if DEVICE == "cpu" else "float32"
        again, seconds_again = trained(tf.device(HERE), wide, len(losses))[:2]
        shapes = {tuple(weight.shape) for weight in model.trainable_variables if len(weight.shape) > 1}
        state, on = {}, True
        variables = optimizer.variables
        for variable in variables() if callable(variables) else variables:
            value = getattr(variable, "value", variable)
            value = value() if callable(value) else value
            state[re.sub(r"^.*?/|:\d+$", "", variable.name)] = value.device
            on = on and (tuple(variable.shape) not in shapes or on_device(value))
        say_training(
            id,
            losses,
            again,
            (seconds, seconds_again),
            state=state,
            state_on_device=on if state else None,
            moved=bool(moved),
        )
    except Exception as error:
        say("training", id=id, error=text_of(error))


def churn():
    """Sends pieces of many sizes through the allocator and gives every second one back, as other work would."""
    if not begin("churn"):
        return
    left, size, kept = SIZES["churn"], 1 << 10, []
    with on_there():
        while left > 0:
            kept.append(tf.fill([size // 4], float("nan")) * 2)
            left -= 2 * size
            if len(kept) % 2:
                kept[len(kept) // 2] = None
            size = size * 3 if size < 16 << 20 else 1 << 10


def main():
    tf.random.set_seed(REQUEST["seed"])
    # Shortened inner types would be told as wrong numbers.
    tf.config.experimental.enable_tensor_float_32_execution(False)
    versions = package_versions(["tensorflow-metal", "tensorflow-macos", "keras", "numpy", "protobuf"])
    versions["tensorflow"] = tf.__version__
    reach_device(versions)
    watch_placement()
    if asked("product"):
        check_all(check, PRODUCT)
    if asked("training"):
        optimizers = tf.keras.optimizers
        training("training-dense", dense, lambda: optimizers.Adam(learning_rate=0.01))
        training("training-convolution", stripes, lambda: optimizers.SGD(learning_rate=0.1, momentum=0.9))
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
    if asked("operators"):
        look_up_operators(REQUEST.get("operators", []))
    device_bytes = None
    if DEVICE != "cpu":
        try:
            device_bytes = int(tf.config.experimental.get_memory_info("GPU:0")["peak"])
        except Exception:
            pass
    done(device_bytes)


main()
