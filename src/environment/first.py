

# From here on it is the same for all that macml lets Python run first. Above, CHANGES maps names of modules to what is
# done to each right after it was imported, and `_change(name, module)` does it.


class _Loader(object):
    """Loads a module as its own loader does, and changes it then."""

    def __init__(self, loader):
        self.loader = loader

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        name = module.__spec__.name
        # The module shall see its own loader.
        module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        _change(name, sys.modules.get(name, module))


class _Finder(object):
    """Lets the others find a module, and puts the loader between."""

    def find_spec(self, name, path=None, target=None):
        if name not in CHANGES:
            return None
        finders = list(sys.meta_path)
        # Those behind it alone: another of its kind may have asked it.
        for finder in finders[finders.index(self) + 1 if self in finders else 0 :]:
            find_spec = getattr(finder, "find_spec", None)
            spec = None if find_spec is None else find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


def _make_way():
    """Runs the next `sitecustomize`, as if there had been none before it."""
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != own]
    import importlib.util

    sys.modules.pop("sitecustomize", None)
    spec = importlib.util.find_spec("sitecustomize")
    if spec is None:
        # Python goes on silently after just this error.
        raise ImportError("no sitecustomize", name="sitecustomize")
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if sys.version_info >= (3, 4):
    sys.meta_path.insert(0, _Finder())
    for _name in CHANGES:
        # A `.pth` file may have been faster.
        if _name in sys.modules:
            _change(_name, sys.modules[_name])
    _make_way()
