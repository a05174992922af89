"""The operators that the torch probe knows how to try, each with inputs. Its text stands before that of torch.py, and
nothing of torch is touched until `catalogue` is called.

A case is a function of tensors. What is ambiguous (signs of QR, order of eigenvalues) is turned inside into what is not:
the product of the parts, values in order, a sum.
"""

WELL, SPD, SYMMETRIC = "well-conditioned", "positive-definite", "symmetric"
POSITIVE, UNIT, DISTINCT, COMPLEX, MASK, BOUND = "positive", "unit", "distinct", "complex", "mask", "bound"


class Case:
    """One thing to try."""

    def __init__(self, name, inputs, of, grad=True, random=False):
        self.name, self.inputs, self.of, self.grad, self.random = name, inputs, of, grad, random

    def tensors(self):
        """Its inputs on the CPU, in float32 unless they are something else by nature."""
        generator = torch.Generator().manual_seed(seed_of(self.name))
        return [made_input(one, generator) for one in self.inputs]


def made_input(what, generator):
    """A tensor for a description: a shape alone, a kind with a shape, or integers below a bound."""
    if torch.is_tensor(what):
        return what.clone()
    kind, shape = (what[0], what[1]) if what and isinstance(what[0], str) else ("normal", what)
    normal = torch.randn(shape, generator=generator)
    if kind == POSITIVE:
        return normal.abs() + 0.5
    if kind == UNIT:
        return torch.rand(shape, generator=generator) * 0.9 + 0.05
    if kind == WELL:
        return normal * 0.3 + 2 * torch.diag(1 + 0.5 * torch.arange(shape[-1]))
    if kind == SYMMETRIC:
        return (normal + normal.transpose(-1, -2)) * 0.2 + torch.diag(1 + 1.0 * torch.arange(shape[-1]))
    if kind == SPD:
        return normal @ normal.transpose(-1, -2) * 0.1 + 2 * torch.eye(shape[-1])
    if kind == DISTINCT:
        count = math.prod(shape)
        return (torch.randperm(count, generator=generator).float() / count * 4 - 2).reshape(shape)
    if kind == COMPLEX:
        return torch.complex(normal, torch.randn(shape, generator=generator))
    if kind == MASK:
        return normal > 0
    if kind == BOUND:
        return torch.randint(0, what[2], shape, generator=generator)
    return normal


def below(bound, *shape):
    return (BOUND, shape, bound)


def catalogue():
    """Every case, by name: the operator's as torch has it, and its variant in brackets."""
    cases = {}

    def case(name, inputs, of, **more):
        cases[name] = Case(name, inputs, of, **more)

    def plain(name, *inputs, **more):
        """An operator that is a function of torch or of torch.nn.functional and needs nothing but tensors."""
        holder = torch if hasattr(torch, name) and not name.endswith("_loss") else F
        case(name, list(inputs), lambda *all: getattr(holder, name)(*all), **more)

    def special(name, *inputs, **more):
        case("special_" + name, list(inputs), lambda *all: getattr(torch.special, name)(*all), **more)

    for each in (sparse, paddings, samplings, norms, decompositions, losses_and_networks, pools, selections, reductions):
        each(case, plain)
    for each in (elements, transforms, random_numbers):
        each(case, plain, special)
    return cases


def sparse(case, plain):
    where = torch.tensor([[0, 0, 1, 3, 4], [1, 5, 2, 0, 3]])
    rows, columns = torch.tensor([0, 2, 3, 3, 4, 5]), where[1].clone()

    def coo(where, values):
        return torch.sparse_coo_tensor(where, values, (5, 6))

    def csr(rows, columns, values):
        return torch.sparse_csr_tensor(rows, columns, values, (5, 6))

    case("sparse_mm[coo]", [where, (5,), (6, 3)], lambda i, v, d: torch.sparse.mm(coo(i, v), d))
    case("sparse_mm[csr]", [rows, columns, (5,), (6, 3)], lambda r, c, v, d: csr(r, c, v) @ d, grad=False)
    both = lambda i, v, w: torch.sparse.mm(coo(i, v), coo(i, w).t()).to_dense()
    case("sparse_mm[coo,sparse]", [where, (5,), (5,)], both)
    case("sparse_mv[coo]", [where, (5,), (6,)], lambda i, v, d: coo(i, v) @ d, grad=False)
    case("sparse_mv[csr]", [rows, columns, (5,), (6,)], lambda r, c, v, d: csr(r, c, v) @ d, grad=False)
    added = lambda m, i, v, d: torch.sparse.addmm(m, coo(i, v), d, beta=0.5, alpha=2.0)
    case("sparse_addmm[coo]", [(5, 3), where, (5,), (6, 3)], added)
    case("sparse_coo_tensor", [where, (5,)], lambda i, v: coo(i, v).to_dense())
    case("sparse_csr_tensor", [rows, columns, (5,)], lambda *all: csr(*all).to_dense(), grad=False)
    twice = torch.tensor([[0, 0, 1, 0], [1, 1, 2, 1]])
    case("coalesce", [twice, (4,)], lambda i, v: torch.sparse_coo_tensor(i, v, (3, 4)).coalesce().values())
    case("sparse_sum[coo]", [where, (5,)], lambda i, v: torch.sparse.sum(coo(i, v), 0).to_dense())
    case("sparse_softmax[coo]", [where, (5,)], lambda i, v: torch.sparse.softmax(coo(i, v), 1).to_dense())
    case("sparse_add[coo]", [where, (5,), (5,)], lambda i, v, w: (coo(i, v) + coo(i, w)).to_dense())
    case("sparse_mul[coo]", [where, (5,), (5,)], lambda i, v, w: (coo(i, v) * coo(i, w)).to_dense())
    case("to_sparse[coo]", [(5, 6)], lambda a: a.relu().to_sparse().to_dense())
    case("to_sparse[csr]", [(5, 6)], lambda a: a.relu().to_sparse_csr().to_dense(), grad=False)


