"""Notes which operators torch computed on the CPU instead of the GPU, for `macml run --report-fallbacks`.

Python runs it before anything else, since its folder stands first on PYTHONPATH, in workers too. It imports no framework.
What it saw it appends to the file that MACML_FALLBACKS names, a line of JSON each. It sees each warning before the filters
do, whatever these are, and the program sees those that it would have seen without it. Then it makes way for the
`sitecustomize` that would have run without it. Any Python may come by, so the words are plain; one that is too old for it
runs unchanged.
"""

import os
import sys

VARIABLE = "PYTORCH_ENABLE_MPS_FALLBACK"


def _note(**what):
    # All of `json` would take longer than the rest of this file.
    try:
        from _json import encode_basestring_ascii as quoted
    except ImportError:
        from json.encoder import py_encode_basestring_ascii as quoted

    what["process"] = os.getpid()
    values = [
        "%s: %s" % (quoted(name), quoted(value) if isinstance(value, str) else _word(value))
        for name, value in what.items()
    ]
    # In one piece, or lines of several processes would mix.
    line = ("{%s}\n" % ", ".join(values)).encode()
    try:
        file = os.open(os.environ["MACML_FALLBACKS"], os.O_WRONLY | os.O_APPEND)
    except (KeyError, OSError):
        # The report is written, or nobody wants one.
        return
    try:
        os.write(file, line)
    finally:
        os.close(file)


def _word(value):
    return "null" if value is None else str(value).lower()


class _Seen(object):
    """What the first filter asks whether it is for a warning. Python ignores the warning then."""

    def __init__(self):
        self.noted = set()
        self.shown = set()
        # Whether the program sees each, since nobody or it itself asked torch for more.
        self.always = True
        # Whether Python asks here.
        self.is_asked = False
        # How torch is told to warn of each operator.
        self.set_always = None

    def tell_torch(self):
        """Has torch warn of each operator only as long as nobody sees more than before by that."""
        if self.set_always is not None:
            self.set_always(self.is_asked or self.always)

    def match(self, text):
        try:
            if text == TRIAL:
                self.is_asked = True
                return True
            return "back" in text and self._is_more(text)
        except Exception:
            return False

    def _is_more(self, text):
        """Notes the warning of a fallback. Says whether torch would not have given it but for macml."""
        if "fall back to run on the CPU" in text:
            # Of this kind torch gives one in each process, whichever operator is the first.
            kind, said = "", text
        elif text.startswith("MPS: ") and "alling back on CPU" in text:
            kind = said = text
        else:
            return False
        said = said.split(" (Triggered internally")[0][:1000]
        if said not in self.noted:
            self.noted.add(said)
            _note(said=said, at=_place())
        if self.always or kind not in self.shown:
            self.shown.add(kind)
            return False
        return True


# A warning by which is found out whether Python asks here.
TRIAL = "macml asks who is asked"

SEEN = _Seen()


def _place():
    """Returns the line of the program that is at it, past those of torch itself."""
    first = None
    frame = sys._getframe(3)
    while frame is not None:
        name = frame.f_globals.get("__name__") or ""
        place = "%s:%s" % (frame.f_code.co_filename, frame.f_lineno)
        if name.split(".")[0] not in ("torch", "warnings"):
            return place
        first = first or place
        frame = frame.f_back
    return first


