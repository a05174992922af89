"""Loads data with torch's data loader, by itself and by worker processes. Its text follows that of torch_device.py.

Workers are spawned, as on every Mac: each is a new interpreter that imports torch, and is sent the data set by the name of
its module. A program that is no file has none, so the data set is put into one.
"""

import shutil
import tempfile

PICTURES = '''
"""Pictures that have to be unpacked and cut, as those in a folder have."""

import zlib

import torch


class Pictures(torch.utils.data.Dataset):
    def __init__(self, packed, side, count):
        self.packed, self.side, self.count = packed, side, count

    def __len__(self):
        return self.count

    def __getitem__(self, at):
        flat = torch.frombuffer(bytearray(zlib.decompress(self.packed[at % len(self.packed)])), dtype=torch.uint8)
        picture = flat.reshape(3, self.side, self.side)[:, at % 8 : at % 8 + 96, :96].float() / 255
        if at % 2:
            picture = picture.flip(2)
        return (picture - picture.mean()) / (picture.std() + 1e-6), at % 10
'''

SIDE, SAMPLES, BATCH = 256, 512, 16
# How many workers, and whether they live on. What tells most comes first: many that are started anew are waited for long.
WAYS = [(0, False), (2, True), (2, False), (4, True), (4, False), (8, True), (8, False)]


def packed_pictures():
    """A few pictures that are neither noise nor plain, so that unpacking them is work."""
    generator = torch.Generator().manual_seed(REQUEST["seed"])
    pictures = []
    for _ in range(8):
        coarse = torch.randint(0, 256, (3, SIDE // 4, SIDE // 4), generator=generator)
        fine = torch.randint(0, 4, (3, SIDE, SIDE), generator=generator)
        whole = coarse.repeat_interleave(4, 1).repeat_interleave(4, 2) // 2 + fine
        # NumPy need not be there.
        pictures.append(zlib.compress(bytes(whole.flatten().tolist()), 6))
    return pictures


def epoch(loader):
    """How long it takes to go through all of it."""
    begun, seen = time.perf_counter(), 0
    for pictures, _ in loader:
        seen += len(pictures)
    if seen != SAMPLES:
        raise RuntimeError("the loader gave %d samples of %d" % (seen, SAMPLES))
    return time.perf_counter() - begun


def load(data, workers, persistent):
    id = "workers-%d%s" % (workers, "-persistent" if persistent else "")
    if not begin(id):
        return
    said = {"workers": workers, "persistent": persistent}
    try:
        more = {"multiprocessing_context": "spawn", "persistent_workers": persistent} if workers else {}
        loader = torch.utils.data.DataLoader(data, batch_size=BATCH, num_workers=workers, **more)
        said["first"] = epoch(loader)
        said["seconds"] = []
        # Where workers do not live on, each epoch costs as much as the first.
        while len(said["seconds"]) < (1 if workers and not persistent else 3):
            if elapsed() > REQUEST["limits"]["begin"]:
                break
            said["seconds"].append(epoch(loader))
    except Exception as error:
        said["error"] = text_of(error)
    say("workers", **said)


def main():
    versions = package_versions(["numpy"])
    versions["torch"] = torch.__version__
    reach_device(versions)
    at("data")
    folder = tempfile.mkdtemp(prefix="macml-")
    try:
        with open(os.path.join(folder, "macml_pictures.py"), "w", encoding="utf-8") as file:
            file.write(PICTURES)
        # Workers are given this list.
        sys.path.insert(0, folder)
        from macml_pictures import Pictures

        data = Pictures(packed_pictures(), SIDE, SAMPLES)
        for workers, persistent in WAYS:
            load(data, workers, persistent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    done()


main()
