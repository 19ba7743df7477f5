#!/usr/bin/python3
"""Writes one character as glTF in many ways of storing numbers: gltf_variants.py FOLDER; prints what to compare, a line each.

    FILE  TWIN  LARGEST

TWIN stores the very same numbers plainly, or is FILE itself: tests/reference_gltf.py reads it. LARGEST is how far positions
may lie from those of float.glb, as a part of the diagonal. Codecs are written here from their public specifications alone
(EXT_ and KHR_meshopt_compression, appendices A and B; Draco's bitstream, sequential and unpacked).

The character: a tube on five joints with a blend shape, UV and colours; a box on the last joint, called like another joint;
a plate with a blend shape on a joint that no vertex follows. Its clip begins at 1/24 s; most joints only turn.
"""
import base64
import json
import os
import struct
import sys
from urllib.parse import quote

import numpy as np

TYPES = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAG7buPgAAAABJRU5ErkJggg=="      # a texture of one
RANGE = {"i1": 127, "u1": 255, "i2": 32767, "u2": 65535}
KINDS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}


# ---- the character, in doubles ----

RINGS, FRAMES = 60, 24      # fewer for the corpus


def tube(sides=8, joints=5):
    rings = RINGS
    ring, side = np.divmod(np.arange(rings * sides), sides)
    y, angle = 3.0 * ring / (rings - 1), 2 * np.pi * side / sides
    radius = 0.3 + 0.1 * np.sin(4 * y)
    points = np.c_[radius * np.cos(angle), y, radius * np.sin(angle)]
    faces = [t for r in range(rings - 1) for s in range(sides)
             for a, b in ((r * sides + s, r * sides + (s + 1) % sides),) for t in ((a, a + sides, b), (b, a + sides, b + sides))]
    faces += [(0, s, s + 1) for s in range(1, sides - 1)]
    top = (rings - 1) * sides
    faces += [(top, top + s + 1, top + s) for s in range(1, sides - 1)]
    w = np.exp(-((y[:, None] - 0.75 * np.arange(joints)) / 0.4) ** 2)
    w[:, 4] = 0      # the last joint carries no vertex
    order = np.argsort(-w, axis=1)[:, :4]
    w = np.take_along_axis(w, order, 1)
    shape = 0.1 * np.c_[np.cos(angle), 0 * y, np.sin(angle)] * np.exp(-((y - 1.5) / 0.3) ** 2)[:, None]
    shape[abs(shape).max(1) < 1e-4] = 0
    color = np.c_[0.5 + 0.5 * np.cos(angle), y / 3, 0.5 + 0.5 * np.sin(3 * y), 0 * y + 1]
    return {"points": points, "faces": np.array(faces), "joints": order, "weights": w / w.sum(1, keepdims=True), "shape": shape,
            "uv": np.c_[side / sides * 2.0 + 0.1, y / 2], "color": color}


def box(low, high):
    p = np.array([[(low, high)[i & 1][0], (low, high)[i >> 1 & 1][1], (low, high)[i >> 2][2]] for i in range(8)], float)
    q = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    return {"points": p, "faces": np.array([t for a, b, c, d in q for t in ((a, b, c), (a, c, d))])}


def turns(axis, phase, times):
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    a = 0.5 * np.sin(2 * np.pi * times + phase)
    return np.c_[np.sin(a / 2)[:, None] * axis, np.cos(a / 2)]


# ---- numbers as bytes ----

def fixed(values, kind, normalized):
    return np.round(np.asarray(values) * (RANGE[kind] if normalized else 1)).astype("<" + kind)


def shares(weights, kind):
    """Integers that sum to all there is, as the specification wants of weights."""
    q = fixed(weights, kind, True).astype(int)
    q[:, 0] += RANGE[kind] - q.sum(1)
    return q.astype("<" + kind)