def paddings(case, plain):
    shapes = {"1d": (2, 3, 9), "2d": (2, 3, 9, 8), "3d": (2, 3, 6, 7, 8)}
    for mode in ("constant", "reflect", "replicate", "circular"):
        for at, (kind, shape) in enumerate(shapes.items()):
            widths = [2, 1, 1, 3, 2, 2][: 2 * (at + 1)]
            case("pad[%s,%s]" % (mode, kind), [shape], lambda x, mode=mode, widths=widths: F.pad(x, widths, mode=mode))
    case("pad[constant,negative]", [(2, 3, 9, 8)], lambda x: F.pad(x, [-1, 2, 1, -2], value=0.5))


def samplings(case, plain):
    shapes = {"1d": (2, 3, 7), "2d": (2, 3, 7, 6), "3d": (2, 3, 5, 6, 4)}

    def interpolation(name, kind, **more):
        size = [11, 9, 7][-int(kind[0]) :]
        case(name, [shapes[kind]], lambda x: F.interpolate(x, size=size, **more))

    for mode in ("nearest", "nearest-exact", "area"):
        for kind in shapes:
            interpolation("interpolate[%s,%s]" % (mode, kind), kind, mode=mode)
    for mode, kind in (("linear", "1d"), ("bilinear", "2d"), ("bicubic", "2d"), ("trilinear", "3d")):
        interpolation("interpolate[%s]" % mode, kind, mode=mode, align_corners=False)
        interpolation("interpolate[%s,align_corners]" % mode, kind, mode=mode, align_corners=True)
    for mode in ("bilinear", "bicubic"):
        smaller = lambda x, mode=mode: F.interpolate(x, size=(5, 4), mode=mode, antialias=True)
        case("interpolate[%s,antialias]" % mode, [(2, 3, 13, 12)], smaller)
    for padding in ("zeros", "border", "reflection"):
        for mode in ("bilinear", "nearest", "bicubic"):
            sample = lambda x, g, mode=mode, padding=padding: F.grid_sample(
                x, g, mode=mode, padding_mode=padding, align_corners=False
            )
            case("grid_sample[2d,%s,%s]" % (mode, padding), [(2, 3, 7, 6), (2, 5, 4, 2)], sample)
            if mode != "bicubic":
                case("grid_sample[3d,%s,%s]" % (mode, padding), [(2, 3, 5, 6, 4), (2, 3, 4, 5, 3)], sample)
    aligned = lambda x, g: F.grid_sample(x, g, align_corners=True)
    case("grid_sample[2d,align_corners]", [(2, 3, 7, 6), (2, 5, 4, 2)], aligned)
    case("affine_grid[2d]", [(2, 2, 3)], lambda t: F.affine_grid(t, (2, 3, 5, 6), align_corners=False))
    case("affine_grid[3d]", [(2, 3, 4)], lambda t: F.affine_grid(t, (2, 3, 3, 5, 6), align_corners=False))
    case("pixel_shuffle", [(2, 12, 4, 5)], lambda x: F.pixel_shuffle(x, 2))
    case("pixel_unshuffle", [(2, 3, 4, 6)], lambda x: F.pixel_unshuffle(x, 2))
    case("channel_shuffle", [(2, 6, 4, 5)], lambda x: F.channel_shuffle(x, 3), grad=False)


def norms(case, plain):
    image = (3, 6, 5, 4)
    case("layer_norm", [(4, 10, 12), (12,), (12,)], lambda x, w, b: F.layer_norm(x, (12,), w, b))

    def batch_norm(training):
        return lambda x, m, v, w, b: F.batch_norm(x, m.detach().clone(), v.detach().clone(), w, b, training=training)

    for name, training in (("batch_norm[train]", True), ("batch_norm[eval]", False)):
        case(name, [image, (6,), (POSITIVE, (6,)), (6,), (6,)], batch_norm(training))
    case("group_norm", [image, (6,), (6,)], lambda x, w, b: F.group_norm(x, 3, w, b))
    case("instance_norm", [image, (6,), (6,)], lambda x, w, b: F.instance_norm(x, weight=w, bias=b))
    case("rms_norm", [(4, 10, 12), (12,)], lambda x, w: F.rms_norm(x, (12,), w))
    case("local_response_norm", [image], lambda x: F.local_response_norm(x, 3, alpha=0.1))
    case("weight_norm", [(5, 7), (5, 1)], lambda v, g: torch._weight_norm(v, g, 0))
    case("normalize", [(4, 9)], lambda x: F.normalize(x, dim=1))
    case("cosine_similarity", [(4, 9), (4, 9)], F.cosine_similarity)
    case("pairwise_distance", [(4, 9), (4, 9)], F.pairwise_distance)
    case("renorm", [(4, 9)], lambda x: torch.renorm(x, 2, 0, 1.5))
    for order in (1, 2, 3, float("inf")):
        norm = lambda x, order=order: torch.linalg.vector_norm(x, order, dim=1)
        case("linalg_vector_norm[%s]" % order, [(4, 9)], norm)
    for order in ("fro", "nuc", 1, 2, float("inf")):
        norm = lambda x, order=order: torch.linalg.matrix_norm(x, order)
        case("linalg_matrix_norm[%s]" % order, [(2, 4, 6)], norm)
    case("linalg_norm", [(4, 9)], torch.linalg.norm)
    case("linalg_cond", [(WELL, (5, 5))], torch.linalg.cond)


