"""What TensorFlow is measured by. Its text follows that of measure.py.

No call of its own waits for a GPU, and a plugin's least of all: one element of the result is read.
"""

TYPES = {"float32": tf.float32, "float16": tf.float16}


def wait(tensor):
    """Devices work off what they are asked in order: when one element is here, all of the tensor is there."""
    tf.reshape(tensor, [-1])[0].numpy()


class Product:
    """A product of two square matrices."""

    moves = True

    def __init__(self, size, element):
        random = numpy.random.default_rng(REQUEST["seed"])
        self.host = [random.standard_normal((size, size), dtype="float32").astype(element) for _ in range(2)]

    def send(self):
        with tf.device(THERE):
            self.there = [tf.constant(one) for one in self.host]
            wait(self.there[1])

    def once(self):
        with tf.device(THERE):
            self.result = tf.linalg.matmul(*self.there)
            wait(self.result)

    def fetch(self):
        return self.result.numpy()


class Convolution:
    """One epoch of training a small network on grey images of 28 by 28, all of it in one element type."""

    moves = True

    def __init__(self, size, element):
        random = numpy.random.default_rng(REQUEST["seed"])
        self.batch = min(REQUEST["batch"], size)
        self.host = [
            random.standard_normal((size, 28, 28, 1), dtype="float32").astype(element),
            random.integers(0, 10, size).astype("int64"),
        ]

        def weights(*shape):
            # As wide as what flows in is many.
            return tf.Variable(random.standard_normal(shape).astype(element) / math.sqrt(math.prod(shape[:-1])))

        with tf.device(THERE):
            shapes = [(3, 3, 1, 32), (3, 3, 32, 64), (7 * 7 * 64, 10)]
            all = [weights(*shape) for shape in shapes]
            biases = [tf.Variable(tf.zeros(shape[-1], TYPES[element])) for shape in shapes]

        @tf.function
        def step(images, labels):
            with tf.GradientTape() as tape:
                maps = images
                for weight, bias in zip(all[:2], biases):
                    maps = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(maps, weight, 1, "SAME"), bias))
                    maps = tf.nn.max_pool2d(maps, 2, 2, "VALID")
                outputs = tf.linalg.matmul(tf.reshape(maps, (-1, 7 * 7 * 64)), all[2]) + biases[2]
                outputs = tf.cast(outputs, tf.float32)
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs))
            changed = all + biases
            for variable, gradient in zip(changed, tape.gradient(loss, changed)):
                variable.assign_sub(tf.cast(0.01, TYPES[element]) * gradient)
            return loss

        self.step, self.last = step, biases[2]

    def send(self):
        with tf.device(THERE):
            self.there = [tf.constant(one) for one in self.host]
            wait(self.there[0])

    def once(self):
        with tf.device(THERE):
            images, labels = self.there
            for start in range(0, len(images), self.batch):
                self.loss = self.step(images[start : start + self.batch], labels[start : start + self.batch])
            # The loss is known before the weights are changed.
            wait(self.last.read_value())
            wait(self.loss)

    def fetch(self):
        return self.loss.numpy()


class Memory:
    """What TensorFlow has in use of the device's memory, and had at most, where a plugin counts it."""

    def forget(self):
        try:
            tf.config.experimental.reset_memory_stats("GPU:0")
        except Exception:
            pass

    def most(self):
        if DEVICE == "cpu":
            return None
        try:
            return int(tf.config.experimental.get_memory_info("GPU:0")["peak"]) or None
        except Exception:
            return None


def main():
    versions = package_versions(["tensorflow-metal", "tensorflow-macos", "keras", "numpy"])
    versions["tensorflow"] = tf.__version__
    measure_all(versions, {"product": Product, "convolution": Convolution}, Memory())


main()
