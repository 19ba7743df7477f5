#!/usr/bin/python3
"""Compares a supple.anim with positions computed straight from a glTF file, by the glTF 2.0 specification alone.

    reference_gltf.py FILE CLIP_INDEX ANIM [frames [largest]]

Prints the largest distance over up to 20 (or `frames`) frames, divided by the diagonal of the bounding box; it may be `largest`,
1e-5 where that is not said. Shares
nothing with the importer: its own GLB and accessor reading, node evaluation, blend shapes and skinning. Weights are
normalized, as the specification asks them to sum to one.
"""
import base64
import json
import os
import struct
import sys
import zipfile
from urllib.parse import unquote

import numpy as np

COMPONENT = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTH = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class Gltf:
    def __init__(self, path):
        raw = open(path, "rb").read()
        self.folder, self.seen, blob = os.path.dirname(path), {}, None
        if raw[:4] == b"glTF":
            at = 12
            while at < len(raw):
                size, kind = struct.unpack_from("<II", raw, at)
                chunk = raw[at + 8:at + 8 + size]
                at += 8 + size
                if kind == 0x4E4F534A:
                    self.json = json.loads(chunk)
                elif kind == 0x004E4942:
                    blob = chunk
        else:
            self.json = json.loads(raw)
        self.buffers = []
        for b in self.json["buffers"]:
            uri = b.get("uri")
            if uri is None:
                self.buffers.append(blob)
            elif uri.startswith("data:"):
                self.buffers.append(base64.b64decode(uri.split(",", 1)[1]))
            else:
                self.buffers.append(open(os.path.join(self.folder, unquote(uri)), "rb").read())

    def raw_accessor(self, a, view, offset, count, kind, width):
        v = self.json["bufferViews"][view]
        item = np.dtype(kind).itemsize * width
        stride = v.get("byteStride", item)
        start = v.get("byteOffset", 0) + offset
        data = self.buffers[v["buffer"]]
        return np.ndarray((count, width), kind, data, start, (stride, np.dtype(kind).itemsize))

    def accessor(self, index):
        if index not in self.seen:
            self.seen[index] = self.read_accessor(index)
        return self.seen[index]

    def read_accessor(self, index):
        a = self.json["accessors"][index]
        kind, width, count = COMPONENT[a["componentType"]], WIDTH[a["type"]], a["count"]
        if "bufferView" in a:
            out = self.raw_accessor(a, a["bufferView"], a.get("byteOffset", 0), count, kind, width)
        else:
            out = np.zeros((count, width), kind)
        if "sparse" in a:
            s = a["sparse"]
            i = s["indices"]
            at = self.raw_accessor(a, i["bufferView"], i.get("byteOffset", 0), s["count"], COMPONENT[i["componentType"]], 1)
            v = s["values"]
            out = out.copy()
            out[at[:, 0]] = self.raw_accessor(a, v["bufferView"], v.get("byteOffset", 0), s["count"], kind, width)
        out = out.astype(np.float64)
        if a.get("normalized"):
            top = {"<i1": 127, "<u1": 255, "<i2": 32767, "<u2": 65535}[kind]
            out = np.maximum(out / top, -1.0)
        return out


