"""Where TensorFlow computes its operators: what was placed elsewhere while something ran on the device, and for which
operators there are kernels of the device at all. Its text stands before that of tensorflow.py, and runs nothing of
TensorFlow before that is there.

What has no kernel of the device runs on the CPU without a word, so it is looked for in three ways: an eager operator's
result tells where it lies, a function's graph tells it of each node once it has run, and the table of kernels tells it
of operators that nobody ran.

Not every operator on the CPU is a fault. Strings, iterators of data sets, variables' handles and shapes (integers) live
there by nature, on every kind of GPU, and copies between devices are what brings numbers to it. So an operator counts
only where a floating-point or complex number goes in or comes out, and where it computes.
"""

import contextlib

# They move, name or describe numbers, and compute none.
ENDS = {"_Arg", "_Retval", "_DeviceArg", "_DeviceRetval"}
CARRIERS = ENDS | {
    "_Send", "_Recv", "_HostSend", "_HostRecv", "Const", "_EagerConst", "HostConst", "Placeholder", "NoOp",
    "Identity", "IdentityN", "Shape", "ShapeN", "Size", "Rank", "VarHandleOp", "PartitionedCall",
    "StatefulPartitionedCall", "If", "StatelessIf", "While", "StatelessWhile", "Assert", "Print", "PrintV2",
}


class Watch:
    """What is watched while something runs on the device."""

    on = False
    ready = False


def watch_placement():
    """Begins to listen to TensorFlow; where it lacks what that takes, says so."""
    try:
        from tensorflow.python.eager import context
        from tensorflow.python.framework import op_callbacks

        op_callbacks.add_op_callback(heard_operator)
        context.context().enable_run_metadata()
        Watch.ready = True
    except Exception as error:
        skip("placement", "no-operation", None, text_of(error))


def is_number(kind):
    return kind.is_floating or kind.is_complex


def there(place):
    """Whether a device, as TensorFlow calls it in full, is the one that was asked for."""
    return place.lower().replace("/device:", "/").endswith(THERE.lower())


def heard_operator(op_type, inputs, attrs, outputs, op_name=None, graph=None):
    """Called for each operator; those of a graph are placed later."""
    op_type = op_type.decode() if isinstance(op_type, bytes) else op_type
    if not Watch.on or graph is not None or op_type in CARRIERS or op_type.startswith("__"):
        return None
    tensors = [one for one in list(inputs or ()) + list(outputs or ()) if hasattr(one, "dtype")]
    if any(is_number(one.dtype) for one in tensors):
        for one in outputs or ():
            # Where its memory is kept alone does not tell: kernels of the device may have small results kept for the host.
            place = getattr(one, "device", "")
            if place and not there(place):
                placed_elsewhere(op_type, place)
    return None


def placed_elsewhere(op_type, place):
    fell_back(op_type, "the operator %s was placed on %s instead of %s" % (op_type, place, THERE))


def graphs_since():
    """The graphs of the functions that ran first since the last time, as they were divided among devices.

    An eager operator counts as a function of one node, and is left out: it is heard by itself, if it is one that was
    called for, and not one with which a constant is made on the host.
    """
    from tensorflow.python.eager import context

    metadata = context.context().export_run_metadata() if Watch.ready else None
    for one in metadata.function_graphs if metadata else ():
        within = [node for node in one.pre_optimization_graph.node if node.op not in ENDS]
        if len(within) > 1:
            yield from one.partition_graphs


def look_into_functions():
    """Looks where the nodes of the functions were placed that ran since the last time."""
    for graph in graphs_since():
        for node in graph.node:
            kinds = [tf.dtypes.as_dtype(one.type) for one in node.attr.values() if one.WhichOneof("value") == "type"]
            if node.op in CARRIERS or not node.device or there(node.device):
                continue
            if any(is_number(kind) for kind in kinds):
                placed_elsewhere(re.sub("^_Mkl", "", node.op), node.device)


@contextlib.contextmanager
def on_there():
    """Computes on the device, and listens where that really is."""
    # What ran before was the reference.
    list(graphs_since())
    Watch.on = True
    try:
        with tf.device(THERE):
            yield
    finally:
        Watch.on = False
        look_into_functions()