def decompositions(case, plain):
    linalg = torch.linalg

    def qr(mode):
        def of(a):
            q, r = linalg.qr(a, mode=mode)
            return q @ r, q.mT @ q, torch.diagonal(r, dim1=-2, dim2=-1).abs()

        return of

    case("linalg_qr[reduced]", [(2, 6, 4)], qr("reduced"))
    case("linalg_qr[complete]", [(2, 6, 4)], qr("complete"), grad=False)

    def svd(a):
        u, s, vh = linalg.svd(a, full_matrices=False)
        return (u * s[..., None, :]) @ vh, s, u.mT @ u

    def eigh(a):
        w, v = linalg.eigh(a)
        return (v * w[..., None, :]) @ v.mT, w, v.mT @ v

    def eig(a):
        w, v = linalg.eig(a)
        return (v * w[..., None, :]) @ linalg.inv(v), w.sum(-1)

    def lu(a):
        p, l, u = linalg.lu(a)
        return p @ l @ u, u

    def lu_solve(a, b):
        factors, pivots = linalg.lu_factor(a)
        return linalg.lu_solve(factors, pivots, b), factors

    def ldl(a, b):
        factors, pivots = linalg.ldl_factor(a)
        return linalg.ldl_solve(factors, pivots, b)

    def ormqr(a, b):
        q, tau = torch.geqrf(a)
        return torch.ormqr(q, tau, torch.ormqr(q, tau, b), transpose=True)

    def lowrank(a):
        u, s, v = torch.svd_lowrank(a, q=4)
        return (u * s) @ v.mT

    well, spd, symmetric = (WELL, (2, 5, 5)), (SPD, (2, 5, 5)), (SYMMETRIC, (2, 5, 5))
    case("linalg_svd", [(2, 6, 4)], svd)
    case("linalg_svdvals", [(2, 6, 4)], linalg.svdvals)
    case("linalg_eigh", [symmetric], eigh)
    case("linalg_eigvalsh", [symmetric], linalg.eigvalsh)
    case("linalg_eig", [well], eig)
    case("linalg_eigvals", [well], lambda a: linalg.eigvals(a).sum(-1))
    case("linalg_inv", [well], linalg.inv)
    case("linalg_inv_ex", [well], lambda a: linalg.inv_ex(a)[0])
    case("linalg_pinv", [(2, 6, 4)], linalg.pinv)
    case("linalg_pinv[hermitian]", [symmetric], lambda a: linalg.pinv(a, hermitian=True), grad=False)
    case("linalg_det", [well], linalg.det)
    case("linalg_slogdet", [well], linalg.slogdet)
    case("logdet", [well], torch.logdet)
    case("linalg_solve", [well, (2, 5, 3)], linalg.solve)
    case("linalg_solve_ex", [well, (2, 5, 3)], lambda a, b: linalg.solve_ex(a, b)[0])
    upper = lambda a, b: linalg.solve_triangular(a, b, upper=True)
    case("linalg_solve_triangular", [well, (2, 5, 3)], upper)
    case("triangular_solve", [(2, 5, 3), well], lambda b, a: torch.triangular_solve(b, a).solution)
    case("linalg_lstsq", [(2, 7, 4), (2, 7, 2)], lambda a, b: linalg.lstsq(a, b).solution)
    case("linalg_cholesky", [spd], linalg.cholesky)
    case("linalg_cholesky_ex", [spd], lambda a: linalg.cholesky_ex(a)[0])
    case("cholesky_solve", [(2, 5, 3), spd], lambda b, a: torch.cholesky_solve(b, linalg.cholesky(a)))
    case("cholesky_inverse", [spd], lambda a: torch.cholesky_inverse(linalg.cholesky(a)))
    case("linalg_lu", [well], lu)
    case("linalg_lu_factor", [well], lambda a: linalg.lu_factor(a))
    case("linalg_lu_solve", [well, (2, 5, 3)], lu_solve)
    case("linalg_ldl_solve", [symmetric, (2, 5, 3)], ldl, grad=False)
    case("linalg_matrix_exp", [(2, 4, 4)], linalg.matrix_exp)
    case("linalg_matrix_power", [well], lambda a: linalg.matrix_power(a, 3))
    case("linalg_matrix_rank", [well], linalg.matrix_rank, grad=False)
    case("linalg_householder_product", [(2, 6, 4), (UNIT, (2, 4))], linalg.householder_product)
    case("geqrf", [(2, 6, 4)], lambda a: torch.triu(torch.geqrf(a)[0]).abs(), grad=False)
    case("ormqr", [(6, 4), (6, 3)], ormqr, grad=False)
    case("svd_lowrank", [(4, 6)], lowrank, grad=False)
    case("linalg_multi_dot", [(3, 8), (8, 2), (2, 5)], lambda *all: linalg.multi_dot(all))
    case("linalg_cross", [(4, 3), (4, 3)], linalg.cross)
    case("linalg_vander", [(4,)], linalg.vander)
    case("linalg_tensorinv", [(WELL, (6, 6))], lambda a: linalg.tensorinv(a.reshape(6, 2, 3), ind=1))
    case("linalg_tensorsolve", [(WELL, (6, 6)), (6,)], lambda a, b: linalg.tensorsolve(a.reshape(6, 2, 3), b))
    plain("kron", (2, 3), (3, 2))
    plain("trace", (5, 5))
    plain("cov", (4, 9))
    plain("corrcoef", (4, 9))
    plain("addmm", (3, 4), (3, 5), (5, 4))
    plain("addmv", (3,), (3, 5), (5,))
    plain("addr", (3, 4), (3,), (4,))
    plain("baddbmm", (2, 3, 4), (2, 3, 5), (2, 5, 4))
    plain("addbmm", (3, 4), (2, 3, 5), (2, 5, 4))
    case("einsum", [(2, 3, 4), (2, 4, 5)], lambda a, b: torch.einsum("bij,bjk->ik", a, b))
    case("tensordot", [(2, 3, 4), (4, 3, 5)], lambda a, b: torch.tensordot(a, b, dims=([1, 2], [1, 0])))


