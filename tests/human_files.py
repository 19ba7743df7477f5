#!/usr/bin/env python3
"""A body as VRM and motions of other skeletons for it, and where its skin is then. Joints have a tetrahedron of skin each.

write FOLDER: body.vrm (VRM 0, faces -z, odd names and axes), dance.vrma (VRMC_vrm_animation), dance.gltf (names as Mixamo
has them, in feet), dance.bvh (hips at the origin at rest, centimetres), body.gltf (these names, axes of body.vrm).
check ANIM TOLERANCE: is the skin where the dance takes it?"""
import base64
import json
import sys

import numpy as np

BODY = [     # Mixamo's name, VRM's, parent, place in metres
    ("Armature", "", -1, (0, 0, 0)), ("Hips", "hips", 0, (0, 1, 0)), ("Spine", "spine", 1, (0, 1.15, 0)),
    ("Neck", "neck", 2, (0, 1.45, 0)), ("Head", "head", 3, (0, 1.55, 0.02)),
    ("LeftShoulder", "leftShoulder", 2, (0.05, 1.4, 0)), ("LeftArm", "leftUpperArm", 5, (0.2, 1.4, 0)),
    ("LeftForeArm", "leftLowerArm", 6, (0.45, 1.4, 0)), ("LeftHand", "leftHand", 7, (0.7, 1.4, 0)),
    ("RightShoulder", "rightShoulder", 2, (-0.05, 1.4, 0)), ("RightArm", "rightUpperArm", 9, (-0.2, 1.4, 0)),
    ("RightForeArm", "rightLowerArm", 10, (-0.45, 1.4, 0)), ("RightHand", "rightHand", 11, (-0.7, 1.4, 0)),
    ("LeftUpLeg", "leftUpperLeg", 1, (0.1, 0.95, 0)), ("LeftLeg", "leftLowerLeg", 13, (0.1, 0.5, 0)),
    ("LeftFoot", "leftFoot", 14, (0.1, 0.08, -0.02)), ("RightUpLeg", "rightUpperLeg", 1, (-0.1, 0.95, 0)),
    ("RightLeg", "rightLowerLeg", 16, (-0.1, 0.5, 0)), ("RightFoot", "rightFoot", 17, (-0.1, 0.08, -0.02))]
PLACE = np.array([b[3] for b in BODY], float)
FRAMES, FEET, TALL = 12, 0.3048, 0.8     # of body.vrm to the dancer
SKIN = 0.04 * np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float)
FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
BACK = np.diag([-1.0, 1, -1])     # from +z to -z


def turn(v):
    v = np.asarray(v, float)
    angle = np.linalg.norm(v)
    if angle == 0:
        return np.eye(3)
    x, y, z = v / angle
    k = np.array([(0, -z, y), (z, 0, -x), (-y, x, 0)])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def quaternion(r):     # x, y, z, w
    w = np.array([1 + r[0, 0] + r[1, 1] + r[2, 2], 1 + r[0, 0] - r[1, 1] - r[2, 2], 1 - r[0, 0] + r[1, 1] - r[2, 2], 1 - r[0, 0] - r[1, 1] + r[2, 2]])
    k = int(w.argmax())
    q = [(w[0], r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]), (r[2, 1] - r[1, 2], w[1], r[0, 1] + r[1, 0], r[2, 0] + r[0, 2]),
         (r[0, 2] - r[2, 0], r[0, 1] + r[1, 0], w[2], r[1, 2] + r[2, 1]), (r[1, 0] - r[0, 1], r[2, 0] + r[0, 2], r[1, 2] + r[2, 1], w[3])][k]
    q = np.array(q) / np.linalg.norm(q)
    return [*q[1:], q[0]]


def dance(frame):
    """Rotations and places of all joints in the world."""
    r, x = [np.eye(3)], [np.zeros(3)]
    for i in range(1, len(BODY)):
        up = BODY[i][2]
        r.append(r[up] @ turn([0.5 * np.sin(0.5 * frame + i), 0.4 * np.sin(0.3 * frame * (i % 3)), 0.5 * np.cos(0.4 * frame + 2 * i)]))
        x.append(x[up] + r[up] @ (PLACE[i] - PLACE[up]))
        if i == 1:
            x[1] = x[1] + [0.01 * frame, 0.02 * np.sin(frame), 0.05 * frame]
    return r, x


class Gltf:
    def __init__(self):
        self.raw, self.views, self.accessors = b"", [], []

    def add(self, values, kind, type=5126):
        data = np.asarray(values, {5126: "<f4", 5123: "<u2", 5121: "u1"}[type])
        self.raw += b"\0" * (-len(self.raw) % 4)
        self.views.append({"buffer": 0, "byteOffset": len(self.raw), "byteLength": data.nbytes})
        self.raw += data.tobytes()
        a = {"bufferView": len(self.views) - 1, "componentType": type, "count": len(data), "type": kind}
        if kind in ("VEC3", "SCALAR"):
            a.update(min=np.atleast_1d(data.min(0)).tolist(), max=np.atleast_1d(data.max(0)).tolist())
        self.accessors.append(a)
        return len(self.accessors) - 1