def exponential(values):
    """Filter 3: 24 bits of mantissa, 8 of exponent. Returns (stored, decoded)."""
    v = np.asarray(values, np.float64)
    e = np.where(v == 0, 0, np.floor(np.log2(np.maximum(abs(v), 1e-30))) - 21).astype(int)
    m = np.round(v / 2.0 ** e).astype(int)
    return ((e & 0xff) << 24 | (m & 0xffffff)).astype("<u4"), (m * 2.0 ** e).astype("<f4")


def quaternions(q, bits=13):
    """Filter 2. Returns (stored, decoded), both i2."""
    q = np.asarray(q, np.float64)
    one = (1 << bits - 1) - 1
    stored, out = np.zeros(q.shape, int), np.zeros(q.shape)
    for i, r in enumerate(q):
        k = int(abs(r).argmax())
        r = r * np.sign(r[k])
        small = np.round(r[[(k + 1) % 4, (k + 2) % 4, (k + 3) % 4]] * np.sqrt(2.0) * one).astype(int)
        tail = one & ~3 | k
        stored[i] = [*small, tail]
        back = small / (tail | 3) / np.sqrt(2.0)
        out[i, [(k + 1) % 4, (k + 2) % 4, (k + 3) % 4]], out[i, k] = back, np.sqrt(max(0.0, 1 - back @ back))
    return stored.astype("<i2"), np.floor(out * 32767 + 0.5).astype("<i2")


def colors(c, bits=7):
    """Filter 4. Returns (stored, decoded), both u1."""
    most = (1 << bits) - 1
    r, g, b = np.round(np.asarray(c)[:, :3].T * most).astype(int)
    a = np.round(np.asarray(c)[:, 3] * (most >> 1)).astype(int)
    co = (r - b + (r == 0)) >> 1
    cg = (g - b - co + (g == 0)) >> 1
    y = b + co + cg
    back = np.c_[y + co - cg, y + cg, y - co - cg, a << 1 | (a & 1)]
    stored = np.c_[y, co & 0xff, cg & 0xff, a | 1 << bits - 1]
    return stored.astype("u1"), np.floor(back * 255.0 / most + 0.5).astype("u1")


# ---- meshopt ----

def zigzag(d, bits):
    d = d & (1 << bits) - 1
    return np.where(d >> bits - 1, ~(d << 1), d << 1) & (1 << bits) - 1


def pack_group(d, bits):
    if bits == 0:
        return b""
    if bits == 8:
        return bytes(d)
    full = (1 << bits) - 1
    low = [min(int(v), full) for v in d]
    per, out = 8 // bits, b""
    for k in range(0, 16, per):
        byte = 0
        for j in range(per):
            byte |= low[k + j] << (j * bits if bits == 1 else 8 - bits * (j + 1))
        out += bytes([byte])
    return out + bytes(int(v) for v in d if v >= full)


