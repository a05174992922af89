"""How the torch probe tries operators: those of its catalogue, any other one that torch has, and those of a module. Its
text stands between that of torch_operators.py and that of torch.py, and runs nothing before torch is there.

What is said of each is what was measured; whether it is good is judged elsewhere.
"""

FORWARD, BACKWARD = "forward", "backward"
CASES = {}
# The first call of each operator in the whole catalogue, made when it is asked for.
CALLS = {}
# Prefixes of one operator's many names, and what the operator's own name begins with.
SPELLINGS = (
    ("torch.ops.aten.", ""), ("aten::", ""), ("torch.nn.functional.", ""), ("nn.functional.", ""), ("F.", ""),
    ("torch.linalg.", "linalg_"), ("torch.fft.", "fft_"), ("torch.special.", "special_"), ("torch.sparse.", "sparse_"),
    ("torch.Tensor.", ""), ("Tensor.", ""), ("torch.", ""), ("linalg.", "linalg_"),
)
SYNONYMS = {
    "svd": "linalg_svd", "qr": "linalg_qr", "inverse": "linalg_inv", "det": "linalg_det", "slogdet": "linalg_slogdet",
    "pinverse": "linalg_pinv", "cholesky": "linalg_cholesky", "lu": "linalg_lu", "matrix_exp": "linalg_matrix_exp",
    "lstsq": "linalg_lstsq", "solve": "linalg_solve", "clip": "clamp", "upsample": "interpolate",
    "sparse_softmax": "sparse_softmax[coo]", "autograd.Function": "autograd_function",
}


def try_operators(names):
    """Tries the operators of these names, or every case of the catalogue."""
    at("operators")
    CASES.update(catalogue())
    plan = [(None, name, CASES[name]) for name in CASES] if not names else planned(names)
    say("planned", operators=[name for _, name, _ in plan])
    for wanted, name, what in plan:
        if isinstance(what, str):
            say("operator", name=name, asked=wanted, **{"not-tried": what})
        elif isinstance(what, type):
            try_module(wanted, name, what)
        elif isinstance(what, Case):
            try_case(wanted, what)
        else:
            try_call(wanted, name, what)


def planned(names):
    """What each name means: a case, a module, the recorded or made call of an operator, or why it means nothing."""
    plan = []
    for wanted in names:
        module = module_named(wanted)
        if module is not None:
            plan.append((wanted, "torch.nn." + module.__name__, module))
            continue
        own, variant = spelled(wanted)
        # A case by its whole name is that one alone.
        found = [wanted] if wanted in CASES else cases_named(own, variant)
        if found:
            plan.extend((wanted, one, CASES[one]) for one in found)
        elif variant:
            known = ", ".join("`%s`" % one for one in cases_named(own, set()))
            plan.append((wanted, wanted, "no such variant is known" + (", only " + known if known else "")))
        else:
            call = call_named(own)
            known = isinstance(call, str) or "::" in wanted
            plan.append((wanted, wanted if known else full_name(call[0]), call))
    return plan


def spelled(name):
    """The operator's own name, and the words of its variant."""
    name, _, variant = name.strip().partition("[")
    for prefix, own in SPELLINGS:
        if name.startswith(prefix):
            name = own + name[len(prefix) :]
            break
    return SYNONYMS.get(name, name), {word.strip() for word in variant.rstrip("]").split(",") if word.strip()}


def cases_named(own, variant):
    """The cases of an operator that have all these words."""
    found = []
    for stem in dict.fromkeys((own, own.split(".")[0])):
        for name in CASES:
            of, _, words = name.partition("[")
            if name == own or of == stem and variant <= set(words.rstrip("]").split(",")):
                found.append(name)
        if found:
            break
    return found


def module_named(name):
    short = re.sub(r"^(torch\.)?nn\.(modules\.\w+\.)?", "", name.strip())
    found = getattr(torch.nn, short, None) if short.isidentifier() and short[:1].isupper() else None
    return found if isinstance(found, type) and issubclass(found, torch.nn.Module) else None


