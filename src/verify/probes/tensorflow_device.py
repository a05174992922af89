"""Loads TensorFlow, with or without the Metal plugin, and finds the device. Its text follows that of protocol.py, and
stands before each probe of TensorFlow.
"""

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["KERAS_BACKEND"] = "tensorflow"

with loading():
    import numpy
    import tensorflow as tf

DEVICE = REQUEST["device"]
THERE = "/CPU:0" if DEVICE == "cpu" else "/GPU:0"
HERE = "/CPU:0"


def found_device():
    if DEVICE == "cpu":
        say_device(True, True, "/CPU:0", processor())
        return True
    if DEVICE == "cuda":
        built = tf.test.is_built_with_cuda()
    else:
        built = "tensorflow-metal" in package_versions(["tensorflow-metal"])
    devices, name, error = [], None, None
    try:
        devices = tf.config.list_physical_devices("GPU")
        for device in devices:
            # Else all memory of the machine is taken.
            tf.config.experimental.set_memory_growth(device, True)
        if devices:
            name = tf.config.experimental.get_device_details(devices[0]).get("device_name")
            with tf.device(THERE):
                float(tf.reduce_sum(tf.ones(3)))
    except Exception as problem:
        devices, error = [], text_of(problem)
    say_device(built, bool(devices), devices[0].name if devices else None, name or processor(), error)
    return bool(devices)
