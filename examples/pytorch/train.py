"""Trains a small network on this Mac's GPU, or on the CPU where there is none."""

import torch
from torch import nn

STEPS = 200


def pick_device() -> torch.device:
    # `is_built` without `is_available` means: this torch has MPS, but this macOS or this session has no GPU for it.
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def main() -> None:
    torch.manual_seed(0)
    device = pick_device()

    # Two interleaved half circles, made on the CPU so that every device sees the same numbers.
    angle = torch.rand(1024) * torch.pi
    label = torch.randint(0, 2, (1024,))
    side = 1.0 - 2.0 * label
    points = torch.stack([side * angle.cos() + label, side * angle.sin() + 0.5 * label], dim=1)
    points = (points + 0.1 * torch.randn_like(points)).to(device)
    label = label.to(device)

    model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
    # Before the optimizer is made: it must hold the parameters that are on the device.
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    loss_of = nn.CrossEntropyLoss()

    first = last = 0.0
    for step in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model(points), label)
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step == STEPS - 1:
            # `item` waits for the GPU, so it is asked for rarely.
            last = loss.item()
            first = first or last
            print(f"step {step:3d}  loss {last:.4f}")

    assert last < 0.2 * first, f"the loss did not fall: {first:.4f} to {last:.4f}"
    print(f"trained on {device} with torch {torch.__version__}")


if __name__ == "__main__":
    main()
