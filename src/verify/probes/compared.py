"""Compares by numpy, for the frameworks that give it their numbers. Its text stands before those of their probes."""


def compared(element, result, reference):
    """How far a result is from its reference."""
    result, reference = numpy.asarray(result, "float64"), numpy.asarray(reference, "float64")
    if result.shape != reference.shape:
        return dict(error="the result has shape %s instead of %s" % (list(result.shape), list(reference.shape)))
    finite = numpy.isfinite(reference)
    scale = float(numpy.abs(reference[finite]).max(initial=0.0))
    apart = numpy.where(finite & numpy.isfinite(result), numpy.abs(result - numpy.where(finite, reference, 0)), 0.0)
    apart = numpy.nan_to_num(apart, nan=0.0, posinf=0.0)
    worst = numpy.unravel_index(int(apart.argmax()), apart.shape)
    most = float(apart[worst])
    return {
        "elements": int(result.size),
        "max-abs": number(most),
        "max-rel": number(most / scale if scale else most),
        "worst": [int(one) for one in worst],
        "beyond": int((apart > REQUEST["tolerances"][element] * (scale or 1.0)).sum()),
        "nan": int((numpy.isnan(result) & ~numpy.isnan(reference)).sum()),
        "inf": int((numpy.isinf(result) & ~numpy.isinf(reference)).sum()),
    }
