"""What torch is measured by. Its text follows that of measure.py."""

TYPES = {"float32": torch.float32, "float16": torch.float16}


class Product:
    """A product of two square matrices."""

    moves = True

    def __init__(self, size, element):
        generator = torch.Generator().manual_seed(REQUEST["seed"])
        self.host = [torch.randn(size, size, generator=generator).to(TYPES[element]) for _ in range(2)]

    def send(self):
        self.there = [one.to(DEVICE) for one in self.host]
        wait()

    def once(self):
        self.result = torch.matmul(*self.there)
        wait()

    def fetch(self):
        return self.result.cpu()


class Convolution:
    """One epoch of training a small network on grey images of 28 by 28, all of it in one element type."""

    moves = True

    def __init__(self, size, element):
        torch.manual_seed(REQUEST["seed"])
        self.batch = min(REQUEST["batch"], size)
        self.host = torch.randn(size, 1, 28, 28).to(TYPES[element]), torch.randint(0, 10, (size,))
        nn = torch.nn
        model = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(64 * 7 * 7, 10),
        )
        self.model = model.to(device=DEVICE, dtype=TYPES[element])
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def send(self):
        self.there = [one.to(DEVICE) for one in self.host]
        wait()

    def once(self):
        images, labels = self.there
        for start in range(0, len(images), self.batch):
            self.optimizer.zero_grad()
            outputs = self.model(images[start : start + self.batch])
            # In float16 a sum over a batch is kept in something too small for it.
            self.loss = F.cross_entropy(outputs.float(), labels[start : start + self.batch])
            self.loss.backward()
            self.optimizer.step()
        wait()

    def fetch(self):
        return self.loss.item()


class Memory:
    """What torch has taken of the device's memory, with what it keeps for later."""

    def forget(self):
        if DEVICE == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        elif DEVICE == "mps" and hasattr(torch, "mps"):
            torch.mps.empty_cache()

    def most(self):
        if DEVICE == "cuda":
            return torch.cuda.max_memory_reserved()
        if DEVICE == "mps" and hasattr(torch, "mps"):
            return torch.mps.driver_allocated_memory()
        return None


def main():
    versions = package_versions(["numpy"])
    versions["torch"] = torch.__version__
    measure_all(versions, {"product": Product, "convolution": Convolution}, Memory())


main()
