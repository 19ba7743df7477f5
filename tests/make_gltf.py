#!/usr/bin/python3
"""Writes small glTF files with what real exporters rarely combine: make_gltf.py KIND FILE.

hard: six joints in a chain, six influences a vertex in two sets, stepped, cubic and linear tracks of all kinds, blend
shapes with cubic weights, joints with negative and uneven scale, two root nodes, a rigid box on a joint and a floor that
does not move with the skeleton.
odd: a tube on two joints of which one has no channel and both stand elsewhere than in the bind pose, below nodes given as
matrices, one of them sheared by uneven scale; a box that two nodes share, one of them a mirror. Clips: 'turn', two without a
name, and 'still' with one key.
twins: hard with nodes of equal names: two joints in a row, two farther on, and the skin called like the floor.
held: hard without weights on the first and the last joint; hat and floor hang on these.
figure: hard with weights on the last two joints alone, and boxes on the four before, larger than its skin.
prop: hard, its hat skinned to the last joint alone, or to the joint given behind the path.
morph: hard without its skin, its hat and floor: only blend shapes move it.
light: odd with weights that sum to 0.8. broken: odd with a negative weight and a vertex without any.
"""
import base64
import json
import sys

import numpy as np

rng = np.random.default_rng(5)


class Writer:
    def __init__(self):
        self.blob, self.views, self.accessors = b"", [], []

    def add(self, values, kind, component=5126):
        data = np.asarray(values)
        raw = data.astype({5126: "<f4", 5123: "<u2", 5121: "<u1"}[component]).tobytes()
        self.blob += b"\0" * (-len(self.blob) % 4)
        self.views.append({"buffer": 0, "byteOffset": len(self.blob), "byteLength": len(raw)})
        self.blob += raw
        a = {"bufferView": len(self.views) - 1, "componentType": component, "type": kind,
             "count": data.size // {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}[kind]}
        if kind == "VEC3" and component == 5126:
            a["min"], a["max"] = data.reshape(-1, 3).min(0).tolist(), data.reshape(-1, 3).max(0).tolist()
        self.accessors.append(a)
        return len(self.accessors) - 1


def quaternion(axis, angle):
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    return np.r_[np.sin(angle / 2) * axis, np.cos(angle / 2)]


def box(low, high):
    p = np.array([[(low, high)[i & 1][0], (low, high)[i >> 1 & 1][1], (low, high)[i >> 2][2]] for i in range(8)], float)
    q = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    return p, np.array([t for a, b, c, d in q for t in ((a, b, c), (a, c, d))])


def hard(path, twins=False, held=False, morph=False, prop=None, figure=False):
    w, rings, joints = Writer(), 13, 6
    y = np.repeat(np.linspace(0, 3, rings), 4)
    at = np.tile(np.arange(4), rings)
    points = np.c_[np.where((at == 0) | (at == 3), -.2, .2), y, np.where(at < 2, -.2, .2)]
    faces = [(a, a2, a2 + 4, a, a2 + 4, a + 4) for r in range(rings - 1) for k in range(4)
             for a, a2 in ((4 * r + k, 4 * r + (k + 1) % 4),)]
    faces = np.array([f[::-1] for f in faces]).reshape(-1, 3).tolist() + [[0, 1, 2], [0, 2, 3]]
    faces += [[4 * rings - 4, 4 * rings - 2, 4 * rings - 3], [4 * rings - 4, 4 * rings - 1, 4 * rings - 2]]
    weight = np.exp(-(y[:, None] - 0.6 * np.arange(joints)) ** 2 / 0.5)
    if held:
        weight[:, [0, joints - 1]] = 0
    if figure:
        weight[:, :4] = 0
    weight /= weight.sum(1, keepdims=True)
    ids = np.tile(np.arange(8) % joints, (len(points), 1))
    weight = np.hstack([weight, np.zeros((len(points), 2))])
    shape = np.c_[0.3 * np.sin(y), 0 * y, 0.1 * np.cos(3 * y)], rng.normal(0, 0.05, points.shape)
    skinned = {"attributes": {"POSITION": w.add(points, "VEC3"), "JOINTS_0": w.add(ids[:, :4], "VEC4", 5121),
                              "WEIGHTS_0": w.add(weight[:, :4], "VEC4"), "JOINTS_1": w.add(ids[:, 4:], "VEC4", 5121),
                              "WEIGHTS_1": w.add(weight[:, 4:], "VEC4")},
               "indices": w.add(faces, "SCALAR", 5123), "targets": [{"POSITION": w.add(s, "VEC3")} for s in shape]}
    hat, hat_faces = box((-.3, 0, -.3), (.3, .3, .3))
    floor, floor_faces = box((-9, -1, -9), (9, -.9, 9))
    meshes = [{"primitives": [skinned], "weights": [0.2, 0.0]}]
    for p, f in ((hat, hat_faces), (floor, floor_faces)):
        meshes.append({"primitives": [{"attributes": {"POSITION": w.add(p, "VEC3")}, "indices": w.add(f, "SCALAR", 5123)}]})
    nodes = [{"name": "j%d" % k, "translation": [0, 0.6 if k else 0, 0], "children": [k + 1] if k < 5 else [7]} for k in range(joints)]
    nodes += [{"name": "skin", "mesh": 0, "skin": 0}, {"name": "hat", "mesh": 1, "translation": [0, 0.2, 0]}, {"name": "floor", "mesh": 2}]
    if twins:
        for node, name in zip(nodes, ("hip", "bone", "bone", "end", "bone", "end", "thing", "thing", "thing")):
            node["name"] = name
    if held:
        nodes[0]["children"].append(8)
    for k in range(4 if figure else 0):
        nodes[k]["children"].append(len(nodes))
        nodes.append({"name": "box%d" % k, "mesh": 1, "scale": [2, 1, 2]})
    if prop is not None:
        meshes[1]["primitives"][0]["attributes"].update(JOINTS_0=w.add(np.tile([prop, 0, 0, 0], (8, 1)), "VEC4", 5121),
                                                        WEIGHTS_0=w.add(np.tile([1., 0, 0, 0], (8, 1)), "VEC4"))
        nodes[7]["skin"] = 0
        del nodes[5]["children"]
    if morph:
        skinned["attributes"] = {"POSITION": skinned["attributes"]["POSITION"]}
        del nodes[6]["skin"], nodes[7]["mesh"], nodes[8]["mesh"]
    bind = [np.r_[np.eye(4)[:3].ravel(), 0, -0.6 * k, 0, 1] for k in range(joints)]
    samplers, channels = [], []

    def track(node, what, times, values, kind, mode):
        samplers.append({"input": w.add(times, "SCALAR"), "output": w.add(values, kind), "interpolation": mode})
        channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": what}})

    t = np.array([0, 0.3, 0.5, 1.1])
    turn = np.array([quaternion(rng.normal(size=3), a) for a in (0.1, -0.7, 0.9, 0.4)])
    track(0, "translation", t, rng.normal(0, 1, (4, 3)), "VEC3", "STEP")
    track(0, "rotation", t, turn, "VEC4", "LINEAR")
    track(1, "rotation", t, np.stack([rng.normal(0, .5, (4, 4)), turn[::-1], rng.normal(0, .5, (4, 4))], 1), "VEC4", "CUBICSPLINE")
    track(2, "translation", t, np.stack([rng.normal(0, 1, (4, 3)), [0, .6, 0] + rng.normal(0, .1, (4, 3)), rng.normal(0, 1, (4, 3))], 1),
          "VEC3", "CUBICSPLINE")
    track(3, "scale", t, [[1, 1.2, .8], [1, 1, 1], [1.5, 1, 1], [.7, 1, 1.3]], "VEC3", "LINEAR")
    track(4, "rotation", t, turn, "VEC4", "STEP")
    track(4, "scale", t, np.stack([rng.normal(0, 1, (4, 3)), np.full((4, 3), 1.1), rng.normal(0, 1, (4, 3))], 1), "VEC3", "CUBICSPLINE")
    track(6, "weights", t, np.stack([rng.normal(0, 1, (4, 2)), rng.uniform(0, 1, (4, 2)), rng.normal(0, 1, (4, 2))], 1), "SCALAR", "CUBICSPLINE")
    skin = {"joints": list(range(joints)), "inverseBindMatrices": w.add(bind, "MAT4")}
    out = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 6] if held else [0, 6, 8] if prop is None else [0, 6, 7, 8]}], "nodes": nodes, "meshes": meshes,
               "animations": [{"name": "wild", "samplers": samplers, "channels": channels}], "accessors": w.accessors,
               "bufferViews": w.views, "buffers": [{"byteLength": len(w.blob), "uri": "data:application/octet-stream;base64,"
                                                    + base64.b64encode(w.blob).decode()}]}
    json.dump(out if morph else dict(out, skins=[skin]), open(path, "w"))


