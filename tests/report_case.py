"""check PAGE EXPECTED.npy: the arrays inside a page of supple report against positions worked out elsewhere."""
import base64, gzip, json, re, sys
import numpy as np

page, expected = open(sys.argv[1]).read(), np.load(sys.argv[2])
doc = json.loads(re.search(r'<script type="application/json" id="supple-info">(.*?)</script>', page, re.S).group(1))
data = gzip.decompress(base64.b64decode(re.search(r'id="supple-data">(.*?)</script>', page, re.S).group(1)))
info, types = doc["info"], {"f32": "<f4", "i16": "<i2", "u32": "<u4", "u8": "u1", "i8": "i1", "i32": "<i4", "f64": "<f8", "i64": "<i8"}


def array(kind, offset, count, width=None):
    dtype = np.dtype(types[kind])
    # the low bytes of all before the higher ones; a motion: second differences in time, modulo the type
    planes = np.frombuffer(data, "u1", count * dtype.itemsize, offset).reshape(dtype.itemsize, count)
    values = np.ascontiguousarray(planes.T).view(dtype).reshape(-1)
    return values if width is None else np.cumsum(np.cumsum(values.reshape(-1, width), 0, dtype=dtype), 0, dtype=dtype).reshape(-1)


get = {name: array(*entry) for name, entry in doc["arrays"].items()}
frames, count = info["shown_frames"], info["skin_vertices"]
rig = get["rig"].reshape(frames, count, 3) / 32767 * info["rig_scale"] + np.array(info["rig_centre"])
skin = rig + get["moved"].reshape(frames, count, 3) / 32767 * info["moved_scale"]
world = expected[:, :count] * 0.01   # source vertices 0 to 7 are the skin's; centimetres with z up
world = np.stack([world[..., 0], world[..., 2], -world[..., 1]], -1)
worst = np.abs(skin - world).max()
assert worst < 3 * info["rig_scale"] / 32767, worst
assert np.abs(np.linalg.norm(get["moved"].reshape(frames, count, 3) / 32767 * info["moved_scale"], axis=2).max(1) - get["largest"]).max() < 1e-3
assert len(get["times"]) == info["frames"] == frames and len(get["energy"]) == 3 * frames
if "eigenvalues" in get:
    model = np.load("model.npz")
    assert np.abs(get["contact"].reshape(-1, 3) - model["vertices"][[1, 4, 6]]).max() < 1e-6 and list(get["contact_start"]) == [0, 3]
    assert info["stages"][1]["curve"][1] == dict(tets=16, error=0.1)
    assert np.abs(get["inertia"].reshape(-1, 3) - model["vertices"][model["inertia_vertices"]]).max() < 1e-6
    assert np.abs(get["cubature"].reshape(-1, 3) - model["vertices"][model["tets"][model["cubature_tets"]]].mean(1)).max() < 1e-6
modes = get["modes"].reshape(info["mode_poses"], info["mode_count"], count, 3)
assert np.abs(modes.astype(int)).max() == 127 and np.abs(modes[:, :, 7].astype(int)).max() == 0   # a rigid vertex has no mode
assert "</" not in json.dumps(info) or "<\\/" in page
print("largest difference %.3g" % worst)
