"""text"""
import torch, numpy.x as y
try:
    from a.b import (c,
  d)
except ImportError: pass
if x:
    import z