class _Filters(list):
    """The list of `warnings.filters`, with one filter before all others that is there for Python's own eyes alone, which
    look past these methods: whoever reads or changes the list sees it without."""

    def __init__(self, filters):
        list.__init__(self, [("ignore", SEEN, Warning, None, 0)])
        list.extend(self, filters)

    def _behind(self, at):
        return at + 1 if at >= 0 else max(at, -len(self)) if at >= -len(self) else at - 1

    def __len__(self):
        return list.__len__(self) - 1

    def __iter__(self):
        each = list.__iter__(self)
        next(each)
        return each

    def __reversed__(self):
        return reversed(list(self))

    def __getitem__(self, at):
        if isinstance(at, slice):
            return _Filters(list(self)[at])
        return list.__getitem__(self, self._behind(at.__index__()))

    def __setitem__(self, at, value):
        if isinstance(at, slice):
            return self._become(at, value)
        return list.__setitem__(self, self._behind(at.__index__()), value)

    def __delitem__(self, at):
        if isinstance(at, slice):
            kept = list(self)
            del kept[at]
            return self._become(slice(None), kept)
        return list.__delitem__(self, self._behind(at.__index__()))

    def _become(self, at, value):
        changed = list(self)
        changed[at] = value
        list.__setitem__(self, slice(1, None), changed)

    def insert(self, at, value):
        list.insert(self, at + 1 if at >= 0 else max(at + list.__len__(self), 1), value)

    def pop(self, at=-1):
        if not self:
            raise IndexError("pop from empty list")
        return list.pop(self, self._behind(at.__index__()))

    def index(self, *args):
        return list(self).index(*args)

    def clear(self):
        list.__setitem__(self, slice(1, None), ())

    def copy(self):
        return _Filters(list(self))

    def sort(self, *args, **kwargs):
        self._become(slice(None), sorted(self, *args, **kwargs))

    def reverse(self):
        self._become(slice(None), list(self)[::-1])

    def __eq__(self, other):
        return list(self) == (list(other) if isinstance(other, _Filters) else other)

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def __add__(self, other):
        return list(self) + list(other)

    def __repr__(self):
        return repr(list(self))

    def __reduce_ex__(self, protocol):
        return list, (list(self),)


class _Warnings(type(sys)):
    """The module `warnings`, which tells when another list of filters takes the place of the one that asks here."""

    def __setattr__(self, name, value):
        super(_Warnings, self).__setattr__(name, value)
        if name != "filters":
            return
        asks = isinstance(value, _Filters)
        if SEEN.is_asked and not asks:
            _note(trouble="the program put a list of its own at warnings.filters")
        SEEN.is_asked = asks
        SEEN.tell_torch()


class _Value(bytes):
    """The value of a variable that nobody has set since."""

    def __reduce_ex__(self, protocol):
        return bytes, (bytes(self),)


def _mark():
    """Makes the variable's value one that is known again."""
    values = os.environ._data
    value = values.get(os.fsencode(VARIABLE))
    if value is not None:
        values[os.fsencode(VARIABLE)] = _Value(value)


def _is_marked():
    return type(os.environ._data.get(os.fsencode(VARIABLE), _Value())) is _Value


def _torch(torch):
    read = os.environ.get(VARIABLE)
    _note(torch=str(getattr(torch, "__version__", "")), read=read, own=not _is_marked())
    _mark()

    def look_again():
        now = os.environ.get(VARIABLE)
        if not _is_marked() or now != read:
            _note(late=now, read=read)

    import atexit

    atexit.register(look_again)
    # torch says it of the first operator only. It shall of each, and nobody shall see more than before.
    c = torch._C
    if hasattr(c, "_set_warnAlways") and hasattr(c, "_get_warnAlways"):
        SEEN.set_always = c._set_warnAlways
        SEEN.always = bool(c._get_warnAlways())

        def _set_warnAlways(always):
            SEEN.set_always(always)
            SEEN.always = bool(always)
            SEEN.tell_torch()

        c._set_warnAlways = _set_warnAlways
        c._get_warnAlways = lambda: SEEN.always
        SEEN.tell_torch()


CHANGES = {"torch": _torch}


def _change(name, module):
    try:
        CHANGES[name](module)
    except Exception as error:
        _note(trouble="%s: %r" % (name, error))


def _begin():
    import warnings

    if not isinstance(warnings.filters, _Filters):
        before = warnings.filters
        warnings.filters = _Filters(before)
        _try(warnings)
        if SEEN.is_asked:
            warnings.__class__ = _Warnings
        else:
            # Nobody shall see more than without.
            warnings.filters = before
            _note(trouble="this Python does not ask its filters as others do")
    _note(python=sys.version.split()[0])
    _mark()


def _try(warnings):
    """Finds out whether this Python asks here; what it does instead shall be seen by nobody."""
    show = warnings.showwarning
    warnings.showwarning = lambda *args, **kwargs: None
    try:
        warnings.warn_explicit(TRIAL, Warning, "macml", 1)
    except Exception:
        # Filters may make it an error.
        pass
    finally:
        warnings.showwarning = show


if sys.version_info >= (3, 4):
    try:
        _begin()
    except Exception as error:
        _note(trouble="%r" % (error,))