class Exponential:
    """A function with its own backward pass, made when torch is there."""

    @staticmethod
    def made():
        class Own(torch.autograd.Function):
            @staticmethod
            def forward(context, x):
                context.save_for_backward(x)
                return x * x.exp()

            @staticmethod
            def backward(context, gradient):
                (x,) = context.saved_tensors
                if gradient.device != x.device:
                    raise RuntimeError("the gradient lies on %s, and the input on %s" % (gradient.device, x.device))
                return gradient * (1 + x) * x.exp()

        return Own.apply


def losses_and_networks(case, plain):
    case("autograd_function", [(4, 5)], Exponential.made())

    def ctc(reduction):
        # Where lengths and targets lie is the user's: as most have them, targets on the device and lengths not.
        lengths, wanted = torch.tensor([12, 10]), torch.tensor([4, 3])
        return lambda x, targets: F.ctc_loss(x.log_softmax(2), targets + 1, lengths, wanted, reduction=reduction)

    def signs(y):
        return y.detach().sign()

    case("ctc_loss[mean]", [(12, 2, 7), below(6, 2, 4)], ctc("mean"))
    case("ctc_loss[none]", [(12, 2, 7), below(6, 2, 4)], ctc("none"))
    case("cross_entropy", [(6, 5), below(5, 6)], lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1))
    case("cross_entropy[weight]", [(6, 5), below(5, 6), (POSITIVE, (5,))], lambda x, y, w: F.cross_entropy(x, y, w.detach()))
    case("nll_loss", [(6, 5), below(5, 6)], lambda x, y: F.nll_loss(x.log_softmax(1), y))
    case("nll_loss2d", [(2, 5, 4, 3), below(5, 2, 4, 3)], lambda x, y: F.nll_loss(x.log_softmax(1), y))
    case("binary_cross_entropy", [(UNIT, (4, 5)), (UNIT, (4, 5))], F.binary_cross_entropy)
    case("binary_cross_entropy_with_logits", [(4, 5), (UNIT, (4, 5))], F.binary_cross_entropy_with_logits)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "poisson_nll_loss"):
        plain(name, (4, 5), (4, 5))
    case("soft_margin_loss", [(4, 5), (4, 5)], lambda x, y: F.soft_margin_loss(x, signs(y)))
    case("kl_div", [(4, 5), (4, 5)], lambda x, y: F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"))
    plain("multi_margin_loss", (6, 5), below(5, 6))
    case("multilabel_margin_loss", [(3, 4), torch.tensor([[3, 0, -1, 1], [0, 1, 2, 3], [1, -1, 0, 2]])],
         lambda x, y: F.multilabel_margin_loss(x, y))
    plain("triplet_margin_loss", (4, 5), (4, 5), (4, 5))
    case("cosine_embedding_loss", [(4, 5), (4, 5), (4,)], lambda a, b, y: F.cosine_embedding_loss(a, b, signs(y)))
    case("hinge_embedding_loss", [(4, 5), (4, 5)], lambda a, y: F.hinge_embedding_loss(a, signs(y)))
    case("gaussian_nll_loss", [(4, 5), (4, 5), (POSITIVE, (4, 5))], F.gaussian_nll_loss)

    images = {"1d": (2, 4, 11), "2d": (2, 4, 9, 8), "3d": (2, 4, 6, 7, 5)}
    for at, (kind, shape) in enumerate(images.items()):
        sides = (3,) * (at + 1)
        of, back = getattr(F, "conv" + kind), getattr(F, "conv_transpose" + kind)
        case("conv" + kind, [shape, (6, 4) + sides, (6,)], of)
        case("conv%s[stride,padding,dilation,groups]" % kind, [shape, (6, 2) + sides, (6,)],
             lambda x, w, b, of=of: of(x, w, b, stride=2, padding=2, dilation=2, groups=2))
        case("conv_transpose" + kind, [shape, (4, 5) + sides, (5,)],
             lambda x, w, b, back=back: back(x, w, b, stride=2, padding=1, output_padding=1))

    def recurrent(kind, **more):
        gates = {"lstm": 4, "gru": 3}.get(kind, 1)
        shapes = [(5, 2, 6), (gates * 4, 6), (gates * 4, 4), (gates * 4,), (gates * 4,)]

        def of(x, *weights):
            start = torch.zeros(1, x.shape[1], 4, dtype=x.dtype, device=x.device)
            start = (start, start.clone()) if kind == "lstm" else start
            return getattr(torch, kind)(x, start, weights, True, 1, 0.0, True, False, False)

        case(kind, shapes, of)

    for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        recurrent(kind)
    heads = [(2, 2, 9, 8)] * 3
    case("scaled_dot_product_attention", heads, F.scaled_dot_product_attention)
    case("scaled_dot_product_attention[causal]", heads, lambda *all: F.scaled_dot_product_attention(*all, is_causal=True))
    masked = lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m)
    case("scaled_dot_product_attention[mask]", heads + [(9, 9)], masked)
    plain("linear", (4, 6), (5, 6), (5,))
    plain("bilinear", (4, 3), (4, 5), (2, 3, 5), (2,))
    case("embedding", [below(10, 3, 4), (10, 6)], F.embedding)
    case("embedding[padding,scale]", [below(10, 3, 4), (10, 6)],
         lambda i, w: F.embedding(i, w, padding_idx=2, scale_grad_by_freq=True))
    for mode in ("sum", "mean", "max"):
        case("embedding_bag[%s]" % mode, [below(10, 3, 4), (10, 6)],
             lambda i, w, mode=mode: F.embedding_bag(i, w, mode=mode))
    case("one_hot", [below(5, 7)], lambda i: F.one_hot(i, 5))

    def foreach(a, b):
        a = [a.detach().clone(), b.detach().clone()]
        torch._foreach_mul_(a, 0.5)
        torch._foreach_addcdiv_(a, [b, b.neg()], [b.abs() + 1, b.abs() + 2], 0.1)
        return tuple(torch._foreach_add(a, [b, b])) + tuple(torch._foreach_norm(a))

    case("_foreach_mul_", [(3, 4), (3, 4)], foreach, grad=False)

    def unscale(a):
        grads, seen, scale = [a.detach().clone()], torch.zeros(1, device=a.device), torch.full((1,), 0.5, device=a.device)
        torch._amp_foreach_non_finite_check_and_unscale_(grads, seen, scale)
        return grads[0], seen

    case("_amp_foreach_non_finite_check_and_unscale_", [(3, 4)], unscale, grad=False)