def write(path, names, axes, world, size, skin=False, clip=False, extensions=None):
    """Joints at size x world PLACE, joint i turned by axes[i] in itself."""
    g, nodes = Gltf(), []
    rest = [world @ a for a in axes]
    place = size * PLACE @ world.T
    for i, (name, _, up, _) in enumerate(BODY):
        r, t = (rest[i], place[i]) if up < 0 else (rest[up].T @ rest[i], rest[up].T @ (place[i] - place[up]))
        nodes.append({"name": names[i], "rotation": quaternion(r), "translation": t.tolist(), "children": [k for k, b in enumerate(BODY) if b[2] == i]})
    out = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": nodes}
    if extensions:
        out.update(extensions=extensions, extensionsUsed=list(extensions))
    if skin:
        n = len(BODY)
        bind = [np.linalg.inv(np.block([[rest[i], place[i][:, None]], [np.zeros((1, 3)), 1]])).T for i in range(n)]
        p = np.concatenate([place[i] + size * SKIN @ world.T for i in range(n)])
        nodes.append({"name": "skin", "mesh": 0, "skin": 0})
        out["scenes"][0]["nodes"].append(n)
        out["skins"] = [{"joints": list(range(n)), "inverseBindMatrices": g.add(bind, "MAT4")}]
        out["meshes"] = [{"primitives": [{"indices": g.add((4 * np.arange(n)[:, None, None] + FACES).ravel(), "SCALAR", 5123), "attributes": {
            "POSITION": g.add(p, "VEC3"), "JOINTS_0": g.add([[i, 0, 0, 0] for i in range(n) for _ in range(4)], "VEC4", 5121),
            "WEIGHTS_0": g.add([[1, 0, 0, 0]] * (4 * n), "VEC4")}}]}]
    if clip:
        times = g.add(np.arange(FRAMES) / 30, "SCALAR")
        poses = [dance(f) for f in range(FRAMES)]
        animation = {"name": "dance", "samplers": [], "channels": []}
        for i in range(1, len(BODY)):
            up = BODY[i][2]
            q = [quaternion((r[up] @ axes[up]).T @ (r[i] @ axes[i])) for r, _ in poses]
            tracks = [("rotation", g.add(q, "VEC4"))] + ([("translation", g.add([size * x[1] for _, x in poses], "VEC3"))] if i == 1 else [])
            for path_, output in tracks:
                animation["samplers"].append({"input": times, "output": output})
                animation["channels"].append({"sampler": len(animation["samplers"]) - 1, "target": {"node": i, "path": path_}})
        out["animations"] = [animation]
    out.update(accessors=g.accessors, bufferViews=g.views, buffers=[
        {"byteLength": len(g.raw), "uri": "data:application/octet-stream;base64," + base64.b64encode(g.raw).decode()}])
    with open(path, "w") as f:
        json.dump(out, f)


def bvh(path):
    lines = ["HIERARCHY"]

    def joint(i, depth):
        tab, up = "  " * depth, BODY[i][2]
        lines.append(f"{tab}{'ROOT' if i == 1 else 'JOINT'} {BODY[i][0]}")
        offset = np.zeros(3) if i == 1 else 100 * (PLACE[i] - PLACE[up])
        lines.extend([tab + "{", f"{tab}  OFFSET " + " ".join(f"{x:.8f}" for x in offset)])
        lines.append(f"{tab}  CHANNELS " + ("6 Xposition Yposition Zposition " if i == 1 else "3 ") + "Zrotation Xrotation Yrotation")
        below = [k for k, b in enumerate(BODY) if b[2] == i]
        for k in below:
            joint(k, depth + 1)
        if not below:
            lines.extend([f"{tab}  End Site", tab + "  {", f"{tab}    OFFSET 0 5 0", tab + "  }"])
        lines.append(tab + "}")

    joint(1, 0)
    lines.extend(["MOTION", f"Frames: {FRAMES}", "Frame Time: 0.0333333333"])
    for frame in range(FRAMES):
        r, x = dance(frame)
        numbers = list(100 * x[1])
        for i in range(1, len(BODY)):     # in the order of the tree, as BODY is
            m = r[BODY[i][2]].T @ r[i]     # about z, then x, then y
            numbers += list(np.degrees([np.arctan2(-m[0, 1], m[1, 1]), np.arcsin(m[2, 1]), np.arctan2(-m[2, 0], m[2, 2])]))
        lines.append(" ".join(f"{v:.9f}" for v in numbers))
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")


def write_all(folder):
    n = len(BODY)
    odd = [np.eye(3)] + [turn([1.4 * np.sin(i), 1.2 * np.cos(3 * i), 1.3 * np.sin(5 * i)]) for i in range(1, n)]
    plain = [np.eye(3)] * n
    mixamo = [b[0] for b in BODY]
    bones = [(b[1], i) for i, b in enumerate(BODY) if b[1]]
    write(f"{folder}/body.vrm", [f"n{i:02d}" for i in range(n)], odd, BACK, TALL, skin=True,
          extensions={"VRM": {"humanoid": {"humanBones": [{"bone": b, "node": i} for b, i in bones]}}})
    write(f"{folder}/dance.vrma", [chr(65 + i) for i in range(n)], plain, np.eye(3), 1, clip=True,
          extensions={"VRMC_vrm_animation": {"humanoid": {"humanBones": {b: {"node": i} for b, i in bones}}}})
    write(f"{folder}/dance.gltf", mixamo, plain, np.eye(3), 1 / FEET, clip=True)
    bvh(f"{folder}/dance.bvh")
    write(f"{folder}/body.gltf", mixamo, odd, BACK, TALL, skin=True)


def check(path, tolerance):
    a = np.load(path)
    assert len(a["points"]) == FRAMES, len(a["points"])
    for frame in range(FRAMES):
        r, x = dance(frame)
        wanted = np.concatenate([TALL * (x[i] + SKIN @ r[i].T) @ BACK.T for i in range(len(BODY))])
        p = a["points"][frame].astype(float) @ a["root"][frame][:3, :3].T + a["root"][frame][:3, 3]
        error = abs(p[a["source_vertex"]] - wanted).max()
        assert error < tolerance * TALL, (frame, error)


if __name__ == "__main__":
    write_all(sys.argv[2]) if sys.argv[1] == "write" else check(sys.argv[2], float(sys.argv[3]))
