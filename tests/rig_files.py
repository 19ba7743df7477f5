#!/usr/bin/python3
"""One small rig, written as FBX (text or binary) or Collada from the formats' descriptions, and where its skin must be.

    rig_files.py write KIND FILE          KIND: fbx-text, fbx, fbx-z, fbx-pivot, fbx-materials, fbx-negative, fbx-shapes, fbx-materials-shapes, fbx-geometric, fbx-sparse, fbx-twins, fbx-text-twins, fbx-late, fbx-text-late, fbx-late-unsaid, fbx-shapes-late-unsaid, fbx-late-aside, fbx-text-late-aside, fbx-shapes-between, fbx-text-shapes-part, fbx-constraint, fbx-text-constraint, fbx-compensated, fbx-text-apart, fbx-bare, fbx-pivot-bare, fbx-world, fbx-text-world-geometric, fbx-loose, fbx-few-bare, fbx-cubic, fbx-text-cubic, fbx-ends, fbx-text-ends, fbx-layers, fbx-held, fbx6, fbx6-text-pivot, fbx6-text-z, fbx6-text-geometric, fbx6-text-materials, fbx6-shapes, fbx6-cubic, fbx6-text-cubic, fbx6-ends, fbx6-text-ends, collada, collada-z, collada-materials, collada-named, usd, usd-z, usd-shapes, usd-shapes-between, usd-bare, usd-motion
    rig_files.py check KIND ANIM [CLIP]   compares a supple.anim of it with what the file says; CLIP: bend (default), still, or dqs for bend skinned by dual
                                          quaternions

A ring-shaped tube of quads under a mesh node of its own transform follows two joints: `hip`, which moves and turns, and
`knee`, which stands turned against it (in FBX by its pre-rotation), bends, and stands bent differently in the node pose than in
the bind pose. `toe` carries weight and has no channel. Shares nothing with the importer.
Those sparse, cubic and held have a key every four frames, the ends two. In the twins' files all three joints are called `hip`; the late ones have their keys at 1001 and on, the unsaid do not tell the range of
their clips, those aside tell one that holds no key; the bare ones have no clips. A constraint hangs on a property. In files of shapes between, one
weight passes two of them, and in those of a part (Blender's groups of vertices) vertices take a part of one; both have a second shape, a third of which is
there without a curve. In those of the world clusters say where the mesh stood, and not where against the joint. Joints stretch
along one axis in those compensated (they take nothing of their parent's own scale) and apart (scales multiply by axes).
"""
import json
import struct
import sys
import zipfile

import numpy as np

FPS, FRAMES = 24, 13
RINGS, CLIPS = 7, 2
BONES = ["hip", "knee", "toe"]


def turn(degrees):
    """Rotation by Euler angles x, y, z in degrees: first about x, then y, then z."""
    x, y, z = np.radians(degrees)
    cx, sx, cy, sy, cz, sz = np.cos(x), np.sin(x), np.cos(y), np.sin(y), np.cos(z), np.sin(z)
    rx = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    ry = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    rz = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return rz @ ry @ rx


def affine(t, r, s=(1, 1, 1), pre=(0, 0, 0), pivot=(0, 0, 0)):
    """FBX: T Rp Rpre R S Rp^-1, the pivot Rp here for rotation and scale alike."""
    m = np.eye(4)
    m[:3, :3] = turn(pre) @ turn(r) @ np.diag(s)
    m[:3, 3] = np.add(t, pivot) - m[:3, :3] @ np.array(pivot, float)
    return m