def pools(case, plain):
    images = {"1d": (2, 3, 11), "2d": (2, 3, 9, 8), "3d": (2, 3, 6, 7, 5)}
    for at, (kind, shape) in enumerate(images.items()):
        distinct = (DISTINCT, shape)
        most, mean, unpool = (getattr(F, name + kind) for name in ("max_pool", "avg_pool", "max_unpool"))
        size = (3, 4, 2)[: at + 1]
        case("max_pool" + kind, [distinct], lambda x, of=most: of(x, 3, stride=2, padding=1))
        case("max_pool%s_with_indices" % kind, [distinct], lambda x, of=most: of(x, 2, return_indices=True))
        case("avg_pool" + kind, [shape], lambda x, of=mean: of(x, 3, stride=2, padding=1))
        case("adaptive_avg_pool" + kind, [shape], lambda x, kind=kind, size=size: getattr(F, "adaptive_avg_pool" + kind)(x, size))
        case("adaptive_max_pool" + kind, [distinct], lambda x, kind=kind, size=size: getattr(F, "adaptive_max_pool" + kind)(x, size))
        back = lambda x, of=most, back=unpool: back(*of(x, 2, return_indices=True), kernel_size=2, output_size=x.shape[2:])
        case("max_unpool" + kind, [distinct], back)
    case("adaptive_avg_pool2d[divisible]", [(2, 3, 8, 8)], lambda x: F.adaptive_avg_pool2d(x, 4))
    case("lp_pool2d", [(POSITIVE, (2, 3, 9, 8))], lambda x: F.lp_pool2d(x, 2, 3, stride=2))
    where = (UNIT, (2, 3, 2))
    pool = lambda x, r: F.fractional_max_pool2d(x, 2, output_size=(4, 3), _random_samples=r.detach())
    case("fractional_max_pool2d", [(DISTINCT, (2, 3, 9, 8)), where], pool)
    # Its synonym in torch's table of operators is im2col.
    case("unfold[2d]", [(2, 3, 7, 6)], lambda x: F.unfold(x, (3, 2), padding=1, stride=2))
    case("im2col", [(2, 3, 7, 6)], lambda x: F.unfold(x, (2, 2)))
    case("fold", [(2, 12, 12)], lambda x: F.fold(x, (5, 4), (2, 2)))
    case("col2im", [(2, 12, 12)], lambda x: F.fold(x, (5, 4), (2, 2)))


