"""ANIM CACHE.npy LIVE.f32 [OTHER.npy]: skin that a page simulated, at every frame, against what supple export wrote of the same run: equal to 1e-5 of
the diagonal, and moving. OTHER: a run that it must not be equal to, as it has other settings."""
import sys
import numpy as np

anim, cache = np.load(sys.argv[1]), np.load(sys.argv[2])
source, points = anim["source_vertex"], anim["points"]
live = np.fromfile(sys.argv[3], "<f4").reshape(points.shape)[:, source]
diagonal = np.linalg.norm(anim["neutral"].max(0) - anim["neutral"].min(0))
rig = np.einsum("fij,fvj->fvi", anim["root"][:, :3, :3], points)[:, source] + anim["root"][:, None, :3, 3]
largest, moved = np.abs(live - cache).max() / diagonal, np.linalg.norm(live - rig, axis=2).max() / diagonal
print("largest difference %.3g of the diagonal, largest displacement %.3g" % (largest, moved))
assert np.isfinite(largest) and largest < 1e-5, largest
assert moved > 0.005, moved
if len(sys.argv) > 4:
    other = np.abs(live - np.load(sys.argv[4])).max() / diagonal
    print("another run is %.3g away" % other)
    assert other > 1e-3, other