# ---- Cases of the catalogue ----


def flat(result):
    """The tensors of a result, in order."""
    if torch.is_tensor(result):
        return [result]
    if isinstance(result, (tuple, list)):
        return [tensor for one in result for tensor in flat(one)]
    if isinstance(result, (bool, int, float)):
        return [torch.tensor(result)]
    return []


def real(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def wider(tensor):
    """What a tensor is in the reference."""
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.to(torch.float64) if tensor.is_floating_point() else tensor


def leaves(inputs, wanted):
    """Inputs of which gradients are wanted."""
    return [one.detach().requires_grad_() if wanted and real(one) else one for one in inputs]


def gradients_of(roots, inputs, weights=None):
    """The gradients of a sum of all results."""
    return torch.autograd.grad(roots, inputs, weights or weights_of(roots), allow_unused=True)


def weights_of(roots):
    """What each result counts in the sum, so that none cancels another."""
    weights = []
    for root in roots:
        count = torch.arange(root.numel(), dtype=torch.float64)
        weight = torch.cos(count * 0.7 + 0.3).reshape(root.shape) + (0.2 if root.numel() == 1 else 0)
        weights.append(weight.to(root.dtype).to(root.device))
    return weights


def differentiable(results):
    return [one for one in results if one.requires_grad and real(one) and one.layout == torch.strided]


def compared_all(results, references):
    """How far several results are from their references: the worst of each."""
    if len(results) != len(references):
        return dict(error="there are %d results instead of %d" % (len(results), len(references)))
    said = {"elements": 0, "max-rel": 0.0, "max-abs": 0.0, "worst": [], "beyond": 0, "nan": 0, "inf": 0}
    for result, reference in zip(results, references):
        result, reference = here(result), here(reference)
        one = compared("", "float32", result, reference)
        if "error" in one:
            return one
        for key in ("elements", "beyond", "nan", "inf"):
            said[key] += one[key]
        if one["max-rel"] is None or said["max-rel"] is not None and one["max-rel"] > said["max-rel"]:
            said.update({key: one[key] for key in ("max-rel", "max-abs", "worst")})
    return said


def here(tensor):
    tensor = tensor.detach().cpu()
    return (tensor if tensor.layout == torch.strided else tensor.to_dense()).resolve_conj().resolve_neg()


def not_finite(results):
    """Of results that cannot be compared: what would be wrong whatever they are."""
    tensors = [here(one) for one in results]
    parts = [torch.view_as_real(one) if one.is_complex() else one for one in tensors if real(one)]
    return {
        "elements": sum(one.numel() for one in tensors),
        "nan": sum(int(one.isnan().sum()) for one in parts),
        "inf": sum(int(one.isinf().sum()) for one in parts),
    }


def element_of(inputs):
    return "complex64" if any(one.is_complex() for one in inputs) else "float32"


def elsewhere(results, numbers_alone):
    """Where results lie that do not lie on the device; seeds that a library keeps on the host are none."""
    tensors = results if isinstance(results, (tuple, list)) else [results]
    tensors = [one for one in tensors if torch.is_tensor(one) and (real(one) or not numbers_alone)]
    return next((str(one.device) for one in tensors if one.device.type != DEVICE), None)


class Trial:
    """One pass of one operator on the device, and what is said of it."""

    def __init__(self, name, asked, pass_, inputs=(), **said):
        self.said = dict(name=name, asked=asked, **said)
        self.said["pass"] = pass_
        if inputs:
            self.said.update(type=element_of(inputs), shapes=[list(one.shape) for one in inputs])
        self.id = name if pass_ == FORWARD else name + " backward"

    def begin(self):
        return begin(self.id)

    def run(self, of, reference, random=False, uncompared=None, counted=None):
        """Computes on the device; returns its results, none after an error. Of some only the first results count."""
        results = None
        try:
            wait()
            begun = time.monotonic()
            results = of()
            wait()
            self.said["seconds"] = time.monotonic() - begun
            tensors = flat(results)[:counted]
            place = elsewhere(results, uncompared)
            if place:
                self.said["elsewhere"] = place
            if random:
                self.random(tensors, reference)
            elif uncompared:
                self.said["not-compared"] = uncompared
                self.said["elements"] = sum(one.numel() for one in tensors)
            elif not tensors:
                self.said["not-compared"] = "it returns no tensor"
            else:
                self.said.update(compared_all(tensors, flat(reference)[:counted]))
        except Exception as error:
            self.said["error"], results = text_of(error), None
        if Now.fallen:
            self.said["fallbacks"] = sorted(set(Now.fallen))
        say("operator", **self.said)
        return results

    def random(self, results, reference):
        self.said["not-compared"] = "its numbers are random; their shape was looked at, and that they are finite"
        shapes = [list(one.shape) for one in results], [list(one.shape) for one in flat(reference)]
        if shapes[0] != shapes[1]:
            self.said["error"] = "the results have the shapes %s instead of %s" % shapes
        self.said.update(not_finite(results))

    def not_tried(self, why):
        say("operator", **{**self.said, "not-tried": why})


def absent(error):
    """Why the CPU's own reference cannot be had."""
    words = text_of(error)
    if isinstance(error, AttributeError) or "unexpected keyword" in words:
        return "torch %s has no such operation: %s" % (torch.__version__, words)
    return "the CPU has no result to compare with: " + words


def reference_of(case, inputs, grad):
    """What the CPU computes in float64: its results, those that have gradients, and these."""
    wide = leaves([wider(one) for one in inputs], grad)
    torch.manual_seed(seed_of(case.name))
    reference = flat(case.of(*wide))
    roots = differentiable(reference)
    expected = gradients_of(roots, [one for one in wide if one.requires_grad]) if roots else ()
    return reference, roots, expected


def try_case(asked, case):
    trial = Trial(case.name, asked, FORWARD)
    if not trial.begin():
        return
    grad = case.grad
    try:
        inputs = case.tensors()
        trial = Trial(case.name, asked, FORWARD, inputs)
        try:
            reference, roots, expected = reference_of(case, inputs, grad)
        except RuntimeError as error:
            if "derivative" not in str(error) and "differentiable" not in str(error):
                raise
            # Not every torch has every gradient.
            grad = False
            reference, roots, expected = reference_of(case, inputs, grad)
    except Exception as error:
        trial.not_tried(absent(error))
        return
    there = []

    def forward():
        there.extend(leaves([one.to(DEVICE) for one in inputs], grad))
        torch.manual_seed(seed_of(case.name))
        return case.of(*there)

    results = trial.run(forward, reference, case.random)
    trial = Trial(case.name, asked, BACKWARD, inputs)
    if not roots or results is None or not trial.begin():
        return
    # What hangs on nothing has no gradient on either side.
    kept = [at for at, one in enumerate(expected) if one is not None]
    if not kept:
        return

    def backward():
        found = gradients_of(differentiable(flat(results)), [one for one in there if one.requires_grad])
        return [found[at] for at in kept]

    trial.run(backward, [expected[at] for at in kept])


# ---- Calls of operators as torch's own code makes them ----


def full_name(function):
    """An operator's name as torch writes it in its warnings: `aten::linalg_cholesky_ex.L`."""
    overload = function._overloadname
    return str(function._schema.name) + ("." + overload if overload != "default" else "")


def recorder():
    """A mode that keeps the first call of each operator, with what it was given."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_map

    class Recorder(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.calls = {}

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            name = full_name(function)
            if name not in self.calls:
                kept = lambda one: one.detach().clone() if torch.is_tensor(one) else one
                try:
                    self.calls[name] = (function, tree_map(kept, args), tree_map(kept, kwargs))
                except Exception:
                    self.calls[name] = None
            return function(*args, **kwargs)

    return Recorder()


def recorded(of, grad_inputs):
    """The calls of a function's forward and backward pass."""
    found = recorder()
    with found:
        results = differentiable(flat(of()))
    if results and grad_inputs:
        weights = weights_of(results)
        with found:
            gradients_of(results, grad_inputs, weights)
    return found.calls


def call_named(own):
    """The call of an operator: as the catalogue makes it, else made from its schema; else why there is none."""
    namespace, _, rest = own.rpartition("::")
    name, _, overload = rest.partition(".")
    if not namespace:
        if not CALLS:
            record_catalogue()
        wanted = [one for one in CALLS if one == "aten::" + rest]
        wanted = wanted or [one for one in CALLS if one.split(".")[0] == "aten::" + name]
        if wanted:
            return CALLS[wanted[0]]
    try:
        packet = getattr(getattr(torch.ops, namespace or "aten"), name)
    except (AttributeError, RuntimeError):
        return "torch %s has no operator of this name" % torch.__version__
    overloads = [overload] if overload else packet.overloads()
    overloads = [one for one in overloads if one in packet.overloads() and not one.endswith("out")] or overloads
    said = "no inputs are known for it"
    for one in overloads:
        try:
            made = call_of_schema(getattr(packet, one))
        except AttributeError:
            return "torch %s has no overload `%s` of it" % (torch.__version__, one)
        if not isinstance(made, str):
            return made
        said = made
    return said


def record_catalogue():
    at("recording")
    # What falls back or warns here is of the CPU, and is nobody's.
    for case in CASES.values():
        try:
            inputs = leaves(case.tensors(), case.grad)
            found = recorded(lambda: case.of(*inputs), [one for one in inputs if one.requires_grad])
        except Exception:
            continue
        for name, call in found.items():
            if call:
                CALLS.setdefault(name, call)


# What arguments of these names may be, where nothing is the default.
ARGUMENTS = {
    "dim": 0, "dims": [0], "dim0": 0, "dim1": 1, "size": [4, 4], "shape": [4, 4], "kernel_size": [2, 2], "p": 2, "k": 2,
    "output_size": [4, 4], "stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "repeats": [1, 2, 1, 1], "n": 3,
    "num_classes": 8, "groups": 1, "normalized_shape": [4], "eps": 1e-5, "momentum": 0.1, "diagonal": 0, "index": 0,
    "start": 0, "end": 4, "step": 1, "length": 2, "dimension": 0, "chunks": 2, "split_size": 2, "threshold": 0.5,
    "negative_slope": 0.1, "min": 0.2, "max": 0.8, "other": 2, "exponent": 2, "value": 0.5, "weight": 0.5, "bins": 4,
}
UNKNOWN = object()
SHAPES = ((4, 4), (2, 4, 4), (2, 3, 8, 8), (6,), (2, 3, 4, 6, 4), ())


def call_of_schema(function):
    """Makes inputs from a schema, such that the CPU computes something from them; else why not."""
    said = "no inputs are known for it"
    for shape in SHAPES:
        generator = torch.Generator().manual_seed(seed_of(str(function._schema.name)))
        args, kwargs = [], {}
        for argument in function._schema.arguments:
            if argument.has_default_value():
                continue
            value = argument_of(argument, shape, generator)
            if value is UNKNOWN:
                return "no value is known for its argument `%s` (%s)" % (argument.name, argument.type)
            if argument.kwarg_only:
                kwargs[argument.name] = value
            else:
                args.append(value)
        try:
            from torch.utils._pytree import tree_map

            copied = tree_map(lambda one: one.clone() if torch.is_tensor(one) else one, (args, kwargs))
            if flat(function(*copied[0], **copied[1])):
                return function, tuple(args), kwargs
            said = "it returns no tensor"
        except Exception as error:
            said = "no inputs were found for it: " + text_of(error)
    return said


def argument_of(argument, shape, generator):
    """A value for an argument; `UNKNOWN` where there is no idea."""
    kind = str(argument.type)
    optional = kind.startswith("Optional[")
    kind = kind[len("Optional[") : -1] if optional else kind
    if kind == "Tensor":
        if re.search(r"ind(ex|ices)|target|labels|lengths", argument.name):
            return torch.zeros(shape, dtype=torch.int64)
        if re.search(r"mask|condition", argument.name):
            return torch.randn(shape, generator=generator) > 0
        return torch.rand(shape, generator=generator) * 0.9 + 0.05
    if optional:
        return None
    if kind == "List[Tensor]":
        return [torch.rand(shape, generator=generator) for _ in range(2)]
    if argument.name == "p" and kind == "float":
        return 0.5
    if argument.name in ARGUMENTS:
        value = ARGUMENTS[argument.name]
        if kind.startswith("List[") and not isinstance(value, list):
            return [value]
        return value if kind.startswith("List[") or not isinstance(value, list) else value[0]
    plain = {"int": 1, "float": 0.5, "number": 0.5, "Scalar": 0.5, "bool": False, "List[int]": [2, 2], "List[bool]": [True]}
    return plain.get(kind, UNKNOWN)


# The values of these are whatever was in the memory.
UNDEFINED = re.compile(r"(^|::|_)(new_)?empty(_like|_strided|_permuted)?\b|resize_|::set_")
# Among the results of these are what a library keeps for its own backward pass.
WORKSPACE = re.compile(r"mkldnn_(?!rnn_layer$)|cudnn|miopen|_thnn_fused|_flash_attention|_efficient_attention|lstm_mps")


# How many of an operator's results are numbers; what follows is for its own backward pass, and partly never written.
COUNTED = dict.fromkeys(
    """_ctc_loss _embedding_bag _embedding_bag_forward_only log_sigmoid_forward native_batch_norm native_layer_norm
    native_group_norm _native_batch_norm_legit _batch_norm_with_update nll_loss_forward nll_loss2d_forward
    multilabel_margin_loss_forward""".split(),
    1,
)
COUNTED["mkldnn_rnn_layer"] = 3
# Each library has signs of its own for these, and its own order for those.
SIGNS = {"_linalg_svd", "_linalg_eigh", "linalg_qr", "geqrf"}
ORDERS = {"linalg_eig", "_linalg_eigvals", "linalg_eigvals"}


def try_call(asked, name, call):
    """Repeats the call of an operator on the device, and in float64 on the CPU."""
    from torch.utils._pytree import tree_flatten, tree_map

    function, args, kwargs = call
    own = full_name(function)
    tensors = [one for one in tree_flatten((args, kwargs))[0] if torch.is_tensor(one)]
    trial = Trial(name, asked, FORWARD, tensors)
    if not trial.begin():
        return

    def moved(change):
        def of(one):
            if torch.is_tensor(one):
                return change(one.detach().clone())
            return one

        return tree_map(of, (args, kwargs))

    stem = own.split("::")[1].split(".")[0]
    counted = COUNTED.get(stem)
    random = torch.Tag.nondeterministic_seeded in getattr(function, "tags", ())
    reference, uncompared = None, None
    if UNDEFINED.search(own):
        uncompared = "its values are whatever was in the memory"
    elif stem in ORDERS:
        uncompared = "its results have no order"
    elif WORKSPACE.search(own):
        uncompared = "what a library keeps for itself is among its results"
    else:
        # Where the CPU has it in one type alone, that is what it is compared with.
        for change in (wider, lambda one: one):
            try:
                given = moved(change)
                reference, uncompared = function(*given[0], **given[1]), None
                break
            except Exception as error:
                uncompared = "the CPU has no result to compare with: " + text_of(error)

    def of():
        there = moved(lambda one: one.to(DEVICE))
        there = tree_map(lambda one: torch.device(DEVICE) if isinstance(one, torch.device) else one, there)
        return without_signs(function(*there[0], **there[1]))

    def without_signs(results):
        return [one.abs() for one in flat(results)] if stem in SIGNS else results

    reference = without_signs(reference)
    trial.run(of, reference, random and uncompared is None, uncompared, counted)


# ---- Modules ----

# What the arguments of modules may be, by name.
MADE_WITH = {
    "in_features": 8, "out_features": 6, "in1_features": 8, "in2_features": 8, "input_size": 8, "hidden_size": 8,
    "in_channels": 8, "out_channels": 6, "kernel_size": 3, "num_features": 8, "num_channels": 8, "num_groups": 2,
    "normalized_shape": 8, "embed_dim": 8, "num_heads": 2, "d_model": 8, "nhead": 2, "num_embeddings": 12,
    "embedding_dim": 8, "output_size": 4, "upscale_factor": 2, "downscale_factor": 2, "padding": 1, "size": 3,
    "groups": 2, "n_classes": 20, "cutoffs": [5, 10], "lower": 0.1, "upper": 0.3, "norm_type": 2, "threshold": 0.1,
    "value": 0.2, "dim_feedforward": 16, "num_encoder_layers": 1, "num_decoder_layers": 1,
}


def made_module(kind):
    """An instance of a module and what it may be called with; else why there is none."""
    import inspect

    name, said = kind.__name__, None
    arguments = {}
    for argument in list(inspect.signature(kind.__init__).parameters.values())[1:]:
        needed = argument.default is inspect.Parameter.empty and argument.kind not in (
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.VAR_KEYWORD,
        )
        small = argument.name in ("dim_feedforward", "num_encoder_layers", "num_decoder_layers", "d_model", "nhead")
        if not needed and not small:
            continue
        if argument.name not in MADE_WITH and argument.name not in ("encoder_layer", "decoder_layer", "num_layers"):
            return "no value is known for its argument `%s`" % argument.name
        if argument.name in ("encoder_layer", "decoder_layer"):
            of = torch.nn.TransformerEncoderLayer if argument.name[0] == "e" else torch.nn.TransformerDecoderLayer
            arguments[argument.name] = of(8, 2, 16)
        else:
            arguments[argument.name] = MADE_WITH.get(argument.name, 1)
    if name in ("LSTM", "GRU", "RNN"):
        arguments.update(input_size=8, hidden_size=8)
    if name.startswith("Upsampl"):
        arguments.update(scale_factor=2)
    for inputs in module_inputs(name):
        try:
            torch.manual_seed(seed_of(name))
            module = kind(**arguments)
            import copy

            # Lazy ones have their weights from their first input on.
            (module if hasattr(module, "has_uninitialized_params") else copy.deepcopy(module))(*inputs)
            return module, inputs
        except Exception as error:
            # The first is the likeliest, so what is wrong with it tells most.
            said = said or "no inputs were found for it: " + text_of(error)
    return said


def module_inputs(name):
    """What a module may be called with, the likeliest first."""
    generator = torch.Generator().manual_seed(seed_of(name))
    normal = lambda *shape: torch.randn(shape, generator=generator)
    classes = torch.randint(0, 8, (4,), generator=generator)
    dimensions = re.search(r"([123])d$", name)
    image = {"1": (2, 8, 12), "2": (2, 8, 10, 9), "3": (2, 8, 7, 6, 5)}
    if "MaxUnpool" in name:
        pool = getattr(torch.nn, "MaxPool%sd" % dimensions.group(1))(3, return_indices=True)
        yield list(pool(normal(2, 8, *(6,) * int(dimensions.group(1)))))
    if name == "Fold":
        yield [normal(2, 9, 4)]
    if "Embedding" in name:
        yield [torch.randint(0, 12, (3, 5), generator=generator)]
    if name == "CTCLoss":
        yield [normal(12, 2, 7).log_softmax(2), classes[:6].reshape(2, 2) % 6 + 1, torch.tensor([12, 10]), torch.tensor([2, 1])]
    if name == "AdaptiveLogSoftmaxWithLoss":
        yield [normal(4, 8), classes]
    if "Attention" in name:
        yield [normal(5, 2, 8)] * 3
    if "Decoder" in name or name == "Transformer":
        yield [normal(5, 2, 8), normal(4, 2, 8)]
    if name.endswith("Loss"):
        unit = torch.rand(4, 8, generator=generator) * 0.9 + 0.05
        if name not in ("CrossEntropyLoss", "NLLLoss", "MultiMarginLoss"):
            yield [unit, torch.rand(4, 8, generator=generator) * 0.9 + 0.05]
        yield [normal(4, 8), classes]
        yield [normal(4, 8), classes[:, None].expand(4, 8).clone()]
        yield [normal(4, 8), normal(4, 8), normal(4, 8)]
        yield [normal(4, 8), normal(4, 8), normal(4).sign()]
        yield [normal(4), normal(4), normal(4).sign()]
        yield [normal(4, 8), normal(4, 8), normal(4, 8).abs() + 0.5]
    if name.endswith("Cell"):
        yield [normal(4, 8)]
    if dimensions:
        yield [normal(*image[dimensions.group(1)])]
    for shape in ((4, 5, 8), (2, 8, 6, 6), (4, 8), (2, 8, 5, 6, 4)):
        yield [normal(*shape)]
    yield [normal(4, 8), normal(4, 8)]


def try_module(asked, name, kind):
    """Compares a module on the device with the CPU, and each operator that it runs there."""
    import copy

    trial = Trial(name, asked, FORWARD)
    if not trial.begin():
        return
    made = made_module(kind)
    if isinstance(made, str):
        trial.not_tried(made)
        return
    module, inputs = made
    trial = Trial(name, asked, FORWARD, inputs)

    def prepared(inputs, module, change):
        given = [change(one) for one in inputs]
        # Targets of losses have no gradients of interest, and some can have none.
        targets = given[1:] if kind.__name__.endswith("Loss") else ()
        whole = lambda one: not real(one) or any(one is target for target in targets)
        given = [one if whole(one) else one.detach().clone().requires_grad_() for one in given]
        weights = [one for one in module.parameters() if one.requires_grad]
        return given, [one for one in given if one.requires_grad] + weights

    try:
        mine = copy.deepcopy(module)
        given, wanted = prepared(inputs, mine, lambda one: one)
        calls = recorded(lambda: mine(*given), wanted)
        random = any(call and torch.Tag.nondeterministic_seeded in getattr(call[0], "tags", ()) for call in calls.values())
        # What is random in training is compared as it is afterwards.
        module = module.eval() if random else module
        wide = copy.deepcopy(module).double()
        given, wanted = prepared(inputs, wide, wider)
        reference = flat(wide(*given))
        roots = differentiable(reference)
        expected = gradients_of(roots, wanted) if roots and wanted else ()
    except Exception as error:
        trial.not_tried(absent(error))
        return
    there, leaf = copy.deepcopy(module), []
    seen = recorder()

    def forward():
        there.to(DEVICE)
        given, wanted = prepared(inputs, there, lambda one: one.to(DEVICE))
        leaf.extend(wanted)
        with seen:
            return there(*given)

    results = trial.run(forward, reference)
    trial = Trial(name, asked, BACKWARD, inputs)
    kept = [at for at, one in enumerate(expected) if one is not None]
    whole = results is not None
    if kept and results is not None and trial.begin():

        def backward():
            roots = differentiable(flat(results))
            weights = weights_of(roots)
            with seen:
                found = gradients_of(roots, leaf, weights)
            return [found[at] for at in kept]

        whole = trial.run(backward, [expected[at] for at in kept]) is not None
    for own, call in calls.items():
        if not call:
            Trial(own, asked, FORWARD).not_tried("what it was given could not be kept")
        elif whole and own not in seen.calls and not random:
            # The CPU's own way to compute it; the device was through without.
            continue
        else:
            try_call(asked, own, call)
    for own, call in seen.calls.items():
        if call and own not in calls:
            try_call(asked, own, call)