def selections(case, plain):
    distinct = (DISTINCT, (4, 7))
    index = below(4, 3, 7)
    for stable in (False, True):
        of = lambda x, stable=stable: torch.sort(x, dim=1, descending=True, stable=stable)
        case("sort[stable]" if stable else "sort", [distinct], of)
    case("argsort", [distinct], lambda x: torch.argsort(x, 1))
    case("msort", [distinct], torch.msort)
    case("topk", [distinct], lambda x: torch.topk(x, 3, dim=1))
    case("kthvalue", [distinct], lambda x: torch.kthvalue(x, 3, dim=1))
    case("mode", [below(3, 4, 7)], lambda x: torch.mode(x.float(), 1)[0])
    case("unique", [below(5, 20)], lambda x: torch.unique(x, return_inverse=True, return_counts=True))
    case("unique_dim", [below(2, 9, 2)], lambda x: torch.unique(x, dim=0, return_counts=True))
    case("unique_consecutive", [below(2, 20)], lambda x: torch.unique_consecutive(x, return_counts=True))
    case("nonzero", [(MASK, (5, 6))], torch.nonzero)
    case("argwhere", [(MASK, (5, 6))], torch.argwhere)
    case("where", [(MASK, (5, 6)), (5, 6), (5, 6)], torch.where)
    case("masked_select", [(5, 6), (MASK, (5, 6))], torch.masked_select)
    case("masked_fill", [(5, 6), (MASK, (5, 6))], lambda x, m: x.masked_fill(m, 0.5))
    case("masked_scatter", [(5, 6), (MASK, (5, 6)), (40,)], lambda x, m, s: x.masked_scatter(m, s))
    case("index_select", [(4, 7), below(4, 6)], lambda x, i: torch.index_select(x, 0, i))
    case("index", [(4, 7), below(4, 6)], lambda x, i: x[i])
    case("index_add", [(4, 7), below(4, 6), (6, 7)], lambda x, i, s: x.index_add(0, i, s, alpha=2))
    case("index_fill", [(4, 7), below(4, 2)], lambda x, i: x.index_fill(0, i, 0.5))
    case("index_copy", [(4, 7), torch.tensor([2, 0]), (2, 7)], lambda x, i, s: x.index_copy(0, i, s))
    case("index_put", [(4, 7), torch.tensor([2, 0]), (2, 7)], lambda x, i, s: x.index_put((i,), s))
    case("index_put[accumulate]", [(4, 7), below(4, 6), (6, 7)], lambda x, i, s: x.index_put((i,), s, accumulate=True))
    case("index_reduce", [(POSITIVE, (4, 7)), below(4, 6), (POSITIVE, (6, 7))],
         lambda x, i, s: x.index_reduce(0, i, s, "prod"))
    case("gather", [(4, 7), index], lambda x, i: torch.gather(x, 0, i))
    case("take", [(4, 7), below(28, 5)], torch.take)
    case("take_along_dim", [(4, 7), below(4, 3, 7)], lambda x, i: torch.take_along_dim(x, i, 0))
    case("put", [(4, 7), torch.tensor([3, 9, 20]), (3,)], lambda x, i, s: torch.put(x, i, s))
    case("scatter", [(4, 7), torch.arange(4).flip(0)[:, None].expand(4, 7).clone(), (4, 7)],
         lambda x, i, s: x.scatter(0, i, s))
    case("scatter_add", [(4, 7), below(4, 6, 7), (6, 7)], lambda x, i, s: x.scatter_add(0, i, s))
    for how in ("sum", "prod", "mean", "amax", "amin"):
        of = lambda x, i, s, how=how: x.scatter_reduce(0, i, s, how)
        case("scatter_reduce[%s]" % how, [(DISTINCT, (4, 7)), below(4, 6, 7), (DISTINCT, (6, 7))], of)
    case("searchsorted", [(DISTINCT, (3, 9)), (3, 5)], lambda a, v: torch.searchsorted(torch.sort(a)[0], v), grad=False)
    case("bucketize", [(3, 5), (DISTINCT, (9,))], lambda v, a: torch.bucketize(v, torch.sort(a)[0], right=True), grad=False)
    case("isin", [below(9, 4, 5), below(9, 3)], torch.isin)
    case("bincount", [below(6, 30)], torch.bincount)
    case("bincount[weights]", [below(6, 30), (30,)], torch.bincount, grad=False)
    case("histc", [(50,)], lambda x: torch.histc(x, bins=8, min=-2, max=2), grad=False)
    case("histogram", [(50,)], lambda x: torch.histogram(x, bins=8, range=(-2.0, 2.0)), grad=False)
    case("histogramdd", [(50, 2)], lambda x: torch.histogramdd(x, bins=[3, 4], range=[-2.0, 2.0, -2.0, 2.0])[0], grad=False)
    case("roll", [(4, 7)], lambda x: torch.roll(x, (1, -2), (0, 1)))
    case("flip", [(4, 7)], lambda x: torch.flip(x, (0, 1)))
    case("rot90", [(4, 7)], torch.rot90)
    case("unfold[tensor]", [(4, 9)], lambda x: x.unfold(1, 4, 2))
    case("repeat_interleave", [(4, 3), torch.tensor([1, 0, 2, 3])], lambda x, r: torch.repeat_interleave(x, r, 0))
    case("tril", [(4, 7)], lambda x: torch.tril(x, 1))
    case("triu", [(4, 7)], lambda x: torch.triu(x, -1))
    case("tril_indices", [(1,)], lambda x: torch.tril_indices(4, 5, device=x.device), grad=False)
    case("triu_indices", [(1,)], lambda x: torch.triu_indices(4, 5, device=x.device), grad=False)
    case("diag_embed", [(4, 3)], torch.diag_embed)
    case("block_diag", [(2, 3), (1, 2)], torch.block_diag)
    case("cartesian_prod", [(3,), (4,)], torch.cartesian_prod)
    case("combinations", [(5,)], torch.combinations)
    case("linspace", [(1,)], lambda x: torch.linspace(-1, 3, 9, device=x.device, dtype=x.dtype), grad=False)
    case("logspace", [(1,)], lambda x: torch.logspace(-1, 2, 9, device=x.device, dtype=x.dtype), grad=False)
    case("select_scatter", [(4, 7), (7,)], lambda x, s: torch.select_scatter(x, s, 0, 2))
    case("slice_scatter", [(4, 7), (4, 3)], lambda x, s: torch.slice_scatter(x, s, 1, 1, 7, 2))
    case("diagonal_scatter", [(4, 4), (4,)], torch.diagonal_scatter)


