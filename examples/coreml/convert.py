"""Converts a small PyTorch network to a Core ML package, and compares the two where Core ML can run."""

import platform

import coremltools as ct
import numpy as np
import torch
from torch import nn


def main() -> None:
    torch.manual_seed(0)
    # Conversion reads the graph, so the model stays on the CPU and out of training mode.
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
    model.eval()
    example = torch.rand(1, 3, 64, 64)

    package = ct.convert(
        torch.jit.trace(model, example),
        inputs=[ct.TensorType(name="image", shape=example.shape)],
        outputs=[ct.TensorType(name="scores")],
        # No newer than the floor in macml.toml, or the package will not load there.
        minimum_deployment_target=ct.target.macOS14,
    )
    package.save("network.mlpackage")
    print(f"wrote network.mlpackage with coremltools {ct.__version__}")

    if platform.system() != "Darwin":
        print("Core ML runs on Macs only: not compared")
        return
    scores = package.predict({"image": example.numpy()})["scores"]
    with torch.no_grad():
        expected = model(example).numpy()
    # Core ML computes in half precision by default.
    np.testing.assert_allclose(scores, expected, rtol=1e-2, atol=1e-2)
    print("Core ML and PyTorch agree")


if __name__ == "__main__":
    main()