def rotation(q):
    x, y, z, w = q / np.linalg.norm(q)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                     [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                     [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def sample(times, values, mode, t, spherical):
    """values (keys, width), or (keys, 3, width) for cubic splines."""
    if t <= times[0]:
        v = values[0]
        return v[1] if mode == "CUBICSPLINE" else v
    if t >= times[-1]:
        v = values[-1]
        return v[1] if mode == "CUBICSPLINE" else v
    k = int(np.searchsorted(times, t, side="right")) - 1
    step = times[k + 1] - times[k]
    f = (t - times[k]) / step
    if mode == "STEP":
        return values[k]
    if mode == "CUBICSPLINE":
        p0, m0, p1, m1 = values[k][1], step * values[k][2], values[k + 1][1], step * values[k + 1][0]
        return ((2 * f ** 3 - 3 * f ** 2 + 1) * p0 + (f ** 3 - 2 * f ** 2 + f) * m0
                + (-2 * f ** 3 + 3 * f ** 2) * p1 + (f ** 3 - f ** 2) * m1)
    a, b = values[k], values[k + 1]
    if not spherical:
        return a + f * (b - a)
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    s = 1.0 if np.dot(a, b) >= 0 else -1.0
    angle = 2.0 * np.arcsin(min(1.0, 0.5 * np.linalg.norm(b - s * a)))   # exact for small angles too
    if angle < 1e-12:
        return a
    return np.sin(angle * (1 - f)) / np.sin(angle) * a + s * np.sin(angle * f) / np.sin(angle) * b


def world_positions(g, clip, t):
    """All primitives with their node, in the order of the node tree (depth first), vertices in file order."""
    nodes = g.json["nodes"]
    trs = []
    for n in nodes:
        trs.append({"matrix": np.array(n["matrix"], float).reshape(4, 4).T if "matrix" in n else None,
                    "translation": np.array(n.get("translation", [0, 0, 0]), float),
                    "rotation": np.array(n.get("rotation", [0, 0, 0, 1]), float),
                    "scale": np.array(n.get("scale", [1, 1, 1]), float),
                    "weights": n.get("weights")})
    for c in clip["channels"]:
        target, s = c["target"], clip["samplers"][c["sampler"]]
        if "node" not in target:
            continue
        times, values = g.accessor(s["input"])[:, 0], g.accessor(s["output"])
        mode = s.get("interpolation", "LINEAR")
        if target["path"] == "weights":
            values = values.reshape(len(times), -1)
        if mode == "CUBICSPLINE":
            values = values.reshape(len(times), 3, -1)
        trs[target["node"]][target["path"]] = sample(times, values, mode, t, target["path"] == "rotation")

    world = [None] * len(nodes)
    order = []

    def visit(index, parent):
        n = trs[index]
        local = n["matrix"]
        if local is None:
            local = np.eye(4)
            local[:3, :3] = rotation(n["rotation"]) * n["scale"]
            local[:3, 3] = n["translation"]
        world[index] = parent @ local
        order.append(index)
        for child in nodes[index].get("children", []):
            visit(child, world[index])

    for root in g.json["scenes"][g.json.get("scene", 0)]["nodes"]:
        visit(root, np.eye(4))

    out = []
    for index in order:
        n = nodes[index]
        if "mesh" not in n:
            continue
        mesh = g.json["meshes"][n["mesh"]]
        for p in mesh["primitives"]:
            points = g.accessor(p["attributes"]["POSITION"])
            weights = trs[index]["weights"]
            if weights is None:
                weights = mesh.get("weights", [0.0] * len(p.get("targets", [])))
            for w, target in zip(weights, p.get("targets", [])):
                if "POSITION" in target:
                    points = points + w * g.accessor(target["POSITION"])
            points = np.hstack([points, np.ones((len(points), 1))])
            if "skin" not in n:
                out.append((points @ world[index].T)[:, :3])
                continue
            skin = g.json["skins"][n["skin"]]
            bind = g.accessor(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
            joints = np.array([world[j] @ b for j, b in zip(skin["joints"], bind)])
            sets = [n for n in range(8) if "JOINTS_%d" % n in p["attributes"]]
            j = np.hstack([g.accessor(p["attributes"]["JOINTS_%d" % n]) for n in sets]).astype(int)
            w = np.hstack([g.accessor(p["attributes"]["WEIGHTS_%d" % n]) for n in sets])
            w = w / w.sum(1, keepdims=True)
            moved = np.einsum("vk,vkab,vb->va", w, joints[j], points)
            out.append(moved[:, :3])
    return np.vstack(out)


def main():
    path, clip, anim = sys.argv[1], int(sys.argv[2]), np.load(sys.argv[3])
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    largest = float(sys.argv[5]) if len(sys.argv) > 5 else 1e-5
    g = Gltf(path)
    meta = json.loads(zipfile.ZipFile(sys.argv[3]).read("meta.json"))
    worst = 0.0
    frames = sorted(set(np.linspace(0, len(anim["times"]) - 1, count).round().astype(int)))
    for f in frames:
        want = world_positions(g, g.json["animations"][clip], anim["times"][f]) * meta["source_unit"]
        r = anim["root"][f]
        got = anim["points"][f].astype(np.float64)[anim["source_vertex"]] @ r[:3, :3].T + r[:3, 3]
        assert got.shape == want.shape, (got.shape, want.shape)
        diagonal = np.linalg.norm(np.ptp(want, axis=0))
        worst = max(worst, float(np.linalg.norm(got - want, axis=1).max() / diagonal))
    print("%.3g" % worst)
    sys.exit(0 if worst < largest else 1)


if __name__ == "__main__":
    main()