def reductions(case, plain):
    distinct, positive = (DISTINCT, (4, 7)), (POSITIVE, (4, 7))
    for name in ("sum", "mean", "prod", "std", "var", "amax", "amin", "nansum", "nanmean"):
        case(name, [distinct], lambda x, name=name: getattr(torch, name)(x, dim=1))
    for name in ("max", "min", "median", "nanmedian", "argmax", "argmin"):
        case(name, [distinct], lambda x, name=name: getattr(torch, name)(x, dim=1))
    for name in ("cummax", "cummin", "cumsum", "cumprod", "logcumsumexp", "logsumexp", "diff", "cumulative_trapezoid",
                 "softmax", "log_softmax"):
        case(name, [distinct], lambda x, name=name: getattr(torch, name)(x, dim=1))
    case("aminmax", [distinct], lambda x: torch.aminmax(x, dim=1))
    case("std_mean", [distinct], lambda x: torch.std_mean(x, dim=1))
    case("var_mean", [distinct], lambda x: torch.var_mean(x, dim=1))
    case("median[all]", [(DISTINCT, (5, 7))], torch.median)
    for name in ("quantile", "nanquantile"):
        of = lambda x, name=name: getattr(torch, name)(x, torch.tensor([0.2, 0.7], dtype=x.dtype, device=x.device), dim=1)
        case(name, [distinct], of)
    case("any", [(MASK, (4, 7))], lambda x: torch.any(x, 1))
    case("all", [(MASK, (4, 7))], lambda x: torch.all(x, 1))
    case("count_nonzero", [(MASK, (4, 7))], lambda x: torch.count_nonzero(x, 1))
    case("trapezoid", [distinct], torch.trapezoid)
    case("gradient", [distinct], lambda x: torch.gradient(x))
    case("dist", [(4, 7), (4, 7)], torch.dist)
    for order in (1.0, 2.0, 3.0):
        case("cdist[%g]" % order, [(2, 5, 4), (2, 6, 4)], lambda a, b, order=order: torch.cdist(a, b, p=order))
    case("pdist", [(5, 4)], F.pdist)
    case("bitwise_and", [below(99, 9), below(99, 9)], torch.bitwise_and)
    case("segment_reduce", [(6, 3)], lambda x: torch.segment_reduce(
        x, "sum", lengths=torch.tensor([2, 4], device=x.device), axis=0))


def elements(case, plain, special):
    some, positive, unit = (4, 9), (POSITIVE, (4, 9)), (UNIT, (4, 9))
    for name in ("exp", "expm1", "exp2", "sin", "cos", "tan", "tanh", "sinh", "cosh", "asinh", "atan", "erf", "erfc",
                 "sigmoid", "sinc", "abs", "sign", "floor", "ceil", "round", "trunc", "frac", "relu", "neg", "square",
                 "deg2rad", "nan_to_num", "signbit", "isnan", "isfinite"):
        plain(name, some)
    for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "lgamma", "digamma"):
        plain(name, positive)
    for name in ("asin", "acos", "atanh", "logit", "erfinv"):
        plain(name, unit)
    case("acosh", [positive], lambda x: torch.acosh(x + 1))
    case("polygamma", [positive], lambda x: torch.polygamma(2, x))
    case("mvlgamma", [positive], lambda x: torch.mvlgamma(x + 2, 3))
    for name in ("add", "sub", "mul", "maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "logaddexp", "logaddexp2",
                 "copysign", "heaviside", "float_power", "nextafter"):
        grad = name not in ("heaviside", "nextafter")
        first = positive if name == "float_power" else some
        # The next number is another one in another type: it is compared with what float32 has.
        if name == "nextafter":
            of = lambda a, b: torch.nextafter(a.float(), b.float())
            case(name, [some, some], of, grad=False)
            continue
        plain(name, first, some, grad=grad)
    for name in ("div", "remainder", "fmod", "floor_divide", "pow", "xlogy", "igamma", "igammac"):
        case(name, [positive, positive], lambda a, b, name=name: getattr(torch, name)(a, b),
             grad=name in ("div", "pow", "xlogy"))
    plain("lerp", some, some, some)
    plain("addcmul", some, some, some)
    plain("addcdiv", some, some, positive)
    case("clamp", [some], lambda x: torch.clamp(x, -0.5, 0.7))
    case("frexp", [some], torch.frexp, grad=False)
    case("ldexp", [some, below(5, 4, 9)], torch.ldexp)
    case("gcd", [below(99, 9), below(99, 9)], torch.gcd)
    case("lcm", [below(99, 9), below(99, 9)], torch.lcm)
    for name in ("bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"):
        plain(name, below(9, 9), below(9, 9))
    plain("bitwise_not", below(99, 9))
    for name in ("logical_and", "logical_xor", "eq", "lt", "isclose"):
        plain(name, some, some, grad=False)
    for name in ("gelu", "silu", "mish", "hardswish", "hardsigmoid", "hardtanh", "softplus", "softshrink", "hardshrink",
                 "elu", "selu", "celu", "leaky_relu", "logsigmoid", "softsign", "relu6", "tanhshrink"):
        case(name, [some], lambda x, name=name: getattr(F, name)(x))
    case("gelu[tanh]", [some], lambda x: F.gelu(x, approximate="tanh"))
    case("glu", [(4, 10)], F.glu)
    case("prelu", [some, (9,)], F.prelu)
    case("rrelu[eval]", [some], F.rrelu)
    case("threshold", [some], lambda x: F.threshold(x, 0.1, 0.2))
    for name in ("i0", "i0e", "i1", "i1e", "erfcx", "log_ndtr", "ndtr", "expit"):
        special(name, some)
    for name in ("bessel_j0", "bessel_j1", "bessel_y0", "modified_bessel_i0", "spherical_bessel_j0"):
        special(name, positive, grad=False)
    special("entr", unit)
    special("ndtri", unit)
    special("xlog1py", some, positive)
    case("special_zeta", [positive, positive], lambda a, b: torch.special.zeta(a + 1, b), grad=False)
    case("special_chebyshev_polynomial_t", [unit], lambda x: torch.special.chebyshev_polynomial_t(x, 3), grad=False)