def attributes(data, version):
    """Mode 0 of (n,stride) bytes."""
    n, stride = data.shape
    first, step = data[0], min(8192 // stride & ~15, 256)
    channels = [(0, 1, 2 | 5 << 4)[c % 3] if version else 0 for c in range(stride // 4)]
    out, last = bytes([0xa0 | version]), first
    for at in range(0, n, step):
        block = data[at:at + step].astype(np.int64)
        before = np.vstack([last[None], block[:-1]]).astype(np.int64)
        last = data[min(at + step, n) - 1]
        delta = np.zeros_like(block)
        for c, mode in enumerate(channels):
            p, q, k = block[:, 4 * c:4 * c + 4], before[:, 4 * c:4 * c + 4], slice(4 * c, 4 * c + 4)
            if mode & 15 == 0:
                delta[:, k] = zigzag(p - q, 8)
            elif mode & 15 == 1:
                two = lambda x: x[:, ::2] | x[:, 1::2] << 8
                z = zigzag(two(p) - two(q), 16)
                delta[:, 4 * c:4 * c + 4:2], delta[:, 4 * c + 1:4 * c + 4:2] = z & 255, z >> 8
            else:
                four = lambda x: x @ (1 << 8 * np.arange(4))
                x, r = four(p) ^ four(q), mode >> 4
                x = (x << r | x >> 32 - r) & 0xffffffff
                delta[:, k] = x[:, None] >> 8 * np.arange(4) & 255
        groups = -(-len(block) // 16)
        padded = np.zeros((16 * groups, stride), int)
        padded[:len(block)] = delta
        control, body = np.zeros(stride, int), b""
        for b in range(stride):
            lengths = (0, 2, 4, 8)
            if version:
                control[b] = 2 if not padded[:, b].any() else 3 if b % 5 == 4 else 0 if padded[:, b].max() < 40 else 1
                lengths = (0, 1, 2, 4) if control[b] == 0 else (1, 2, 4, 8)
                if control[b] == 2:
                    continue
                if control[b] == 3:
                    body += bytes(int(v) for v in delta[:, b])
                    continue
            head, packed = np.zeros(4 * -(-groups // 4), int), b""
            for g in range(groups):
                d = padded[16 * g:16 * g + 16, b]
                tries = [(len(pack_group(d, k)), i) for i, k in enumerate(lengths) if k or not d.any()]
                head[g] = min(tries)[1]
                packed += pack_group(d, lengths[head[g]])
            body += bytes((head.reshape(-1, 4) << [0, 2, 4, 6]).sum(1).astype("u1")) + packed
        if version:
            body = bytes((control.reshape(-1, 4) << [0, 2, 4, 6]).sum(1).astype("u1")) + body
        out += body
    tail = bytes(first) + (bytes(channels) if version else b"")
    return out + b"\0" * max(0, (24 if version else 32) - len(tail)) + tail


def varint(v):
    out = b""
    while v > 127:
        out, v = out + bytes([v & 127 | 128]), v >> 7
    return out + bytes([v])


def triangles(faces):
    """Mode 1; corners of a triangle may be turned round."""
    table = [0x00, 0x76, 0x87, 0x56, 0x67, 0x78, 0xa9, 0x86, 0x65, 0x89, 0x68, 0x98, 0x01, 0x69, 0, 0]
    edges, vertices, codes, data = [], [], b"", b""
    state = {"next": 0, "last": 0}
    used = set()

    def explicit(v):
        d = v - state["last"]
        state["last"] = v
        return varint((d << 1) ^ (d >> 63) if d >= 0 else ((-d) << 1) - 1)

    for face in faces.tolist():
        found = None
        for turn in range(3):
            a, b, c = face[turn:] + face[:turn]
            recent = edges[::-1][:15]
            if (a, b) in recent:
                found = recent.index((a, b)), a, b, c
                break
        if found:
            x, a, b, c = found
            near = vertices[::-1][:13]
            if c == state["next"]:
                y = 0
                state["next"] += 1
            elif c in near[1:]:
                y = near.index(c, 1)
            elif abs(c - state["last"]) == 1:
                y = 13 if c < state["last"] else 14
                state["last"] = c
            else:
                y = 15
                data += explicit(c)
            codes += bytes([x << 4 | y])
            edges += [(c, b), (a, c)]
            vertices += [c] if y == 0 or y >= 13 else []
            used.add("edge %d" % min(y, 1 if y < 13 else y))
            continue
        a, b, c = face
        start, was, extra, near = state["next"], state["last"], b"", vertices[::-1][:14]
        first = a == start
        if first:
            state["next"] += 1
        else:
            extra += explicit(a)
        pair = []
        for v in (b, c):
            if v == state["next"]:
                pair.append(0)
                state["next"] += 1
            elif v in near:
                pair.append(near.index(v) + 1)
            else:
                pair.append(15)
                extra += explicit(v)
        both = pair[0] << 4 | pair[1]
        if first and both in table[:14]:
            codes += bytes([0xf0 | table.index(both)])
            used.add("table")
        else:
            assert both or not first
            if both == 0:      # would start `next` anew: write the corner out
                state.update(next=start, last=was)
                extra = explicit(a) + explicit(b) + explicit(c)
                pair, both = [15, 15], 0xff
            codes += bytes([0xfe if first else 0xff])
            data += bytes([both]) + extra
            used.add("free %d" % first)
        edges += [(b, a), (c, b), (a, c)]
        vertices += [a] + [v for v, k in zip((b, c), pair) if k in (0, 15)]
    assert len(used) >= 5 or len(faces) < 500, used      # all kinds of codes are tried
    return b"\xe1" + codes + data + bytes(table)


def indices(values):
    """Mode 2, the two baselines in turn."""
    out, last = b"\xd1", [0, 0]
    for i, v in enumerate(np.ravel(values).tolist()):
        d = v - last[i & 1]
        last[i & 1] = v
        out += varint(((d << 1 if d >= 0 else ((-d) << 1) - 1) << 1) | (i & 1))
    return out + b"\0" * 4


# ---- Draco: a mesh stored in sequence, nothing predicted ----

def draco(faces, arrays):
    kinds = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "f4": 9}
    n = len(arrays[0][1])
    out = b"DRACO" + struct.pack("<BBBBH", 2, 2, 1, 0, 0) + varint(len(faces)) + varint(n) + b"\1"      # indices as they are
    out += faces.astype("<u1" if n < 256 else "<u2").tobytes() if n < 65536 else b"".join(varint(int(v)) for v in faces.ravel())
    out += b"\1" + varint(len(arrays))
    for k, (what, a) in enumerate(arrays):
        out += struct.pack("<BBBB", what, kinds[a.dtype.str[1:]], a.shape[1], 0) + varint(k)
    out += b"\0" * len(arrays)      # values as they are
    return out + b"".join(np.ascontiguousarray(a).tobytes() for _, a in arrays)


# ---- a file ----

class File:
    def __init__(self):
        self.views, self.accessors, self.materials = [], [], []

    def view(self, array, mode="ATTRIBUTES", stored=None, filter=None):
        """Rows padded to four bytes; `stored`: the same rows as a filter wants them."""
        def rows(a):
            raw = np.ascontiguousarray(a).view("u1").reshape(len(a), -1)
            return np.pad(raw, ((0, 0), (0, -raw.shape[1] % 4 if mode == "ATTRIBUTES" else 0)))
        self.views.append({"rows": rows(array), "mode": mode, "padded": rows(array).size > np.asarray(array).nbytes, "stored": None if stored is None else rows(stored), "filter": filter})
        return len(self.views) - 1

    def add(self, array, normalized=False, mode="ATTRIBUTES", **more):
        array = np.asarray(array)
        array = array.reshape(len(array), -1)
        a = {"bufferView": self.view(array, mode, **more), "componentType": TYPES[array.dtype.str[1:]], "count": len(array), "type": KINDS[array.shape[1]]}
        if normalized:
            a["normalized"] = True
        if array.shape[1] == 3 and mode == "ATTRIBUTES":
            a["min"], a["max"] = array.min(0).tolist(), array.max(0).tolist()
        self.accessors.append(a)
        return len(self.accessors) - 1

    def sparse(self, values, dense):
        """Values as differences from `dense` rows, or from zeros where it is None."""
        values = np.asarray(values, "<f4")
        base = np.zeros_like(values) if dense is None else np.asarray(dense, "<f4")
        at = np.flatnonzero((values != base).any(1))
        index = self.add(base) if dense is not None else len(self.accessors)
        if dense is None:
            self.accessors.append({"componentType": 5126, "count": len(values), "type": "VEC3"})
        self.accessors[index].update(min=values.min(0).tolist(), max=values.max(0).tolist())
        self.accessors[index]["sparse"] = {"count": len(at), "indices": {"bufferView": self.view(at.astype("<u2"), "INDICES"), "componentType": 5123},
                                           "values": {"bufferView": self.view(values[at])}}
        return index

    def write(self, path, gltf, how):
        extension = {"EXT": "EXT_meshopt_compression", "KHR": "KHR_meshopt_compression"}.get(how)
        blob, views, room = b"", [], 0
        for v in self.views:
            rows = v["rows"]
            view = {"buffer": 0, "byteOffset": len(blob), "byteLength": rows.size}
            if v["padded"]:
                view["byteStride"] = rows.shape[1]
            raw = rows.tobytes()
            if extension:
                packed = rows if v["stored"] is None else v["stored"]
                raw = {"ATTRIBUTES": lambda: attributes(packed, how == "KHR"), "TRIANGLES": lambda: triangles(packed.view("<u2").reshape(-1, 3)),
                       "INDICES": lambda: indices(packed.view("<u2"))}[v["mode"]]() if v["mode"] != "RAW" else raw
            if extension and v["mode"] != "RAW":
                e = {"buffer": 0, "byteOffset": len(blob), "byteLength": len(raw), "byteStride": rows.shape[1], "mode": v["mode"], "count": len(rows)}
                if v["mode"] == "TRIANGLES":
                    e["byteStride"], e["count"] = 2, rows.size // 2
                if v["stored"] is not None:
                    e["filter"] = v["filter"]
                view.update(buffer=1, byteOffset=room, extensions={extension: e})
                room += rows.size + -rows.size % 4
            views.append(view)
            blob += raw + b"\0" * (-len(raw) % 4)
        gltf = dict(gltf, bufferViews=views, accessors=self.accessors, buffers=[{"byteLength": len(blob)}])
        used = list(gltf.get("extensionsRequired", [])) + ([extension] if extension else [])
        if extension:
            gltf["buffers"].append({"byteLength": room, "extensions": {extension: {"fallback": True}}})
        if used:
            gltf["extensionsRequired"], gltf["extensionsUsed"] = used, used
        if path.endswith(".glb"):
            text = json.dumps(gltf).encode()
            text += b" " * (-len(text) % 4)
            with open(path, "wb") as f:
                f.write(struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(blob)) + struct.pack("<I4s", len(text), b"JSON") + text
                        + struct.pack("<I4s", len(blob), b"BIN\0") + blob)
            return
        if how == "inside":
            gltf["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64.b64encode(blob).decode()
        else:
            name = "two words, 100%é.bin" if how == "percent" else os.path.basename(path)[:-5] + ".bin"
            with open(os.path.join(os.path.dirname(path), name), "wb") as f:
                f.write(blob)
            gltf["buffers"][0]["uri"] = quote(name)
        with open(path, "w") as f:
            json.dump(gltf, f)


def character(path, weights="f4", quantized=False, filtered=False, how=None, sparse=False, packed=False, few=0):
    f, skin, hat, plate = File(), tube(), box((-.3, 0, -.3), (.3, .3, .3)), box((-.5, .4, -.1), (.5, .5, .1))
    single = lambda a: np.asarray(a, "<f4")
    bind = [np.eye(4) for _ in range(5)]
    for k in range(5):
        bind[k][1, 3] = -0.75 * k
    moved = {}

    def place(part, kind):
        """Positions of a part: its accessor, and the matrix that undoes the quantization."""
        p = part["points"]
        if not quantized:
            return f.add(single(p)), 1.0, np.zeros(3)
        low, size = p.min(0), float(np.ptp(p, axis=0).max())
        steps = 16383 if kind == "whole" else RANGE[kind]
        scale = size / steps if kind == "whole" else size
        return f.add(np.round((p - low) / size * steps).astype("<u2" if kind == "whole" else "<" + kind), kind != "whole"), scale, low

    at, scale, low = place(skin, "whole")
    for k in range(5):
        m = np.diag([scale, scale, scale, 1.0])
        m[:3, 3] = low
        bind[k] = bind[k] @ m
    if sparse:      # some rows of the positions are others than the view says
        wrong = skin["points"].copy()
        wrong[::7] += 1
        f.accessors[at] = dict(f.accessors[at])
        at = f.sparse(skin["points"], wrong)
    shape = f.sparse(skin["shape"], None) if sparse else f.add(fixed(skin["shape"] / scale, "i2", False) if quantized else single(skin["shape"]))
    given = {"POSITION": at, "JOINTS_0": f.add(skin["joints"].astype("<u2" if weights == "u1" else "u1")),
             "WEIGHTS_0": f.add(single(skin["weights"]) if weights == "f4" else shares(skin["weights"], weights), weights != "f4")}
    material = {}
    if quantized:
        low_uv, size_uv = skin["uv"].min(0), np.ptp(skin["uv"], axis=0)
        given["TEXCOORD_0"] = f.add(fixed((skin["uv"] - low_uv) / size_uv, "u2", True), True)
        material = {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0, "extensions": {
            "KHR_texture_transform": {"offset": low_uv.tolist(), "scale": size_uv.tolist()}}}}}
        if filtered:
            stored, decoded = colors(skin["color"])
            given["COLOR_0"] = f.add(decoded, True, stored=stored, filter="COLOR")
        else:
            given["COLOR_0"] = f.add(fixed(skin["color"], "u1", True), True)
    else:
        given["TEXCOORD_0"], given["COLOR_0"] = f.add(single(skin["uv"])), f.add(single(skin["color"]))
    body = {"attributes": given, "targets": [{"POSITION": shape}], "material": 0,
            "indices": f.add(skin["faces"].astype("<u2" if len(skin["points"]) < 65536 else "<u4").reshape(-1, 1), mode="RAW" if packed else "TRIANGLES")}
    meshes = [{"primitives": [body], "extras": {"targetNames": ["swell"]}}]
    nodes = [{"name": "j%d" % k, "translation": [0, 0.75 if k else 0, 0], "children": [k + 1] if k < 4 else []} for k in range(5)]
    nodes += [{"name": "tube", "mesh": 0, "skin": 0}]
    for part, kind, name, on in ((hat, "i2", "j1", 3), (plate, "u2", "plate", 4)):
        at, scale, low = place(part, kind)
        primitive = {"attributes": {"POSITION": at}, "indices": f.add(part["faces"].astype("<u2").reshape(-1, 1), mode="INDICES")}
        node = {"name": name, "mesh": len(meshes), "translation": (np.array([0, 0.2, 0]) + low).tolist(), "scale": [scale] * 3}
        if part is plate:
            bulge = np.array([[0, 0, 0.2]] * 8) * (part["points"][:, 2:] > 0)
            primitive["targets"] = [{"POSITION": f.add(fixed(bulge / scale, "i2", True) if quantized else single(bulge), quantized)}]
            node["weights"] = [0.25]
        nodes[on]["children"].append(len(nodes))
        nodes.append(node)
        meshes.append({"primitives": [primitive]})
    samplers, channels, clip = [], [], np.arange(1, FRAMES + 1) / 24.0

    def track(node, what, values, normalized=False, **more):
        samplers.append({"input": clock, "output": f.add(values, normalized, **more), "interpolation": "LINEAR"})
        channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": what}})

    stored, decoded = exponential(clip)
    times = decoded if filtered else single(clip)
    clock = f.add(decoded, stored=stored, filter="EXPONENTIAL") if filtered else f.add(times)
    f.accessors[clock].update(min=[float(times[0])], max=[float(times[-1])])
    for k in range(5):
        q = turns([1, 0.3 * k, 0.2], k, clip)
        stored, decoded = quaternions(q)
        if filtered:
            track(k, "rotation", decoded, True, stored=stored, filter="QUATERNION")
        elif quantized:
            track(k, "rotation", fixed(q, "i2", True), True)
        else:
            track(k, "rotation", single(q))
    path_of_root = np.c_[0.3 * clip, 0.1 * np.sin(6 * clip), 0 * clip]
    stored, decoded = exponential(path_of_root)
    track(0, "translation", decoded, stored=stored, filter="EXPONENTIAL") if filtered else track(0, "translation", single(path_of_root))
    swell = 0.5 - 0.5 * np.cos(2 * np.pi * clip)
    track(5, "weights", fixed(swell, "u1", True) if quantized else single(swell), quantized, mode="RAW")      # no padding, so no filter
    out = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 5]}], "nodes": nodes, "meshes": meshes, "materials": [material],
           "skins": [{"joints": [0, 1, 2, 3, 4], "inverseBindMatrices": f.add(single([m.T.ravel() for m in bind]))}],
           "animations": [{"name": "sway", "samplers": samplers, "channels": channels}]}
    if quantized:
        out["extensionsRequired"] = ["KHR_mesh_quantization", "KHR_texture_transform"]
        out["textures"], out["images"] = [{"source": 0}], [{"uri": "data:image/png;base64," + PIXEL}]
    if packed:      # positions, UV, colours, joints and weights into one Draco mesh; the blend shape stays outside
        what = {"POSITION": 0, "TEXCOORD_0": 3, "COLOR_0": 2, "JOINTS_0": 4, "WEIGHTS_0": 4}
        kind = {5126: "f4", 5121: "u1", 5123: "u2"}
        arrays = []
        for name in what:
            a = f.accessors[given[name]]
            rows = f.views[a.pop("bufferView")]["rows"]
            a["count"] -= few      # some exporters count wrong
            width = {v: k for k, v in KINDS.items()}[a["type"]]
            arrays.append((what[name], np.ascontiguousarray(rows).view("<" + kind[a["componentType"]])[:, :width]))
        f.accessors[body["indices"]].pop("bufferView")
        data = np.frombuffer(draco(skin["faces"], arrays), "u1")[:, None]
        body["extensions"] = {"KHR_draco_mesh_compression": {"bufferView": f.view(data, "RAW"), "attributes": {n: k for k, n in enumerate(what)}}}
        out["extensionsRequired"] = ["KHR_draco_mesh_compression"]
    f.write(path, out, how)


