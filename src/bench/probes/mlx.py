"""What MLX is measured by. Its text follows that of measure.py.

It computes nothing before that is asked for, and its arrays lie in memory that the processor and the GPU share: there is
nothing to bring anywhere.
"""

TYPES = {"float32": mx.float32, "float16": mx.float16}


def wait():
    """Computing is through when `mx.eval` is; the work of other streams is waited for where that can be said."""
    if hasattr(mx, "synchronize"):
        mx.synchronize()


class Product:
    """A product of two square matrices."""

    moves = False

    def __init__(self, size, element):
        keys = mx.random.split(mx.random.key(REQUEST["seed"]), 2)
        self.operands = [mx.random.normal((size, size), key=key).astype(TYPES[element]) for key in keys]

    def send(self):
        mx.eval(self.operands)
        wait()

    def once(self):
        self.result = mx.matmul(*self.operands)
        mx.eval(self.result)
        wait()


class Convolution:
    """One epoch of training a small network on grey images of 28 by 28, all of it in one element type."""

    moves = False

    def __init__(self, size, element):
        mx.random.seed(REQUEST["seed"])
        self.batch = min(REQUEST["batch"], size)
        self.images = mx.random.normal((size, 28, 28, 1)).astype(TYPES[element])
        self.labels = mx.random.randint(0, 10, (size,))
        self.model = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            lambda maps: maps.flatten(1),
            nn.Linear(64 * 7 * 7, 10),
        )
        self.model.update(tree_map(lambda one: one.astype(TYPES[element]), self.model.parameters()))
        # A rate of another type would widen the weights.
        self.optimizer = optim.SGD(learning_rate=mx.array(0.01, dtype=TYPES[element]))

        def loss(model, images, labels):
            return nn.losses.cross_entropy(model(images).astype(mx.float32), labels, reduction="mean")

        self.step = nn.value_and_grad(self.model, loss)

    def send(self):
        mx.eval(self.images, self.labels, self.model.parameters())
        wait()

    def once(self):
        for start in range(0, len(self.images), self.batch):
            end = start + self.batch
            loss, gradients = self.step(self.model, self.images[start:end], self.labels[start:end])
            self.optimizer.update(self.model, gradients)
            # Each step by itself, as programs do: else an epoch would be one graph, and memory grow with it.
            mx.eval(loss, self.model.parameters(), self.optimizer.state)
        wait()


class Memory:
    """What MLX has in use for arrays, and had at most."""

    def forget(self):
        for name in ("clear_cache", "reset_peak_memory"):
            if hasattr(mx, name):
                getattr(mx, name)()

    def most(self):
        return mx.get_peak_memory() if DEVICE != "cpu" and hasattr(mx, "get_peak_memory") else None


def main():
    versions = package_versions(["mlx-metal", "mlx-cpu", "mlx-cuda", "numpy"])
    versions["mlx"] = mx.__version__
    try:
        mx.set_default_device(THERE)
    except Exception:
        # What is not there is told when the device is looked for.
        pass
    measure_all(versions, {"product": Product, "convolution": Convolution}, Memory())


main()
