"""Trains a small network through the Metal plugin, or on the CPU where there is no GPU."""

import tensorflow as tf

STEPS = 200


def pick_device() -> str:
    # The plugin registers the Mac's GPU as an ordinary one; without the plugin the list is empty.
    return "/GPU:0" if tf.config.list_physical_devices("GPU") else "/CPU:0"


def main() -> None:
    tf.random.set_seed(0)
    device = pick_device()

    with tf.device("/CPU:0"):
        inputs = tf.random.normal([1024, 8])
        targets = tf.reduce_sum(inputs[:, :4] ** 2, axis=1, keepdims=True)

    # Everything that is trained is made under the device, the optimizer's own variables included.
    with tf.device(device):
        model = tf.keras.Sequential(
            [
                tf.keras.Input(shape=(8,)),
                tf.keras.layers.Dense(64, activation="relu"),
                tf.keras.layers.Dense(64, activation="relu"),
                tf.keras.layers.Dense(1),
            ]
        )
        optimizer = tf.keras.optimizers.Adam(1e-2)
        optimizer.build(model.trainable_variables)

        @tf.function
        def train_step() -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(inputs, training=True) - targets) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss

        first = last = 0.0
        for step in range(STEPS):
            loss = train_step()
            if step % 50 == 0 or step == STEPS - 1:
                last = float(loss)
                first = first or last
                print(f"step {step:3d}  loss {last:.4f}")

    assert last < 0.2 * first, f"the loss did not fall: {first:.4f} to {last:.4f}"
    print(f"trained on {device} with TensorFlow {tf.__version__}")


if __name__ == "__main__":
    main()