def main():
    at = lambda name: os.path.join(sys.argv[1], name)
    character(at("float.glb"))
    for name, twin, largest, options in (
            ("float.glb", None, 1e-6, {}),
            ("inside.gltf", None, 1e-6, {"how": "inside"}),
            ("separate.gltf", None, 1e-6, {"how": "separate"}),
            ("percent.gltf", None, 1e-6, {"how": "percent"}),
            ("sparse.glb", None, 1e-6, {"sparse": True}),
            ("weights-u2.glb", None, 1e-5, {"weights": "u2"}),
            ("weights-u1.glb", None, 5e-4, {"weights": "u1"}),
            ("quantized.glb", None, 3e-4, {"weights": "u2", "quantized": True}),
            ("packed-ext.glb", "float.glb", 1e-6, {"how": "EXT"}),
            ("packed-khr.glb", "float.glb", 1e-6, {"how": "KHR"}),
            ("packed-sparse.glb", "sparse.glb", 1e-6, {"sparse": True, "how": "EXT"}),
            ("filtered.glb", None, 1e-3, {"weights": "u1", "quantized": True, "filtered": True}),
            ("filtered-ext.glb", "filtered.glb", 1e-3, {"weights": "u1", "quantized": True, "filtered": True, "how": "EXT"}),
            ("filtered-khr.glb", "filtered.glb", 1e-3, {"weights": "u1", "quantized": True, "filtered": True, "how": "KHR"}),
            ("draco.glb", "float.glb", 1e-6, {"packed": True}),
            ("draco-few.glb", "float.glb", 1e-6, {"packed": True, "few": 12}),
            ("draco-u1.glb", "weights-u1.glb", 1e-3, {"packed": True, "weights": "u1"})):
        character(at(name), **options)
        print(name, twin or name, largest)


if __name__ == "__main__":
    main()
