"""Trains a small network with MLX on this Mac's GPU, or on the CPU where there is none."""

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

STEPS = 200


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(8, 64)
        self.middle = nn.Linear(64, 64)
        self.out = nn.Linear(64, 1)

    def __call__(self, inputs: mx.array) -> mx.array:
        return self.out(nn.relu(self.middle(nn.relu(self.hidden(inputs)))))


def pick_device() -> mx.Device:
    return mx.Device(mx.gpu if mx.metal.is_available() else mx.cpu)


def main() -> None:
    device = pick_device()
    # Memory is shared between CPU and GPU: nothing is moved, the device is where operations run. It is chosen before
    # the model is made, so that its parameters are computed there too.
    mx.set_default_device(device)
    mx.random.seed(0)

    inputs = mx.random.normal((1024, 8))
    targets = mx.sum(inputs[:, :4] ** 2, axis=1, keepdims=True)

    model = Network()
    optimizer = optim.Adam(learning_rate=1e-2)

    def loss_of(model: Network) -> mx.array:
        return nn.losses.mse_loss(model(inputs), targets)

    loss_and_gradients = nn.value_and_grad(model, loss_of)
    first = last = 0.0
    for step in range(STEPS):
        loss, gradients = loss_and_gradients(model)
        optimizer.update(model, gradients)
        # MLX is lazy: without this nothing would be computed until the loss is printed.
        mx.eval(loss, model.parameters(), optimizer.state)
        if step % 50 == 0 or step == STEPS - 1:
            last = loss.item()
            first = first or last
            print(f"step {step:3d}  loss {last:.4f}")

    assert last < 0.2 * first, f"the loss did not fall: {first:.4f} to {last:.4f}"
    print(f"trained on {device} with MLX {mx.__version__}")


if __name__ == "__main__":
    main()
