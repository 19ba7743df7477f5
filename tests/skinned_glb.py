"""Plays a .glb as glTF 2.0 says, frame by frame, without any of our code, and holds it against what it should show.

python3 skinned_glb.py GLB EXACT.npy DISPLACEMENT.npy RIG.npy ANIM.npz LIMIT [ANGLE]
EXACT, RIG: positions (frames, vertices, 3) in metres, y up, with and without flesh; DISPLACEMENT: the flesh's motion alone.
With all morph weights 0 the file must be the rig (1e-5 of its size; RIG -: not asked); with them it may be off by LIMIT of the flesh's motion
(RMS). Weights lie in 0..1. ANGLE: 95th percentile of the angle to the true normals, degrees."""
import json, struct, sys, zipfile
import numpy as np

WIDTH = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
TYPES = {5121: "<u1", 5123: "<u2", 5125: "<u4", 5126: "<f4"}


class Glb:
    def __init__(self, path):
        data = open(path, "rb").read()
        assert struct.unpack("<4sII", data[:12]) == (b"glTF", 2, len(data))
        length = struct.unpack("<I", data[12:16])[0]
        self.doc, self.binary, self.bytes = json.loads(data[20:20 + length]), data[28 + length:], len(data)
        self.read = {}

    def get(self, index):
        if index not in self.read: self.read[index] = self.decode(index)
        return self.read[index]

    def decode(self, index):
        a = self.doc["accessors"][index]
        view, width = self.doc["bufferViews"][a["bufferView"]], WIDTH[a["type"]]
        values = np.frombuffer(self.binary, TYPES[a["componentType"]], a["count"] * width, view.get("byteOffset", 0))
        assert a["componentType"] != 5126 or np.isfinite(values).all()
        return values.reshape(-1, width).astype(float) if width > 1 else values.astype(float)

    def key(self, channel, k):
        """A channel at frame k; all its keys lie on frames, or it has one."""
        sampler = self.doc["animations"][0]["samplers"][channel["sampler"]]
        times, output = self.get(sampler["input"]), self.get(sampler["output"])
        if channel["target"]["path"] == "weights": output = output.reshape(len(times), -1)
        assert sampler["interpolation"] == "LINEAR" and len(output) == len(times)
        return output[min(k, len(times) - 1)]

    def world(self, k):
        """Node to world at frame k (-1: as the nodes stand in the file), and the weights of each node's mesh."""
        nodes = self.doc["nodes"]
        local, weights = [dict(n) for n in nodes], {}
        for channel in self.doc["animations"][0]["channels"] if k >= 0 else []:
            node, path = channel["target"]["node"], channel["target"]["path"]
            if path == "weights": weights[node] = self.key(channel, k)
            else: local[node][path] = self.key(channel, k)
        parent = {c: i for i, n in enumerate(nodes) for c in n.get("children", [])}
        out = {}

        def place(i):
            if i not in out:
                own = np.eye(4)
                if "matrix" in local[i]:
                    own = np.reshape(local[i]["matrix"], (4, 4)).T
                else:
                    x, y, z, w = local[i].get("rotation", (0, 0, 0, 1))
                    turn = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                                     [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                                     [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])
                    own[:3, :3] = turn * np.asarray(local[i].get("scale", (1, 1, 1)), float)
                    own[:3, 3] = local[i].get("translation", (0, 0, 0))
                out[i] = place(parent[i]) @ own if i in parent else own
            return out[i]
        return [place(i) for i in range(len(nodes))], weights

    def frame(self, k, targets=True):
        """Positions and normals of every mesh at frame k."""
        world, weights = self.world(k)
        points, normals = {}, {}
        for number, node in enumerate(self.doc["nodes"]):
            if "mesh" not in node: continue
            primitive, *others = self.doc["meshes"][node["mesh"]]["primitives"]
            for other in others:    # one a material, over the same vertices
                assert other["attributes"] == primitive["attributes"] and other.get("targets") == primitive.get("targets")
            attributes = primitive["attributes"]
            p, n = self.get(attributes["POSITION"]), self.get(attributes["NORMAL"])
            assert np.abs(np.linalg.norm(n, axis=1) - 1).max() < 1e-5
            if targets and "targets" in primitive:
                w = weights[number]
                assert len(w) == len(primitive["targets"]) and w.min() >= 0 and w.max() <= 1, (w.min(), w.max())
                for t, each in zip(primitive["targets"], w):
                    p, n = p + each * self.get(t["POSITION"]), n + each * self.get(t["NORMAL"])
            if "skin" in node:
                skin = self.doc["skins"][node["skin"]]
                assert len(set(skin["joints"])) == len(skin["joints"])
                bind = self.get(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
                joints = np.array([world[j] for j in skin["joints"]]) @ bind
                sets = [s for s in range(8) if "JOINTS_%d" % s in attributes]
                joint = np.hstack([self.get(attributes["JOINTS_%d" % s]) for s in sets]).astype(int)
                weight = np.hstack([self.get(attributes["WEIGHTS_%d" % s]) for s in sets])
                assert np.abs(weight.sum(1) - 1).max() < 1e-6 and weight.min() >= 0
                m = np.einsum("vk,vkij->vij", weight, joints[joint])
            else:
                m = np.broadcast_to(world[number], (len(p), 4, 4))
            points[node["mesh"]] = np.einsum("vij,vj->vi", m[:, :3, :3], p) + m[:, :3, 3]
            turned = np.einsum("vij,vj->vi", m[:, :3, :3], n)
            normals[node["mesh"]] = turned / np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), 1e-30)
        return [points[i] for i in sorted(points)], [normals[i] for i in sorted(normals)]