class Rig:
    """Lengths in file units of 1 cm; the long axis of the tube is the up axis."""

    def __init__(self, kind):
        self.kind = kind
        self.up = up = "z" if kind.endswith("-z") else "y"
        self.pivot = [(0, 0, 0), (3, 7, 0) if "-pivot" in kind else (0, 0, 0), (0, 0, 0)]
        at = np.arange(RINGS * 4)
        ring, k = at // 4, at % 4
        points = np.c_[np.where((k == 0) | (k == 3), -12., 12.), 20. * ring, np.where(k < 2, -9., 9.)]
        self.quads = [(a, a + 4, b + 4, b) for r in range(RINGS - 1) for a, b in ((4 * r + i, 4 * r + (i + 1) % 4) for i in range(4))]
        self.quads += [(0, 1, 2, 3), (4 * RINGS - 1, 4 * RINGS - 2, 4 * RINGS - 3, 4 * RINGS - 4)]
        self.material = np.arange(len(self.quads)) % 2 if "-materials" in kind else None
        if kind.endswith("-few-bare"):      # one polygon of another material: a mesh of fewer bytes than the file's has points
            self.material = (np.arange(len(self.quads)) == len(self.quads) - 1).astype(int)
        if kind.startswith("collada-materials"):      # where the polygons of a material stand together
            self.quads = self.quads[::2] + self.quads[1::2]
        self.names = ["hip"] * 3 if kind.endswith("-twins") else BONES
        self.object = "tube"
        if kind == "collada-named":      # the mesh has the id and name that a joint has as its name and sid, and stands before it
            self.names, self.object = ["rig-" + n for n in BONES], "knee"
        self.negative = kind.endswith("-negative")
        self.axis = np.eye(4) if up == "y" else np.array([[1., 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])  # y up to the file
        self.mesh_node = self.bound_node = affine((5, 3, -2), (0, 20, 0), (1.5, 1, 0.5))
        self.sparse = kind in ("fbx-sparse", "fbx-cubic", "fbx-text-cubic", "fbx-held")      # a key every four frames
        self.ends = kind in ("fbx-ends", "fbx-text-ends", "fbx6-ends", "fbx6-text-ends")      # keys at the first and the last frame alone
        self.geometric = kind.endswith("-geometric")      # 3ds Max: an offset of the mesh from its node, before what clusters bind
        if self.geometric:
            self.mesh_node = self.mesh_node @ affine((4, -6, 1), (10, 0, 0), (1.2, 1.2, 1.2))
        points = np.c_[points, np.ones(len(points))] @ np.linalg.inv(self.mesh_node).T    # stands at the joints when bound
        self.points = points[:, :3]
        self.shape = np.where(ring[:, None] % 2 == 1, 3.0 * np.sign(self.points), 0) * [1, 0, 1] if "-shapes" in kind else None
        self.shape_weight = np.linspace(0, 1, FRAMES) ** 2
        self.between, self.part = "-between" in kind, np.linspace(0.2, 1, len(points)) if "-part" in kind else None
        self.still = np.where(ring[:, None] % 2 == 0, 2.0 * np.sign(self.points), 0) * [1, 0, 1] if self.between or self.part is not None else None
        upper, toe = np.clip(20. * ring / 40 - 1, 0, 1), np.clip(20. * ring / 20 - 5, 0, 1)
        self.weights = np.c_[1 - upper, upper - toe, toe]
        self.parent = [-1, 0, 1]
        self.t = [(0, 0, 0), (0, 60, 0), (0, 50, 0)]
        self.pre = [(0, 0, 0), (0, 0, 30), (0, 0, 0)]
        self.bind_r = [(0, 0, 0), (0, 0, -30), (0, 0, 0)]
        self.node_r = [(0, 0, 0), (0, 0, -15), (0, 0, 0)]
        self.first = 1001 if "-late" in kind else 0
        self.bare = kind.endswith("-bare")
        self.loose = np.zeros((200 if "-few" in kind else 3 if kind.endswith("-loose") else 0, 3))      # points that no polygon has
        self.unsaid = "-unsaid" in kind
        self.range_first = 1 if "-aside" in kind else self.first
        self.constraint = "-constraint" in kind
        self.times = (self.first + np.arange(FRAMES)) / FPS
        f = np.arange(FRAMES)
        self.move = np.c_[2. * f, 0 * f, -1. * f]           # hip
        self.inherit = 2 if "-compensated" in kind else 0 if "-apart" in kind else None
        self.stretch = {"hip": 1 + np.c_[.02 * f, .05 * f, -.01 * f], "knee": 1 + np.c_[-.02 * f, .03 * f, .04 * f]} if self.inherit is not None else {}
        self.angle = {"hip": np.c_[0 * f, 4. * f, 0 * f], "knee": np.c_[0 * f, 0 * f, -30. + 5. * f]}
        self.slope = {}       # of the angle about z, in a second, where keys say theirs
        if kind in ("fbx-cubic", "fbx-text-cubic"):       # which tangents at sparse keys give back
            self.angle["knee"] = np.c_[0 * f, 0 * f, -30. + 12. * f - 1.5 * f ** 2 + .07 * f ** 3]
            self.slope["knee"] = FPS * (12. - 3. * f + .21 * f ** 2)
        if self.ends:        # what leaves a key level and comes level to the next
            eased = (f / (FRAMES - 1.)) ** 2 * (3 - 2. * f / (FRAMES - 1.))
            self.angle = {"hip": np.c_[0 * f, 48. * eased, 0 * f], "knee": np.c_[0 * f, 0 * f, -30. + 60. * eased]}
        if kind == "fbx-held":        # up to the next key
            self.angle["knee"] = np.c_[0 * f, 0 * f, -30. + 20. * (f // 4)]

    def world(self, rotations, move=(0, 0, 0)):
        out = []
        for b in range(3):
            t = np.add(self.t[b], move) if b == 0 else self.t[b]
            local = affine(t, rotations[b], pre=self.pre[b], pivot=self.pivot[b])
            out.append(local if b == 0 else out[self.parent[b]] @ local)
        return [self.axis @ m for m in out]

    def local(self, b, frame):
        """Local matrix of a joint at a frame, the file's axes at the root."""
        name = BONES[b]
        r = self.angle[name][frame] if name in self.angle else self.node_r[b]
        m = affine(np.add(self.t[b], self.move[frame] if b == 0 else 0), r, pre=self.pre[b], pivot=self.pivot[b])
        return self.axis @ m if b == 0 else m

    def pose(self, frame):
        """World matrices of the joints by the FBX SDK's rule of InheritType (2: Rrs, 0: RrSs): G is the global scale and shear of the
        parent, behind its global rotation."""
        world, rotation, own = [], [], []
        for b in range(3):
            if self.inherit is None:
                world.append(self.local(b, frame) if b == 0 else world[self.parent[b]] @ self.local(b, frame))
                continue
            name, p = BONES[b], self.parent[b]
            r = turn(self.pre[b]) @ turn(self.angle[name][frame] if name in self.angle else self.node_r[b])
            s = np.diag(self.stretch[name][frame]) if name in self.stretch else np.eye(3)
            m = np.eye(4)
            if b == 0:
                m[:3, :3], m[:3, 3] = r @ s, np.add(self.t[0], self.move[frame])
            else:
                g = rotation[p].T @ world[p][:3, :3]
                m[:3, :3] = rotation[p] @ r @ (g if self.inherit == 0 else g @ np.linalg.inv(own[p])) @ s
                m[:3, 3] = world[p][:3, :3] @ np.array(self.t[b], float) + world[p][:3, 3]
                r = rotation[p] @ r
            world.append(m), rotation.append(r), own.append(s)
        return world if self.inherit is None else [self.axis @ m for m in world]

    def bind(self):
        return self.world(self.bind_r)

    def skin_dual(self, frame):
        """Dual quaternions (Kavan et al. 2007): b = sum w_i q_i, normalized; the joints here are rigid."""
        world = []
        for b in range(3):
            world.append(self.local(b, frame) if b == 0 else world[self.parent[b]] @ self.local(b, frame))
        move = [world[b] @ np.linalg.inv(self.bind()[b]) for b in range(3)]
        bound = (np.c_[self.points, np.ones(len(self.points))] @ (self.axis @ self.mesh_node).T)[:, :3]
        dual = []
        for m in move:
            w = np.sqrt(max(0, 1 + np.trace(m[:3, :3]))) / 2          # turns here stay well below half a circle
            q = np.r_[w, [(m[2, 1] - m[1, 2]), (m[0, 2] - m[2, 0]), (m[1, 0] - m[0, 1])] / (4 * w)]
            t = m[:3, 3]
            dual.append(np.r_[q, 0.5 * np.r_[-t @ q[1:], q[0] * t + np.cross(t, q[1:])]])
        out = []
        for v, w in zip(bound, self.weights):
            b = sum(x * d for x, d in zip(w, dual))
            b /= np.linalg.norm(b[:4])
            s, u, ds, du = b[0], b[1:4], b[4], b[5:]
            out.append(v + 2 * np.cross(u, np.cross(u, v) + s * v) + 2 * (s * du - ds * u + np.cross(u, du)))
        return (np.array(out) @ np.linalg.inv(self.axis)[:3, :3].T) * 0.01

    def skin(self, frame):
        world = self.pose(frame)
        moved = self.points
        if self.shape is not None:
            w = self.shape_weight[frame]
            if self.between:      # -0.5 of the shape at 40 %
                w = -0.5 * w / 0.4 if w < 0.4 else -0.5 + 1.5 * (w - 0.4) / 0.6
            moved = moved + w * self.shape * (1 if self.part is None else self.part[:, None])
        if self.still is not None:
            moved = moved + 0.3 * self.still
        points = np.c_[moved, np.ones(len(self.points))]
        mesh = self.axis @ self.mesh_node
        out = sum(self.weights[:, [b]] * (points @ (world[b] @ np.linalg.inv(self.bind()[b]) @ mesh).T) for b in range(3))
        return (out @ np.linalg.inv(self.axis).T)[:, :3] * 0.01      # back to y up, metres


# ---- FBX ----

TICKS = 46186158000   # a second


class Long(int):
    pass


def fbx_tree(rig):
    """(name, properties, children): properties are Long, int, float, str, numpy arrays; "a::b" strings are names."""
    identity = [0]

    def new():
        identity[0] += 1
        return Long(1000 + identity[0])

    def p70(*rows):
        return ("Properties70", [], [("P", list(r), []) for r in rows])

    objects, links = [], []
    z = rig.up == "z"
    # the file's axes at the top: a turned root, as a z-up program writes y-up parts
    euler = (90., 0., 0.) if z else (0., 0., 0.)
    root, mesh, geometry, skin = new(), new(), new(), new()
    vec = lambda name, v: (name, name, "", "A", float(v[0]), float(v[1]), float(v[2]))
    objects.append(("Model", [root, "Model::rig", "Null"], [("Version", [232], []), p70(vec("Lcl Rotation", euler))]))
    links.append(("OO", root, Long(0)))
    objects.append(("Model", [mesh, "Model::tube", "Mesh"],
                    [("Version", [232], []), p70(vec("Lcl Translation", (5, 3, -2)), vec("Lcl Rotation", (0, 20, 0)), vec("Lcl Scaling", (1.5, 1, 0.5)),
                                             *[("Geometric" + what, "Vector3D", "Vector", "", *map(float, v)) for what, v in
                                               (("Translation", (4, -6, 1)), ("Rotation", (10, 0, 0)), ("Scaling", (1.2, 1.2, 1.2))) if rig.geometric])]))
    links.append(("OO", mesh, root))
    polygons = np.array([v if i < 3 else -v - 1 for q in rig.quads for i, v in enumerate(q)], np.int32)
    layers = []
    if rig.material is not None:
        layers = [("LayerElementMaterial", [0], [("Version", [101], []), ("Name", [""], []), ("MappingInformationType", ["ByPolygon"], []),
                                                 ("ReferenceInformationType", ["IndexToDirect"], []), ("Materials", [rig.material.astype("<i4")], [])]),
                  ("Layer", [0], [("Version", [100], []), ("LayerElement", [], [("Type", ["LayerElementMaterial"], []), ("TypedIndex", [0], [])])])]
        for name in ("red", "blue"):
            material = new()
            objects.append(("Material", [material, "Material::" + name, ""], [("Version", [102], []), ("ShadingModel", ["lambert"], [])]))
            links.append(("OO", material, mesh))
    objects.append(("Geometry", [geometry, "Geometry::tube", "Mesh"],
                    [("Vertices", [np.concatenate([rig.points, rig.loose]).ravel()], []), ("PolygonVertexIndex", [polygons], []), ("GeometryVersion", [124], [])] + layers))
    links.append(("OO", geometry, mesh))
    said = [("SkinningType", [name], []) for word, name in (("-dual", "DualQuaternion"), ("-blend", "Blend")) if word in rig.kind]
    objects.append(("Deformer", [skin, "Deformer::", "Skin"], [("Version", [101], []), ("Link_DeformAcuracy", [50.0], []), *said]))
    links.append(("OO", skin, geometry))
    if rig.shape is not None:
        blend, channel, shape = new(), new(), new()
        at = np.nonzero(rig.shape.any(1))[0].astype(np.int32)
        objects.append(("Deformer", [blend, "Deformer::", "BlendShape"], [("Version", [100], [])]))
        objects.append(("Deformer", [channel, "SubDeformer::bulge", "BlendShapeChannel"],
                        [("Version", [100], []), ("DeformPercent", [0.0], []),
                         ("FullWeights", [np.array([40.0, 100.0] if rig.between else [100.0] if rig.part is None else 100 * rig.part[at])], [])]))
        if rig.between:
            half = new()
            objects.append(("Geometry", [half, "Geometry::half", "Shape"],
                            [("Version", [100], []), ("Indexes", [at], []), ("Vertices", [-0.5 * rig.shape[at].ravel()], []),
                             ("Normals", [np.zeros(3 * len(at))], [])]))
            links.append(("OO", half, channel))
        if rig.still is not None:
            other, third, there = new(), new(), np.nonzero(rig.still.any(1))[0].astype(np.int32)
            objects.append(("Deformer", [other, "SubDeformer::still", "BlendShapeChannel"],
                            [("Version", [100], []), ("DeformPercent", [30.0], []), ("FullWeights", [np.array([100.0])], [])]))
            objects.append(("Geometry", [third, "Geometry::still", "Shape"],
                            [("Version", [100], []), ("Indexes", [there], []), ("Vertices", [rig.still[there].ravel()], []),
                             ("Normals", [np.zeros(3 * len(there))], [])]))
            links += [("OO", other, blend), ("OO", third, other)]
        objects.append(("Geometry", [shape, "Geometry::bulge", "Shape"],
                        [("Version", [100], []), ("Indexes", [at], []), ("Vertices", [rig.shape[at].ravel()], []),
                         ("Normals", [np.zeros(3 * len(at))], [])]))
        links += [("OO", blend, geometry), ("OO", channel, blend), ("OO", shape, channel)]
    bones = []
    for b, name in enumerate(BONES):
        bone, cluster, attribute = new(), new(), new()
        bones.append(bone)
        objects.append(("NodeAttribute", [attribute, "NodeAttribute::" + name, "LimbNode"], [("TypeFlags", ["Skeleton"], [])]))
        objects.append(("Model", [bone, "Model::" + rig.names[b], "LimbNode"],
                        [("Version", [232], []), p70(("RotationActive", "bool", "", "", 1), ("PreRotation", "Vector3D", "Vector", "", *map(float, rig.pre[b])),
                                                     ("RotationPivot", "Vector3D", "Vector", "", *map(float, rig.pivot[b])),
                                                     *[("InheritType", "enum", "", "", rig.inherit)] * (rig.inherit is not None),
                                                     vec("Lcl Translation", rig.t[b]), vec("Lcl Rotation", rig.node_r[b]))]))
        links += [("OO", attribute, bone), ("OO", bone, bones[rig.parent[b]] if b else root), ("OO", cluster, skin), ("OO", bone, cluster)]
        given = rig.weights.copy()
        if rig.negative:         # hip and knee of vertex 5, which the hip carries alone
            given[5] = 1.25, -0.25, 0
        inside = np.nonzero(given[:, b])[0].astype(np.int32)
        bind = rig.bind()[b]
        objects.append(("Deformer", [cluster, "SubDeformer::" + name, "Cluster"],
                        [("Version", [100], []), ("Indexes", [inside], []), ("Weights", [given[inside, b]], []),
                         ("Transform", [((np.eye(4) if "-world" in rig.kind else np.linalg.inv(bind)) @ rig.axis @ rig.bound_node).T.ravel()], []), ("TransformLink", [bind.T.ravel()], [])]))
    for clip, frames in (("bend", range(0, FRAMES, FRAMES - 1 if rig.ends else 4 if rig.sparse else 1)), ("", [4]))[:0 if rig.bare else CLIPS]:
        stack, layer = new(), new()
        objects.append(("AnimationStack", [stack, "AnimStack::" + clip, ""], [p70(*[("Local" + what, "KTime", "Time", "", Long((rig.range_first + f) * TICKS // FPS))
                                                                                                     for what, f in (("Start", min(frames)), ("Stop", max(frames)))
                                                                                                     if not rig.unsaid and (rig.first or what == "Stop")])]))
        objects.append(("AnimationLayer", [layer, "AnimLayer::base", ""], []))
        links.append(("OO", layer, stack))
        for b, what, values in ((0, "T", rig.move + rig.t[0]), (0, "R", rig.angle["hip"]), (1, "R", rig.angle["knee"]),
                                *[(BONES.index(n), "S", v) for n, v in rig.stretch.items()]):
            node = new()
            objects.append(("AnimationCurveNode", [node, "AnimCurveNode::" + what, ""],
                            [p70(*[("d|" + axis, "Number", "", "A", float(values[0][i])) for i, axis in enumerate("XYZ")])]))
            links += [("OO", node, layer), ("OP", node, bones[b], {"T": "Lcl Translation", "R": "Lcl Rotation", "S": "Lcl Scaling"}[what])]
            for i, axis in enumerate("XYZ"):
                curve = new()
                flags, tangents, uses = [0x2108 if rig.sparse else 24840], np.zeros(4, np.float32), [len(frames)]      # automatic, one attribute for all keys; clamped
                if rig.ends and what == "T":
                    flags = [0x4]
                if rig.ends and b == 0 and what == "R":      # tension 1
                    flags, tangents = [0x208], np.array([1, 0, 0, 0], np.float32)
                if rig.kind == "fbx-held" and b == 1:
                    flags = [0x2]
                if b == 1 and i == 2 and "knee" in rig.slope:      # the key's own, and the next one's; both of unsaid lengths
                    slopes = [rig.slope["knee"][f] for f in frames]
                    flags, uses = [0x408] * len(frames), [1] * len(frames)
                    tangents = np.array([(a, b, 0, 0) for a, b in zip(slopes, slopes[1:] + [0])], np.float32).ravel()
                if rig.slope and b == 0 and what == "R" and i == 1:      # a straight line by tangents of unequal lengths
                    flags = [0x3000408]
                    tangents = np.array([4 * FPS, 4 * FPS, np.array(2000 << 16 | 5000, np.uint32).view(np.float32), 0], np.float32)
                objects.append(("AnimationCurve", [curve, "AnimCurve::", ""],
                                [("Default", [0.0], []), ("KeyVer", [4008], []), ("KeyTime", [np.array([(rig.first + f) * TICKS // FPS for f in frames], np.int64)], []),
                                 ("KeyValueFloat", [np.array([values[f][i] for f in frames], np.float32)], []),
                                 ("KeyAttrFlags", [np.array(flags, np.int32)], []), ("KeyAttrDataFloat", [tangents], []),
                                 ("KeyAttrRefCount", [np.array(uses, np.int32)], [])]))
                links.append(("OP", curve, node, "d|" + axis))
        if rig.kind.endswith("-layers"):      # the knee on a second one, too
            second, node, curve = new(), new(), new()
            objects.append(("AnimationLayer", [second, "AnimLayer::more", ""], []))
            objects.append(("AnimationCurveNode", [node, "AnimCurveNode::R", ""], [p70(("d|X", "Number", "", "A", 0.0))]))
            objects.append(("AnimationCurve", [curve, "AnimCurve::", ""],
                            [("KeyTime", [np.array([0], np.int64)], []), ("KeyValueFloat", [np.zeros(1, np.float32)], []),
                             ("KeyAttrFlags", [np.array([0x4], np.int32)], []), ("KeyAttrDataFloat", [np.zeros(4, np.float32)], []),
                             ("KeyAttrRefCount", [np.ones(1, np.int32)], [])]))
            links += [("OO", second, stack), ("OO", node, second), ("OP", node, bones[1], "Lcl Rotation"), ("OP", curve, node, "d|X")]
        if rig.shape is not None:
            node, curve = new(), new()
            objects.append(("AnimationCurveNode", [node, "AnimCurveNode::DeformPercent", ""], [p70(("d|DeformPercent", "Number", "", "A", 0.0))]))
            objects.append(("AnimationCurve", [curve, "AnimCurve::", ""],
                            [("Default", [0.0], []), ("KeyVer", [4008], []), ("KeyTime", [np.array([(rig.first + f) * TICKS // FPS for f in frames], np.int64)], []),
                             ("KeyValueFloat", [np.array([100 * rig.shape_weight[f] for f in frames], np.float32)], []),
                             ("KeyAttrFlags", [np.array([24840], np.int32)], []), ("KeyAttrDataFloat", [np.zeros(4, np.float32)], []),
                             ("KeyAttrRefCount", [np.array([len(frames)], np.int32)], [])]))
            links += [("OO", node, layer), ("OP", node, channel, "DeformPercent"), ("OP", curve, node, "d|DeformPercent")]
    if rig.constraint:
        links.append(("PO", bones[0], "Constrained Object", bones[1]))
    up, front, sign = (2, 1, -1) if z else (1, 2, 1)
    settings = [("UpAxis", "int", "Integer", "", up), ("UpAxisSign", "int", "Integer", "", 1), ("FrontAxis", "int", "Integer", "", front),
                ("FrontAxisSign", "int", "Integer", "", sign), ("CoordAxis", "int", "Integer", "", 0), ("CoordAxisSign", "int", "Integer", "", 1),
                ("UnitScaleFactor", "double", "Number", "", 1.0), ("TimeMode", "enum", "", "", 11)]
    return [("FBXHeaderExtension", [], [("FBXHeaderVersion", [1003], []), ("FBXVersion", [7400], []), ("Creator", ["a test"], [])]),
            ("GlobalSettings", [], [("Version", [1000], []), p70(*settings)]),
            ("Definitions", [], [("Version", [100], []), ("Count", [len(objects)], [])]),
            ("Objects", [], objects), ("Connections", [], [("C", list(l), []) for l in links])]


def fbx_text(nodes, depth=0):
    out = "" if depth else "; FBX 7.4.0 project file\n"
    pad = "\t" * depth
    for name, properties, children in nodes:
        if len(properties) == 1 and isinstance(properties[0], np.ndarray):
            v = properties[0].view(np.int32) if name == "KeyAttrDataFloat" else properties[0]      # of which text has the bits
            out += "%s%s: *%d {\n%s\ta: %s\n%s}\n" % (pad, name, len(v), pad, ",".join("%.17g" % x if v.dtype.kind == "f" else "%d" % x for x in v), pad)
            continue
        words = ['"%s"' % p if isinstance(p, str) else "%.17g" % p if isinstance(p, float) else str(int(p)) for p in properties]
        out += "%s%s: %s" % (pad, name, ", ".join(words))
        out += " {\n%s%s}\n" % (fbx_text(children, depth + 1), pad) if children or name in ("Objects", "AnimationLayer") else "\n"
    return out


def fbx_binary(nodes, version=7400):
    def prop(p):
        if isinstance(p, np.ndarray):
            code = {"f8": b"d", "f4": b"f", "i4": b"i", "i8": b"l"}[p.dtype.str[1:]]
            return code + struct.pack("<III", len(p), 0, p.nbytes) + p.tobytes()
        if isinstance(p, str) and version < 7000 and len(p) == 1:        # letters of keys
            return b"C" + p.encode()
        if isinstance(p, str):
            raw = "\0\1".join(reversed(p.split("::"))).encode() if "::" in p else p.encode()
            return b"S" + struct.pack("<I", len(raw)) + raw
        if isinstance(p, Long):
            return b"L" + struct.pack("<q", p)
        return b"I" + struct.pack("<i", p) if isinstance(p, int) else b"D" + struct.pack("<d", p)

    word, null = ("<QQQ", b"\0" * 25) if version >= 7500 else ("<III", b"\0" * 13)

    def node(name, properties, children, at):
        raw = b"".join(map(prop, properties))
        inner, head = b"", len(null) + len(name)
        for c in children:
            inner += node(*c, at + head + len(raw) + len(inner))
        if children or name == "AnimationLayer":
            inner += null
        end = at + head + len(raw) + len(inner)
        return struct.pack(word, end, len(properties), len(raw)) + bytes([len(name)]) + name.encode() + raw + inner

    out = b"Kaydara FBX Binary  \0\x1a\0" + struct.pack("<I", version)
    for n in nodes:
        out += node(*n, len(out))
    return out + null + b"\xfa\xbc" * 8 + struct.pack("<I", version) + b"\0" * 120


# ---- FBX 6 ----

def fbx6_tree(rig):
    """The same in the words of version 6: objects are known by name, geometry stands in its model, keys in takes."""
    tree = dict((name, children) for name, _, children in fbx_tree(rig))
    names, geometry, objects = {0: "Model::Scene"}, {}, []

    def p60(children):
        rows = [row for name, _, inner in children if name == "Properties70" for row in inner]
        return ("Properties60", [], [("Property", [*r[1][:2], r[1][3], *r[1][4:]], []) for r in rows])

    def spread(nodes):
        return [(n, [x for v in p for x in (v.tolist() if isinstance(v, np.ndarray) else [v])], spread(c)) for n, p, c in nodes]

    for name, p, children in tree["Objects"]:
        names[p[0]] = "Deformer::Skin tube" if p[2] == "Skin" else p[1]
        if name == "Geometry" and p[2] == "Mesh":
            names[p[0]], geometry = "Model::tube", {"Model::tube": children}
    for name, p, children in tree["Objects"]:
        if name in ("Model", "Material", "Deformer") and p[2] not in ("BlendShape", "BlendShapeChannel"):
            own = [p60(children)] + spread([c for c in children if c[0] != "Properties70"] + geometry.get(names[p[0]], []))
            if p[2] == "Mesh" and rig.shape is not None:
                at = np.nonzero(rig.shape.any(1))[0]
                own += spread([("Shape", ["bulge"], [("Indexes", [at], []), ("Vertices", [rig.shape[at].ravel()], [])])])
            objects.append((name, [names[p[0]], p[2]], own))
    known = {p[0] for _, p, _ in objects} | {"Model::Scene"}
    links = [("Connect", ["OO", names[a], names[b]], []) for _, (kind, a, b, *_), _ in tree["Connections"]
             if kind == "OO" and names.get(a) in known and names.get(b) in known and names[a] != names[b]]
    objects.append(("GlobalSettings", [], [p60(tree["GlobalSettings"])]))

    def channel(name, values, step, level=False):
        keys = []
        for f in range(0, FRAMES, step):
            slope = FPS * float(values[1] - values[0])       # all that moves does so evenly
            keys += [Long(f * TICKS // FPS), float(values[f])] + (["U", "s", 0., 0., "a", 1 / 3., 1 / 3.] if level else ["U", "s", slope, slope, "n"] if step == 4 else ["L"])
        return ("Channel", [name], [("Default", [float(values[0])], []), ("KeyVer", [4005], []), ("KeyCount", [len(range(0, FRAMES, step))], []), ("Key", keys, [])])

    step = FRAMES - 1 if rig.ends else 4 if "-cubic" in rig.kind else 1
    models = []
    for b, tracks in ((0, (("T", rig.move + rig.t[0]), ("R", rig.angle["hip"]))), (1, (("R", rig.angle["knee"]),))):
        parts = [("Channel", [what], [channel(axis, v[:, i], step, rig.ends and what == "R") for i, axis in enumerate("XYZ")]) for what, v in tracks]
        models.append(("Model", ["Model::" + BONES[b]], [("Version", [1.1], []), ("Channel", ["Transform"], parts)]))
    if rig.shape is not None:
        models.append(("Model", ["Model::tube"], [channel("bulge", 100 * rig.shape_weight, 1)]))
    return [("FBXHeaderExtension", [], [("FBXHeaderVersion", [1003], []), ("FBXVersion", [6100], [])]), ("Objects", [], objects), ("Connections", [], links),
            ("Takes", [], [("Current", ["bend"], []), ("Take", ["bend"], models)]), ("Version5", [], [("Settings", [], [("FrameRate", [str(FPS)], [])])])]


def fbx6_text(nodes, depth=0):
    out = "" if depth else "; FBX 6.1.0 project file\n"
    for name, properties, children in nodes:
        words = [p if name == "Key" and isinstance(p, str) else '"%s"' % p if isinstance(p, str) else "%.17g" % p if isinstance(p, float) else str(int(p)) for p in properties]
        out += "%s%s: %s%s%s" % ("\t" * depth, name, "\n" if name == "Key" else "", ",".join(words), " {\n" if children else "\n")
        out += fbx6_text(children, depth + 1) + "\t" * depth + "}\n" if children else ""
    return out


# ---- Collada ----

def collada(rig):
    numbers = lambda a: " ".join("%.17g" % x for x in np.ravel(a))

    def source(name, values, stride, names=None):
        what = "Name_array" if names else "float_array"
        count = len(names) if names else np.size(values)
        param = {1: '<param name="V" type="%s"/>' % ("name" if names else "float"), 3: "".join('<param name="%s" type="float"/>' % c for c in "XYZ"),
                 16: '<param name="M" type="float4x4"/>'}[stride]
        return ('<source id="%s"><%s id="%s-a" count="%d">%s</%s><technique_common><accessor source="#%s-a" count="%d" stride="%d">%s</accessor>'
                "</technique_common></source>") % (name, what, name, count, " ".join(names) if names else numbers(values), what, name,
                                                   count // stride, stride, param)

    animations = ""
    for b, name in enumerate(rig.names):
        if b == 2:      # the toe
            continue
        animations += '<animation id="%s-a">%s%s%s<sampler id="%s-s"><input semantic="INPUT" source="#%s-t"/><input semantic="OUTPUT" source="#%s-m"/>' \
            '<input semantic="INTERPOLATION" source="#%s-i"/></sampler><channel source="#%s-s" target="%s/transform"/></animation>' % (
                name, source(name + "-t", rig.times, 1), source(name + "-m", [rig.local(b, f) for f in range(FRAMES)], 16),
                source(name + "-i", None, 1, ["LINEAR"] * FRAMES), name, name, name, name, name, name)
    local = [affine(rig.t[b], rig.node_r[b], pre=rig.pre[b], pivot=rig.pivot[b]) for b in range(3)]
    local[0] = rig.axis @ local[0]
    nodes = "".join(
        '<node id="%s" sid="%s" name="%s" type="JOINT"><matrix sid="transform">%s</matrix>' % (i, n, n, numbers(m)) for i, n, m in zip(rig.names, BONES, local))
    nodes += "</node></node></node>"
    mesh = '<node id="%s" name="%s"><instance_controller url="#tube-c"><skeleton>#%s</skeleton></instance_controller></node>' % (rig.object, rig.object, rig.names[0])
    weights, counts, pairs = [1.0], [], []
    for v in range(len(rig.points)):
        used = [b for b in range(3) if rig.weights[v, b]]
        counts.append(len(used))
        for b in used:
            pairs += [b, len(weights)]
            weights.append(rig.weights[v, b])
    half = (len(rig.quads) + 1) // 2
    lists = ""
    for name, quads in ((None, rig.quads),) if rig.material is None else (("red", rig.quads[:half]), ("blue", rig.quads[half:])):
        lists += '<!-- <p>9 9</p> --><polylist count="%d"%s><input semantic="VERTEX" source="#tube-v" offset="0"/><vcount>%s</vcount><p>%s</p></polylist>' % (
            len(quads), ' material="%s"' % name if name else "", " ".join("4" for q in quads), " ".join(str(i) for q in quads for i in q))
    return """<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="centimeter" meter="0.01"/><up_axis>%s_UP</up_axis></asset>
<library_geometries><geometry id="tube-g" name="tube"><mesh>%s<vertices id="tube-v"><input semantic="POSITION" source="#tube-p"/></vertices>
%s</mesh></geometry></library_geometries>
<library_controllers><controller id="tube-c"><skin source="#tube-g"><bind_shape_matrix>%s</bind_shape_matrix>%s%s%s
<joints><input semantic="JOINT" source="#tube-j"/><input semantic="INV_BIND_MATRIX" source="#tube-b"/></joints>
<vertex_weights count="%d"><input semantic="JOINT" source="#tube-j" offset="0"/><input semantic="WEIGHT" source="#tube-w" offset="1"/>
<vcount>%s</vcount><v>%s</v></vertex_weights></skin></controller></library_controllers>
<library_animations>%s</library_animations>
<library_visual_scenes><visual_scene id="scene">%s</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#scene"/></scene>
</COLLADA>
""" % (rig.up.upper(), source("tube-p", rig.points, 3), lists, numbers(rig.axis @ rig.mesh_node), source("tube-j", None, 1, BONES),
       source("tube-b", [np.linalg.inv(m) for m in rig.bind()], 16), source("tube-w", weights, 1), len(counts),
       " ".join(map(str, counts)), " ".join(map(str, pairs)), animations, nodes + mesh if rig.object == "tube" else mesh + nodes)


# ---- UsdSkel ----

def usd(rig):
    tuples = lambda a: "[" + ", ".join("(" + ", ".join("%.17g" % x for x in row) + ")" for row in a) + "]"
    plain = lambda a: "[" + ", ".join("%.17g" % x for x in np.ravel(a)) + "]"
    rows = lambda m: "(" + ", ".join("(" + ", ".join("%.17g" % x for x in row) + ")" for row in m.T) + ")"      # act on row vectors
    samples = lambda kind, name, texts: "%s %s.timeSamples = {\n%s\n}\n" % (kind, name, "\n".join("%d: %s," % f for f in enumerate(texts)))

    def quaternion(m):
        w = np.sqrt(max(0, 1 + np.trace(m))) / 2
        return [w, (m[2, 1] - m[1, 2]) / (4 * w), (m[0, 2] - m[2, 0]) / (4 * w), (m[1, 0] - m[0, 1]) / (4 * w)]

    joints = '["hip", "hip/knee", "hip/knee/toe"]'
    rest = [affine(rig.t[b], rig.node_r[b], pre=rig.pre[b], pivot=rig.pivot[b]) for b in range(3)]
    rest[0] = rig.axis @ rest[0]
    local = [[rig.local(b, f) for b in range(2)] for f in range(FRAMES)]      # the toe, which no track moves, rests
    shape = animated = ""
    if rig.shape is not None:
        moved = np.flatnonzero(abs(rig.shape).max(1))
        half = "uniform vector3f[] inbetweens:half = %s ( weight = 0.4 )\n" % tuples(-0.5 * rig.shape[moved]) if rig.between else ""
        still = 'def BlendShape "rest"\n{\nuniform vector3f[] offsets = %s\n}\n' % tuples(rig.still) if rig.between else ""      # of another name than its token
        shape = 'uniform token[] skel:blendShapes = ["bulge"%s]\nrel skel:blendShapeTargets = [<bulge>, <../tube/rest>]\n' \
            'def BlendShape "bulge"\n{\n%suniform vector3f[] offsets = %s\nuniform int[] pointIndices = %s\n}\n%s' % (
                ', "still"' if rig.between else "", half, tuples(rig.shape[moved]), plain(moved), still)
        animated = 'uniform token[] blendShapes = ["other", "bulge", "still"]\n' + samples("float[]", "blendShapeWeights", ["[0, %.17g, 0.3]" % w for w in rig.shape_weight])
    corners = np.array(rig.quads).ravel()
    text = """#usda 1.0
(
    metersPerUnit = 0.01
    timeCodesPerSecond = %d
    upAxis = "%s"
)

def SkelRoot "rig" ( prepend apiSchemas = ["SkelBindingAPI"] )
{
    rel skel:skeleton = </rig/bones>
    def Skeleton "bones"
    {
        uniform token[] joints = %s
        uniform matrix4d[] bindTransforms = [%s]
        uniform matrix4d[] restTransforms = [%s]
        rel skel:animationSource = </rig/bend>
    }
    def SkelAnimation "bend"
    {
        uniform token[] joints = ["hip", "hip/knee"]
        %s%shalf3[] scales = [(1, 1, 1), (1, 1, 1)]
        %s
    }
    def Mesh "unseen"
    {
        token visibility = "invisible"
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices = [0, 1, 2]
    }
    def Mesh "tube" ( prepend apiSchemas = ["SkelBindingAPI"] )
    {
        point3f[] points = %s
        int[] faceVertexCounts = %s
        int[] faceVertexIndices = %s
        matrix4d primvars:skel:geomBindTransform = %s
        uniform token[] skel:joints = ["hip/knee/toe", "hip/knee", "hip"]
        int[] primvars:skel:jointIndices = %s ( elementSize = 3 interpolation = "vertex" )
        float[] primvars:skel:jointWeights = %s ( elementSize = 3 interpolation = "vertex" )
        texCoord2f[] primvars:st = %s ( interpolation = "faceVarying" )
        double3 xformOp:translate = (7, 7, 7)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        %s
    }
}
""" % (FPS, rig.up.upper(), joints, ", ".join(map(rows, rig.bind())), ", ".join(map(rows, rest)),
       samples("float3[]", "translations", [tuples([m[:3, 3] for m in frame]) for frame in local]),
       samples("quatf[]", "rotations", [tuples([quaternion(m[:3, :3]) for m in frame]) for frame in local]), animated, tuples(rig.points),
       plain([4] * len(rig.quads)), plain(corners), rows(rig.axis @ rig.mesh_node), plain([[0, 1, 2]] * len(rig.points)), plain(rig.weights[:, ::-1]),
       tuples(np.c_[corners % 4, np.arange(len(corners))] / 100), shape)
    animation, meshes = text.index("    def SkelAnimation"), text.index('    def Mesh "unseen"')
    if rig.bare:
        return text[:animation].replace("rel skel:animationSource = </rig/bend>", "") + text[meshes:]
    return text[:meshes] + "}\n" if rig.kind.endswith("-motion") else text


def data(kind):
    """The bytes of the file."""
    rig = Rig(kind)
    if kind.startswith("usd"):
        return usd(rig).encode()
    if kind.startswith("collada"):
        return collada(rig).encode()
    if kind.startswith("fbx6"):
        return fbx6_text(fbx6_tree(rig)).encode() if "-text" in kind else fbx_binary(fbx6_tree(rig), 6100)
    return fbx_text(fbx_tree(rig)).encode() if kind.startswith("fbx-text") else fbx_binary(fbx_tree(rig), 7500 if kind == "fbx-cubic" else 7400)


def check(kind, path, clip):
    rig = Rig(kind)
    a, meta = np.load(path), json.loads(zipfile.ZipFile(path).read("meta.json"))
    skinned = rig.skin_dual if clip == "dqs" else rig.skin
    clip = "bend" if clip == "dqs" else clip
    frames = range(FRAMES) if clip == "bend" else [4]
    assert len(a["times"]) == len(frames), (len(a["times"]), len(frames))
    assert sorted(meta["bone_names"]) == sorted(rig.names), meta["bone_names"]
    assert meta["object_names"] == [rig.object], meta["object_names"]
    worst, scale = 0.0, 1.2
    for k, f in enumerate(frames):
        r = a["root"][k]
        got = a["points"][k].astype(float) @ r[:3, :3].T + r[:3, 3]
        want = skinned(f)
        got0 = got if k == 0 else got0
        if clip == "bend":
            assert abs(a["times"][k] - rig.times[f]) < 1e-6
            assert meta["frame_start"] == rig.first, meta["frame_start"]
        d = np.linalg.norm(got[:, None] - want[None], axis=2)
        assert d.shape[0] == d.shape[1], d.shape
        worst = max(worst, d.min(1).max(), d.min(0).max())
    print("# %s: positions differ by %.2g of the size" % (kind, worst / scale))
    assert len(a["face_counts"]) == len(rig.quads) and (a["face_counts"] == 4).all()
    assert a["face_indices"].reshape(-1, 4).tolist() == [list(p) for p in rig.quads]     # vertices and polygons in the file's order
    assert len(a["source_vertex"]) == len(rig.points) + len(rig.loose)
    first = a["points"][0].astype(float)[a["source_vertex"]] @ a["root"][0][:3, :3].T + a["root"][0][:3, 3]
    assert abs(first[:len(rig.points)] - skinned(frames[0])).max() < 1e-5 * scale
    q = a["neutral"][a["triangles"]]
    volume = np.einsum("ij,ij->i", q[:, 0], np.cross(q[:, 1], q[:, 2])).sum() / 6
    want = 0.24 * 0.18 * 1.2     # as bound: a straight tube, outside out
    assert abs(volume / want - 1) < 1e-4, volume
    assert (a["neutral"].max(0) - a["neutral"].min(0)).argmax() == 1, "the tube stands upright"
    # The neutral skin is the bound one, turned perhaps: the nearest rotation leaves nothing over.
    bound = np.c_[rig.points, np.ones(len(rig.points))] @ rig.mesh_node.T[:, :3] * 0.01
    neutral = a["neutral"] - a["neutral"].mean(0)
    order = [np.linalg.norm(got0 - w, axis=1).argmin() for w in skinned(0 if clip == "bend" else 4)]
    u, _, v = np.linalg.svd(neutral[order].T @ (bound - bound.mean(0)))
    assert abs(neutral[order] @ (u @ np.diag([1, 1, np.linalg.det(u @ v)]) @ v) - (bound - bound.mean(0))).max() < 1e-5
    assert worst < 1e-5 * scale, worst


def main():
    kind, path = sys.argv[2], sys.argv[3]
    if sys.argv[1] == "check":
        return check(kind, path, sys.argv[4] if len(sys.argv) > 4 else "bend")
    open(path, "wb").write(data(kind))


if __name__ == "__main__":
    main()