def odd(path, share=1.0, broken=False):
    w = Writer()
    rings = 7
    y, at = np.repeat(np.linspace(0, 2, rings), 4), np.tile(np.arange(4), rings)
    points = np.c_[np.where((at == 0) | (at == 3), -.2, .2), y, np.where(at < 2, -.2, .2)]
    faces = [t for r in range(rings - 1) for k in range(4) for a, b in ((4 * r + k, 4 * r + (k + 1) % 4),)
             for t in ((a, b + 4, b), (a, a + 4, b + 4))] + [(0, 1, 2), (0, 2, 3)]
    top = 4 * rings - 4
    faces += [(top, top + 2, top + 1), (top, top + 3, top + 2)]
    upper = np.clip(y - 0.5, 0, 1)
    weights = share * np.c_[1 - upper, upper, 0 * y, 0 * y]
    if broken:
        weights[5], weights[6] = [1.25, -0.25, 0, 0], 0
    skinned = {"attributes": {"POSITION": w.add(points, "VEC3"), "JOINTS_0": w.add(np.tile([0, 1, 0, 0], (len(points), 1)), "VEC4", 5121),
                              "WEIGHTS_0": w.add(weights, "VEC4")}, "indices": w.add(faces, "SCALAR", 5123)}
    p, f = box((.3, -.1, -.1), (.5, .1, .2))
    shared = {"attributes": {"POSITION": w.add(p, "VEC3")}, "indices": w.add(f, "SCALAR", 5123)}
    top, below = np.eye(4), np.eye(4)
    top[:3, :3], top[:3, 3] = np.diag([1, 1.3, .8]), [.5, 0, .2]
    below[:3, :3] = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    bend = quaternion([0, 0, 1], 0.5)
    nodes = [{"name": "top", "matrix": top.T.ravel().tolist(), "children": [1]}, {"name": "below", "matrix": below.T.ravel().tolist(), "children": [2]},
             {"name": "hip", "translation": [0, .1, 0], "rotation": quaternion([1, 0, 0], 0.3).tolist(), "children": [3, 5, 6]},
             {"name": "knee", "translation": [0, 1, 0], "rotation": bend.tolist()}, {"name": "tube", "mesh": 0, "skin": 0},
             {"name": "left", "mesh": 1, "translation": [0, 1.2, 0]}, {"name": "right", "mesh": 1, "translation": [0, 1.2, 0], "scale": [-1, 1, 1]}]
    bind = [np.eye(4).ravel(), np.r_[np.eye(4)[:3].ravel(), 0, -1, 0, 1]]
    t = np.array([0, 0.5, 1.0])
    turn = np.array([quaternion([1, .2, 0], a) for a in (0.3, 0.9, -0.2)])
    clips = []
    for name, node, times, values in (("turn", 2, t, turn), (None, 3, t, turn), (None, 3, t, turn[::-1]), ("still", 2, t[:1], turn[:1])):
        clip = {"samplers": [{"input": w.add(times, "SCALAR"), "output": w.add(values, "VEC4")}],
                "channels": [{"sampler": 0, "target": {"node": node, "path": "rotation"}}]}
        clips.append(dict(clip, name=name) if name else clip)
    json.dump({"asset": {"version": "2.0"}, "scenes": [{"nodes": [0, 4]}], "nodes": nodes, "meshes": [{"primitives": [skinned]}, {"primitives": [shared]}],
               "skins": [{"joints": [2, 3], "inverseBindMatrices": w.add(bind, "MAT4")}], "animations": clips, "accessors": w.accessors,
               "bufferViews": w.views, "buffers": [{"byteLength": len(w.blob), "uri": "data:application/octet-stream;base64,"
                                                    + base64.b64encode(w.blob).decode()}]}, open(path, "w"))


if __name__ == "__main__":
    {"hard": hard, "twins": lambda p: hard(p, True), "held": lambda p: hard(p, held=True), "morph": lambda p: hard(p, morph=True),
     "figure": lambda p: hard(p, figure=True),
     "prop": lambda p: hard(p, prop=int((sys.argv + [5])[3])), "odd": odd, "light": lambda p: odd(p, 0.8), "broken": lambda p: odd(p, 1.0, True)}[sys.argv[1]](sys.argv[2])
