"""near ANIM CACHE.npy LIVE.f32: positions a page simulated against those that supple export wrote of the same run; as a share of the diagonal."""
import sys
import numpy as np

_, anim, cache, live = sys.argv[:4]
anim, cache = np.load(anim), np.load(cache)
source, points = anim["source_vertex"], anim["points"]
live = np.fromfile(live, "<f4").reshape(points.shape)[:, source]
diagonal = np.linalg.norm(anim["neutral"].max(0) - anim["neutral"].min(0))
print("largest difference %.3g of the diagonal, %.3g of them moved" % (np.abs(live - cache).max() / diagonal, 0))