def transforms(case, plain, special):
    fft, complex_ = torch.fft, (COMPLEX, (4, 12))
    for name in ("fft", "ifft", "fft2", "ifft2", "fftn", "irfft", "hfft"):
        case("fft_" + name, [complex_], lambda x, name=name: getattr(torch.fft, name)(x))
    for name in ("rfft", "rfft2", "rfftn", "ihfft"):
        case("fft_" + name, [(4, 12)], lambda x, name=name: getattr(torch.fft, name)(x))
    case("fft_fftshift", [(4, 12)], fft.fftshift)

    def stft(x):
        return torch.stft(x, 16, 4, window=torch.hann_window(16, dtype=x.dtype, device=x.device), return_complex=True)

    def istft(x):
        window = torch.hann_window(16, dtype=x.dtype, device=x.device)
        return torch.istft(stft(x), 16, 4, window=window, length=x.shape[-1])

    case("stft", [(2, 64)], stft)
    case("istft", [(2, 64)], istft)
    case("complex", [(4, 5), (4, 5)], torch.complex)
    case("polar", [(POSITIVE, (4, 5)), (4, 5)], torch.polar)
    case("view_as_real", [complex_], torch.view_as_real)
    case("view_as_complex", [(4, 5, 2)], torch.view_as_complex)
    for name in ("abs", "angle", "exp", "sqrt", "tanh", "reciprocal", "sgn"):
        case(name + "[complex]", [complex_], lambda x, name=name: getattr(torch, name)(x))
    case("conj", [complex_], lambda x: torch.conj(x).resolve_conj())
    case("mul[complex]", [complex_, complex_], torch.mul)
    case("matmul[complex]", [(COMPLEX, (3, 5)), (COMPLEX, (5, 4))], torch.matmul)
    case("linalg_inv[complex]", [(COMPLEX, (3, 3))], lambda a: torch.linalg.inv(a + 4 * torch.eye(3, device=a.device)))
    case("linalg_eigvalsh[complex]", [(COMPLEX, (4, 4))], lambda a: torch.linalg.eigvalsh(a + a.mH))


def random_numbers(case, plain, special):
    """Only what has to hold for every seed can be compared: shapes, and that the numbers are finite."""
    for name, arguments in (
        ("normal_", (0.5, 2.0)), ("uniform_", (1.0, 2.0)), ("bernoulli_", (0.5,)), ("exponential_", (2.0,)),
        ("geometric_", (0.5,)), ("cauchy_", ()), ("log_normal_", ()), ("random_", (9,)),
    ):
        of = lambda x, name=name, arguments=arguments: getattr(x.clone(), name)(*arguments)
        case(name.rstrip("_"), [(8, 9)], of, grad=False, random=True)
    case("multinomial", [(UNIT, (3, 8))], lambda p: torch.multinomial(p, 4), grad=False, random=True)
    case("multinomial[replacement]", [(UNIT, (3, 8))], lambda p: torch.multinomial(p, 20, True), grad=False, random=True)
    case("randperm", [(1,)], lambda x: torch.randperm(9, device=x.device), grad=False, random=True)
    case("poisson", [(POSITIVE, (4, 5))], torch.poisson, grad=False, random=True)
    case("binomial", [(POSITIVE, (4, 5)), (UNIT, (4, 5))], lambda n, p: torch.binomial(n.ceil(), p), grad=False, random=True)
    case("_standard_gamma", [(POSITIVE, (4, 5))], torch._standard_gamma, grad=False, random=True)
    case("_sample_dirichlet", [(POSITIVE, (4, 5))], torch._sample_dirichlet, grad=False, random=True)
    for name in ("dropout", "alpha_dropout", "feature_alpha_dropout", "rrelu"):
        case(name, [(8, 9)], lambda x, name=name: getattr(F, name)(x, training=True), grad=False, random=True)