def true_normals(points, anim):
    """By area, joined where the source splits a vertex."""
    counts, joined = anim["face_counts"], anim["source_vertex"]
    sums, starts = np.zeros((len(anim["neutral"]), 3)), np.cumsum(counts) - counts
    for count in np.unique(counts):
        face = anim["face_indices"][starts[counts == count][:, None] + np.arange(count)]
        p = points[face]
        area = sum(np.cross(p[:, i] - p[:, 0], p[:, i + 1] - p[:, 0]) for i in range(1, count - 1))
        for k in range(count): np.add.at(sums, joined[face[:, k]], area)
    normals = sums[joined]
    return normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)


def main(path, exact, displacement, rig, anim, limit, angle=None):
    glb, exact, displacement, anim = Glb(path), np.load(exact), np.load(displacement), np.load(anim)
    rig = None if rig == "-" else np.load(rig)
    objects = anim["object_ids"] if "object_ids" in anim else np.zeros(exact.shape[1], int)
    order = [np.flatnonzero(objects == o) for o in range(objects.max() + 1)]   # vertex v of a mesh is vertex v of its object
    order = [own for own in order if len(own)]
    size = np.linalg.norm(np.ptp(exact[0], axis=0))
    square, off, angles, largest = 0.0, 0.0, [], 0.0
    for k in range(len(exact)):
        for targets, want in ((True, exact[k]), (False, rig[k])) if rig is not None else ((True, exact[k]),):
            points, normals = glb.frame(k, targets)
            assert len(points) == len(order)
            error = np.vstack([p[:len(own)] - want[own] for p, own in zip(points, order)])
            if targets:
                square += (error ** 2).sum()
                largest = max(largest, np.sqrt((error ** 2).sum(1)).max())
            else:
                off = max(off, np.sqrt((error ** 2).sum(1)).max())
        if angle and k % 5 == 0:
            points, normals = glb.frame(k)
            truth = true_normals(exact[k], anim)
            for n, own in zip(normals, order):
                angles.append(np.degrees(np.arccos(np.clip((n[:len(own)] * truth[own]).sum(1), -1, 1))))
    relative = np.sqrt(square / (displacement ** 2).sum())
    print("%d targets, %d bytes, %.3g %% of the flesh's motion, %.3g m at most" % (
        max(len(m["primitives"][0].get("targets", [])) for m in glb.doc["meshes"]), glb.bytes, 100 * relative, largest), end="")
    if rig is not None: print("; the rig alone to %.2g of the size" % (off / size), end="")
    if angles:
        tail = np.percentile(np.concatenate(angles), 95)
        print("; normals to %.3g degrees (95 of 100)" % tail, end="")
        assert tail < float(angle), tail
    print()
    assert relative < float(limit), relative
    assert off < 1e-5 * size, off / size


if __name__ == "__main__":
    main(*sys.argv[1:])