# What is looked up when no names are asked for.
DEFAULT_OPERATORS = """
MatMul BatchMatMulV2 Einsum BiasAdd AddV2 Mul Sum Mean Prod Max ArgMax Softmax LogSoftmax
SparseSoftmaxCrossEntropyWithLogits SoftmaxCrossEntropyWithLogits Relu LeakyRelu Elu Selu Softplus Tanh Sigmoid Erf Erfinv
Lgamma Digamma Igamma Igammac Zeta Polygamma Betainc BesselI0e BesselJ0
Conv2D Conv2DBackpropInput Conv2DBackpropFilter Conv3D Conv3DBackpropInputV2 Conv3DBackpropFilterV2
DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput DepthwiseConv2dNativeBackpropFilter Dilation2D
MaxPool MaxPoolGrad MaxPoolWithArgmax AvgPool AvgPoolGrad MaxPool3D AvgPool3D FractionalMaxPool
FusedBatchNormV3 FusedBatchNormGradV3 LRN L2Loss
Pad PadV2 MirrorPad MirrorPadGrad
ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor ResizeNearestNeighborGrad ResizeBicubic ResizeBicubicGrad
ResizeArea ScaleAndTranslate CropAndResize ImageProjectiveTransformV3 AdjustContrastv2 AdjustHue RGBToHSV
NonMaxSuppressionV3 CombinedNonMaxSuppression ExtractImagePatches DepthToSpace SpaceToDepth BatchToSpaceND
SparseTensorDenseMatMul SparseToDense SparseReorder SparseReduceSum SparseSoftmax SparseSegmentSum SparseMatrixMatMul
Qr Svd SelfAdjointEigV2 Eig MatrixInverse MatrixDeterminant LogMatrixDeterminant MatrixSolve MatrixTriangularSolve
MatrixSolveLs Cholesky CholeskyGrad Lu MatrixExponential MatrixBandPart MatrixDiagV3 TridiagonalSolve Cross
CTCLoss CTCGreedyDecoder
FFT IFFT RFFT IRFFT FFT2D FFT3D Complex Angle
GatherV2 GatherNd ScatterNd TensorScatterUpdate TensorScatterAdd ResourceGather ResourceScatterAdd ResourceScatterNdUpdate
UnsortedSegmentSum SegmentSum SegmentMean OneHot Where Unique UniqueV2 TopKV2 InTopKV2 Bincount DenseBincount
Cumsum Cumprod CumulativeLogsumexp NthElement LowerBound UpperBound HistogramFixedWidth Roll ReverseV2
ReverseSequence ListDiff InvertPermutation
RandomStandardNormal RandomUniform TruncatedNormal StatelessRandomNormalV2 StatelessRandomUniformV2 RandomGamma
RandomPoissonV2 Multinomial StatelessMultinomial RandomShuffle ParameterizedTruncatedNormal
GRUBlockCell LSTMBlockCell BlockLSTMV2 ResourceApplyAdam ResourceApplyGradientDescent ResourceApplyKerasMomentum
ResourceApplyRMSProp ResourceApplyFtrl CheckNumericsV2 IsNan ClipByValue Cast Transpose ConcatV2 Split StridedSlice Tile
""".split()


def look_up_operators(names):
    """Says of each operator whether there is a kernel of the device."""
    at("operators")
    try:
        from tensorflow.python.framework import kernels, op_def_registry

        known = {one.lower(): one for one in dir(tf.raw_ops) if not one.startswith("_")}
        plan = [(name, operator_named(name, known)) for name in names or DEFAULT_OPERATORS]
    except Exception as error:
        skip("operators", "no-operation", None, text_of(error))
        return
    say("planned", operators=[own or name for name, own in plan])
    for name, own in plan:
        said = dict(name=own or name, asked=name if names else None)
        definition = op_def_registry.get(own) if own else None
        if definition is None:
            said["not-tried"] = "TensorFlow %s has no operator of this name" % tf.__version__
            say("operator", **said)
            continue
        at(own)
        said.update(found_kernels(definition, kernels.get_registered_kernels_for_op(own).kernel))
        say("operator", **said)


def operator_named(name, known):
    """The raw operator that a name means: `Conv2D`, `tf.raw_ops.Conv2D`, `tf.nn.conv2d`."""
    last = name.strip().rpartition(".")[2]
    return known.get(last.lower()) or known.get(last.replace("_", "").lower())


# Kernels of `DEFAULT` are for every device that has none of its own.
def found_kernels(definition, all):
    kind = THERE.strip("/").split(":")[0]
    here = [one for one in all if one.device_type in (kind, "DEFAULT")]
    wanted = tf.float32.as_datatype_enum
    # Attributes that can be float32 have to be.
    numeric = {
        one.name
        for one in definition.attr
        if one.type == "type" and (not one.allowed_values.list.type or wanted in one.allowed_values.list.type)
    }
    for kernel in here:
        given = {one.name: list(one.allowed_values.list.type) for one in kernel.constraint}
        # An attribute for an index type has no float32 in any kernel.
        if all_of_type(given, numeric, all, wanted):
            return {"type": "float32", "not-compared": "nothing was run: there is a kernel for %s" % kernel.device_type}
    others = sorted({one.device_type for one in all if not one.device_type.startswith("XLA_")} - {"DEFAULT", kind})
    if here:
        kinds = sorted({tf.dtypes.as_dtype(one).name for kernel in here for given in kernel.constraint
                        for one in given.allowed_values.list.type})
        words = "the kernels for %s are for %s" % (kind, ", ".join(kinds) or "other types")
    else:
        words = "there is no kernel for %s" % kind
    if "CPU" in others:
        return {"elsewhere": "the CPU", "not-compared": words}
    return {"error": "%s, and none for the CPU" % words}


def all_of_type(given, numeric, all, wanted):
    """Whether a kernel takes float32 wherever any kernel of its operator does."""
    for name, types in given.items():
        anywhere = any(
            wanted in one.allowed_values.list.type for kernel in all for one in kernel.constraint if one.name == name
        )
        if name in numeric and anywhere and types and wanted not in types:
            return False
    return True
