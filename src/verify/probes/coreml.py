"""Asks Core ML tools. Its text follows those of protocol.py and compared.py.

A small network is converted, written, read back, and its weights compared with those that were given; that needs no Mac.
On a Mac the converted model predicts, on the processor or with the GPU, and is compared with numpy in float64.
"""

with loading():
    import numpy
    import coremltools as ct
    from coremltools.converters.mil import Builder as mb

DEVICE = REQUEST["device"]
PRECISIONS = {"float32": ct.precision.FLOAT32, "float16": ct.precision.FLOAT16}
# How torch and the converter name the four weights is theirs; here they are told apart by shape.
SHAPES = {"filters": (8, 3, 3, 3), "filter-bias": (8,), "weight": (5, 8 * 14 * 14), "bias": (5,)}


def found_device():
    """The native part loads on a Mac alone, and there it is what predicts."""
    if DEVICE == "cpu":
        say_device(True, True, "CPU_ONLY", processor())
        return True
    error, available = None, False
    if DEVICE == "cuda":
        error = "Core ML knows no CUDA"
    elif sys.platform != "darwin":
        error = "Core ML is a part of macOS"
    else:
        try:
            from coremltools.libcoremlpython import _MLModelProxy  # noqa: F401

            available = metal_devices() != 0
        except ImportError as problem:
            error = text_of(problem)
    say_device(None, available, "CPU_AND_GPU" if available else None, processor(), error)
    return available


def given():
    """The weights of a convolution and of a linear layer, and a picture."""
    source = numpy.random.default_rng(seed_of("convert"))
    weights = {name: source.standard_normal(shape).astype("float32") * 0.2 for name, shape in SHAPES.items()}
    return weights, source.standard_normal((1, 3, 16, 16)).astype("float32")


def converted(weights, element):
    """The network as a model, through the converter's own language, so that no other framework is needed."""

    @mb.program(input_specs=[mb.TensorSpec(shape=(1, 3, 16, 16))])
    def network(x):
        x = mb.conv(x=x, weight=weights["filters"], bias=weights["filter-bias"], pad_type="valid")
        x = mb.relu(x=x)
        x = mb.reshape(x=x, shape=(1, 8 * 14 * 14))
        return mb.linear(x=x, weight=weights["weight"], bias=weights["bias"], name="y")

    units = ct.ComputeUnit.CPU_ONLY if DEVICE == "cpu" else ct.ComputeUnit.CPU_AND_GPU
    return ct.convert(
        network,
        convert_to="mlprogram",
        compute_precision=PRECISIONS[element],
        compute_units=units,
        minimum_deployment_target=ct.target.macOS12,
    )


def computed(weights, x):
    """The same network by numpy in float64."""
    x = x.astype("float64")[0]
    maps = numpy.zeros((8, 14, 14))
    for i in range(3):
        for j in range(3):
            maps += numpy.einsum("oc,chw->ohw", weights["filters"][:, :, i, j], x[:, i : i + 14, j : j + 14])
    maps = numpy.maximum(maps + weights["filter-bias"][:, None, None], 0)
    return (weights["weight"].astype("float64") @ maps.ravel() + weights["bias"])[None]


def stored(model, weights):
    """The weights that lie in a model on disk, in the order of the names that were given; those in its blob file alone,
    which is where all lie that have more than a few numbers."""
    found = ct.optimize.coreml.get_weights_metadata(model, weight_threshold=10)
    by_shape = {tuple(one.val.shape): one.val for one in found.values()}
    names = [name for name in SHAPES if weights[name].size > 10]
    missing = [name for name in names if SHAPES[name] not in by_shape]
    if missing:
        raise RuntimeError("the converted model has no weights of the shape of %s" % ", ".join(missing))
    flat = [numpy.ravel(by_shape[SHAPES[name]]).astype("float64") for name in names]
    return numpy.concatenate(flat), numpy.concatenate([weights[name].ravel() for name in names])


def convert(element):
    import tempfile

    if not begin("convert", element):
        return
    shapes = [list(shape) for shape in SHAPES.values()]
    said = dict(id="convert", type=element, round=0, shapes=shapes)
    weights, x = given()
    try:
        begun = time.monotonic()
        model = converted(weights, element)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "network.mlpackage")
            model.save(path)
            on_disk, reference = stored(ct.models.MLModel(path, skip_model_load=True), weights)
        said["seconds"] = time.monotonic() - begun
        said.update(compared(element, on_disk, reference))
    except Exception as error:
        said["error"] = text_of(error)
        say("check", **said)
        return
    say("check", **said)
    if sys.platform != "darwin":
        skip("convert-predict", "system", element)
        return
    if not begin("convert-predict", element):
        return
    said = dict(id="convert-predict", type=element, round=0, shapes=[list(x.shape)])
    try:
        begun = time.monotonic()
        result = model.predict({"x": x})["y"]
        said["seconds"] = time.monotonic() - begun
        said.update(compared(element, result, computed(weights, x)))
    except Exception as error:
        said["error"] = text_of(error)
    say("check", **said)


def main():
    versions = package_versions(["numpy", "torch", "tensorflow", "protobuf"])
    versions["coremltools"] = ct.__version__
    reach_device(versions)
    if asked("convert"):
        for element in REQUEST["types"]:
            if element in PRECISIONS:
                convert(element)
    done()


main()
