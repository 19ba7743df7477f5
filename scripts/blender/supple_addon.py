"""supple in Blender: bakes soft-tissue motion onto the selected character and puts it on its meshes (docs/blender.md).

Edit > Preferences > Add-ons > Install takes this file; the panel is in the 3D view's sidebar, tab supple. Needs the program
supple (README) in PATH, or its place in the add-on's preferences. A script calls what the panel's buttons call:

    settings = bpy.context.scene.supple; settings.folder = "/tmp/bake"; settings.look = "jelly"
    bpy.ops.supple.bake(); bpy.ops.supple.take_off(); bpy.ops.supple.apply()

Each mesh is handed over as it leaves its Armature modifiers and what deforms it right behind them, with the bones as joints:
FOLDER/NAME.glb, and FOLDER/SHOT.points.pc2 with its vertices at every frame, so that whatever the rig does beyond skinning is
kept. The result comes back as a point cache an object, read by a Mesh Cache modifier that stands where these modifiers stood;
they are muted meanwhile. What stands before them (mirrors) and behind them (subdivision) stays live.
"""
import atexit
import json
import math
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import time

import bpy
import numpy as np
from bpy.props import (BoolProperty, CollectionProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty,
                       StringProperty)
from mathutils import Matrix, Vector
from mathutils.kdtree import KDTree

bl_info = {
    "name": "supple: soft-tissue motion",
    "description": "Bakes the motion of flesh onto rigged characters",
    "author": "supple",
    "version": (1, 0, 0),
    "blender": (3, 4, 0),
    "location": "3D View > Sidebar > supple",
    "category": "Animation",
}

CACHE = "supple"          # name of the modifier that holds the result
MUTED = "supple_muted"    # custom property of an object: modifiers that are muted for it, and how they were
EXPORT = "blender.json"   # in the folder of a bake: which objects it is of
# Modifiers that move vertices and make none, and those that touch neither positions nor their number.
DEFORMING = {"ARMATURE", "CAST", "CURVE", "CORRECTIVE_SMOOTH", "DISPLACE", "HOOK", "LAPLACIANDEFORM", "LAPLACIANSMOOTH", "LATTICE",
             "MESH_DEFORM", "SHRINKWRAP", "SIMPLE_DEFORM", "SMOOTH", "SURFACE_DEFORM", "WARP", "WAVE"}
HARMLESS = {"DATA_TRANSFER", "NORMAL_EDIT", "WEIGHTED_NORMAL", "UV_PROJECT", "UV_WARP", "VERTEX_WEIGHT_EDIT", "VERTEX_WEIGHT_MIX",
            "VERTEX_WEIGHT_PROXIMITY", "COLLISION", "PARTICLE_SYSTEM"}
Y_UP = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]], float)   # Blender's axes to glTF's
WELD = 1e-5    # of the diagonal: vertices this near in the neutral pose may be taken for one by supple import
APART = 3e-5   # of the diagonal: and are marked as two where they ever are farther from each other


class Trouble(Exception):
    """What went wrong, as a sentence for the user."""


# ---- the character ----

def deform_block(object_):
    """First and last + 1 of the modifiers whose place the result takes: the Armature modifiers, and what deforms right behind.
    None: no bones move the object."""
    used = [i for i, m in enumerate(object_.modifiers) if m.type == "ARMATURE" and m.object and (m.show_viewport or is_muted(object_, m))]
    if not used:
        parented = object_.parent and object_.parent.type == "ARMATURE" and object_.parent_type == "ARMATURE"
        return (0, 0) if parented else None
    stop = used[-1] + 1
    for i in range(stop, len(object_.modifiers)):
        m = object_.modifiers[i]
        if m.type in DEFORMING:
            stop = i + 1
        elif m.type not in HARMLESS and m.name != CACHE and (m.show_viewport or m.show_render):
            break
    return used[0], stop


def is_muted(object_, modifier):
    return modifier.name in json.loads(object_.get(MUTED, "{}"))


def armatures_of(object_):
    found = [m.object for m in object_.modifiers if m.type == "ARMATURE" and m.object]
    if object_.parent and object_.parent.type == "ARMATURE" and object_.parent_type == "ARMATURE":
        found.append(object_.parent)
    return list(dict.fromkeys(found))


def character(context):
    """The armature, and the meshes to bake: those selected of it, else all that are visible."""
    chosen = [o for o in context.selected_objects if o.type == "MESH" and deform_block(o)]
    active = context.object
    rig = next((o for o in [active] + list(context.selected_objects) if o and o.type == "ARMATURE"), None)
    if not rig:
        rig = next((armatures_of(o)[0] for o in ([active] if active in chosen else []) + chosen), None)
    if not rig:
        raise Trouble("select a rigged character: its armature, or a mesh that an armature moves")
    chosen = [o for o in chosen if rig in armatures_of(o)]
    if not chosen:
        chosen = [o for o in context.scene.objects if o.type == "MESH" and deform_block(o) and rig in armatures_of(o) and o.visible_get()]
    if not chosen:
        raise Trouble("no visible mesh is moved by %s" % rig.name)
    return rig, sorted(chosen, key=lambda o: o.name)


def safe(name):
    return re.sub("[^A-Za-z0-9._-]", "_", name).lstrip(".-") or "main"


class AsBaked:
    """While it lasts each object ends where the result begins: no cache on it, nothing live behind the block."""

    def __init__(self, objects):
        self.objects, self.states = objects, []

    def __enter__(self):
        for o in self.objects:
            muted = json.loads(o.get(MUTED, "{}"))
            stop = deform_block(o)[1]
            for i, m in enumerate(o.modifiers):
                self.states.append((o.name, m.name, m.show_viewport))
                shown = False if m.name == CACHE or i >= stop else muted.get(m.name, [m.show_viewport])[0]
                if m.show_viewport != shown:
                    m.show_viewport = shown
        bpy.context.view_layer.update()
        return self

    def __exit__(self, *error):
        for name, modifier, shown in self.states:
            m = bpy.data.objects[name].modifiers.get(modifier)
            if m and m.show_viewport != shown:
                m.show_viewport = shown


class AtRest:
    """While it lasts all armatures are at rest and the objects' shape keys at their basis."""

    def __init__(self, objects):
        self.objects = objects

    def __enter__(self):
        self.poses = [(a, a.pose_position) for a in bpy.data.armatures]
        self.keys = [(o, o.show_only_shape_key, o.active_shape_key_index) for o in self.objects if o.data.shape_keys]
        for a, _ in self.poses:
            a.pose_position = "REST"
        for o, _, _ in self.keys:
            o.show_only_shape_key, o.active_shape_key_index = True, 0
        bpy.context.view_layer.update()

    def __exit__(self, *error):
        for a, position in self.poses:
            a.pose_position = position
        for o, only, index in self.keys:
            o.show_only_shape_key, o.active_shape_key_index = only, index
        bpy.context.view_layer.update()


def local_points(evaluated, count=None, frame=None):
    mesh = evaluated.to_mesh()
    if count is not None and len(mesh.vertices) != count:
        found = len(mesh.vertices)
        evaluated.to_mesh_clear()
        raise Trouble("%s has %d vertices at frame %d and %d at rest: a modifier before the Armature changes their number; turn it off, or put it behind" %
                      (evaluated.name, found, frame, count))
    points = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", points)
    evaluated.to_mesh_clear()
    return points.reshape(-1, 3).astype(float)


def placed(points, matrix):
    return points @ matrix[:3, :3].T + matrix[:3, 3]


class Part:
    """A mesh of the character: .points (vertices,3) at rest in the world, .triangles, .rows [{joint: weight}] by vertex,
    .paint (vertices) of a vertex group."""

    def __init__(self, object_, evaluated, joints, paint):
        self.name = object_.name
        mesh = evaluated.to_mesh()
        count = len(mesh.vertices)
        matrix = np.array(evaluated.matrix_world, float)
        if abs(np.linalg.det(matrix[:3, :3])) < 1e-30:
            raise Trouble("%s is scaled to nothing" % self.name)
        points = np.empty(3 * count, np.float32)
        mesh.vertices.foreach_get("co", points)
        self.points = placed(points.reshape(-1, 3).astype(float), matrix)
        mesh.calc_loop_triangles()
        triangles = np.empty(3 * len(mesh.loop_triangles), np.int32)
        mesh.loop_triangles.foreach_get("vertices", triangles)
        self.triangles = triangles.reshape(-1, 3)
        if np.linalg.det(matrix[:3, :3]) < 0:
            self.triangles = self.triangles[:, ::-1]
        group = {g.index: g.name for g in object_.vertex_groups}
        rigs = armatures_of(object_)
        joint = {i: next((joints[r.name, name] for r in rigs if (r.name, name) in joints), None) for i, name in group.items()}
        painted = next((i for i, name in group.items() if name == paint), None)
        self.rows, self.paint = [], np.zeros(count)
        for v in mesh.vertices:
            row = {}
            for g in v.groups:
                if joint.get(g.group) is not None and g.weight > 0:
                    row[joint[g.group]] = row.get(joint[g.group], 0.0) + g.weight
                if g.group == painted:
                    self.paint[v.index] = g.weight
            self.rows.append(row)
        evaluated.to_mesh_clear()
        self.add_envelopes(object_, rigs, joints)
        if not any(self.rows):
            raise Trouble("no vertex of %s belongs to a deforming bone; parent it with weights, or leave it unselected" % self.name)
        if not len(self.triangles):
            raise Trouble("%s has no faces" % self.name)

    def add_envelopes(self, object_, rigs, joints):
        if not any(m.type == "ARMATURE" and m.use_bone_envelopes for m in object_.modifiers):
            return
        for rig in rigs:
            inverse = np.linalg.inv(np.array(rig.matrix_world, float))
            bones = [(joints[rig.name, b.name], b) for b in rig.data.bones if (rig.name, b.name) in joints]
            for p, row in zip(placed(self.points, inverse), self.rows):
                if not row:
                    row.update((j, w) for j, w in ((j, b.evaluate_envelope(Vector(p))) for j, b in bones) if w > 0)


class Joint:
    """A node of the file: an armature (bone None), or a bone that deforms or has one below that does."""

    def __init__(self, rig, bone, parent):
        self.rig, self.bone, self.parent, self.deforms = rig.name, bone and bone.name, parent, bool(bone and bone.use_deform)

    def world(self, evaluated):
        rig = evaluated[self.rig]
        matrix = np.array(rig.matrix_world, float)
        return matrix @ np.array(rig.pose.bones[self.bone].matrix, float) if self.bone else matrix

    def rest(self, evaluated):
        rig = evaluated[self.rig]
        matrix = np.array(rig.matrix_world, float)
        return matrix @ np.array(rig.data.bones[self.bone].matrix_local, float) if self.bone else matrix


def skeleton(objects):
    joints, number = [], {}
    for rig in dict.fromkeys(r for o in objects for r in armatures_of(o)):
        wanted = {b.name for deforming in rig.data.bones if deforming.use_deform for b in [deforming] + deforming.parent_recursive}
        top = len(joints)
        joints.append(Joint(rig, None, -1))
        at = {}
        for bone in sorted((b for b in rig.data.bones if b.name in wanted), key=lambda b: len(b.parent_recursive)):
            at[bone.name] = len(joints)
            joints.append(Joint(rig, bone, at[bone.parent.name] if bone.parent else top))
            if bone.use_deform:
                number[rig.name, bone.name] = at[bone.name]
    if not number:
        raise Trouble("%s has no deforming bone" % objects[0].name)
    return joints, number


# ---- glTF ----

def decomposed(matrix):
    """Translation, rotation (x y z w) and scale of a 4 x 4 matrix; a shear is lost."""
    linear = matrix[:3, :3]
    scale = np.linalg.norm(linear, axis=0)
    scale[scale == 0] = 1e-12
    u, _, v = np.linalg.svd(linear / scale)
    turn = u @ v
    if np.linalg.det(turn) < 0:
        turn, scale = -turn, -scale
    q = Matrix(turn.tolist()).to_quaternion()
    return matrix[:3, 3], np.array([q.x, q.y, q.z, q.w]), scale


class Glb:
    def __init__(self):
        self.doc = {"asset": {"version": "2.0", "generator": "supple add-on"}, "scene": 0, "scenes": [{"nodes": []}], "nodes": [],
                    "meshes": [], "skins": [], "animations": [], "accessors": [], "bufferViews": [], "buffers": [{}]}
        self.blob = bytearray()

    def add(self, values, kind, form="<f4", component=5126, bounds=False):
        data = np.ascontiguousarray(values, form)
        self.blob += b"\0" * (-len(self.blob) % 4)
        self.doc["bufferViews"].append({"buffer": 0, "byteOffset": len(self.blob), "byteLength": data.nbytes})
        self.blob += data.tobytes()
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}[kind]
        accessor = {"bufferView": len(self.doc["bufferViews"]) - 1, "componentType": component, "count": data.size // width, "type": kind}
        if bounds:
            rows = data.reshape(-1, width).astype(float)
            accessor["min"], accessor["max"] = rows.min(0).tolist(), rows.max(0).tolist()
        self.doc["accessors"].append(accessor)
        return len(self.doc["accessors"]) - 1

    def bytes(self):
        self.blob += b"\0" * (-len(self.blob) % 4)
        self.doc["buffers"][0]["byteLength"] = len(self.blob)
        text = json.dumps(self.doc, sort_keys=True).encode()
        text += b" " * (-len(text) % 4)
        return (struct.pack("<4sIIII", b"glTF", 2, 28 + len(text) + len(self.blob), len(text), 0x4E4F534A) + text +
                struct.pack("<II", len(self.blob), 0x004E4942) + bytes(self.blob))


def character_glb(clip, parts, joints, rest, keys, fps, apart):
    """The file's bytes. rest: world of each joint at rest; keys (frames, joints, 4, 4): at every frame, Blender's axes; apart
    [(vertices)]: of each part, a number for vertices that are not to be taken for one with those at the same place, else 0."""
    glb = Glb()
    doc, deforming = glb.doc, [i for i, j in enumerate(joints) if j.deforms]
    size = max(np.ptp(p.points, axis=0).max() for p in parts)

    def local(world):
        return [decomposed(np.linalg.inv(world[j.parent]) @ world[i] if j.parent >= 0 else Y_UP @ world[i]) for i, j in enumerate(joints)]
    start = local(rest)
    tracks = [local(world) for world in keys]
    times = glb.add(np.arange(len(keys)) / fps, "SCALAR", bounds=True)
    channels, samplers = [], []
    for i, j in enumerate(joints):
        node = {"name": j.bone or j.rig, "children": [k for k, c in enumerate(joints) if c.parent == i]}
        if not node["children"]:
            del node["children"]
        for path, which in (("translation", 0), ("rotation", 1), ("scale", 2)):
            values = np.array([t[i][which] for t in tracks])
            if path == "rotation":   # of the two quaternions of a rotation the one that lies near the last
                for k in range(1, len(values)):
                    values[k] *= -1.0 if values[k] @ values[k - 1] < 0 else 1.0
            node[path] = [float(x) for x in start[i][which]]
            samplers.append({"input": times, "output": glb.add(values, "VEC4" if which == 1 else "VEC3"), "interpolation": "LINEAR"})
            channels.append({"sampler": len(samplers) - 1, "target": {"node": i, "path": path}})
        doc["nodes"].append(node)
    doc["animations"].append({"name": clip, "channels": channels, "samplers": samplers})
    bind = np.array([np.linalg.inv(Y_UP @ rest[i]).T for i in deforming])
    doc["skins"].append({"joints": deforming, "inverseBindMatrices": glb.add(bind, "MAT4")})
    order = {j: k for k, j in enumerate(deforming)}
    for part, marks in zip(parts, apart):
        count, most = len(part.rows), max(len(r) for r in part.rows)
        sets = (most + 3) // 4
        joint, weight = np.zeros((count, 4 * sets), np.uint16), np.zeros((count, 4 * sets), np.float32)
        for v, row in enumerate(part.rows):
            total = sum(row.values())
            for k, (j, w) in enumerate(sorted(row.items(), key=lambda item: (-item[1], item[0]))):
                joint[v, k], weight[v, k] = order[j], w / total
        attributes = {"POSITION": glb.add(placed(part.points, Y_UP), "VEC3", bounds=True)}
        for s in range(sets):
            attributes["JOINTS_%d" % s] = glb.add(joint[:, 4 * s:4 * s + 4], "VEC4", "<u2", 5123)
            attributes["WEIGHTS_%d" % s] = glb.add(weight[:, 4 * s:4 * s + 4], "VEC4")
        primitive = {"attributes": attributes, "indices": glb.add(part.triangles, "SCALAR", "<u4", 5125)}
        mesh = {"name": part.name, "primitives": [primitive]}
        if marks.any():   # a blend shape that never plays
            primitive["targets"] = [{"POSITION": glb.add(np.c_[marks, 0 * marks, 0 * marks] * (0.001 * size), "VEC3", bounds=True)}]
            mesh.update(weights=[0], extras={"targetNames": ["apart"]})
        doc["meshes"].append(mesh)
        doc["nodes"].append({"name": part.name, "mesh": len(doc["meshes"]) - 1, "skin": 0})
    doc["scenes"][0]["nodes"] = [i for i, j in enumerate(joints) if j.parent < 0] + list(range(len(joints), len(doc["nodes"])))
    return glb.bytes()


def parted(points, frames):
    """Numbers from 1 on for vertices that lie where another does at rest and ever leave it, else 0. frames: (frames,vertices,3)."""
    size = np.linalg.norm(np.ptp(points, axis=0)) or 1.0
    tree = KDTree(len(points))
    for i, p in enumerate(points):
        tree.insert(p, i)
    tree.balance()
    marks = np.zeros(len(points))
    for i, p in enumerate(points):
        for _, j, _ in tree.find_range(p, WELD * size):
            if j > i and np.abs(frames[:, i] - frames[:, j]).max() > APART * size:
                for k in (i, j):
                    marks[k] = marks[k] or marks.max() + 1
    return marks


# ---- export ----

def keep(path, data):
    """Writes bytes unless the file holds them: what depends on it is not made again for nothing."""
    if os.path.exists(path) and os.path.getsize(path) == len(data):
        with open(path, "rb") as f:
            if f.read() == data:
                return
    with open(path + ".tmp", "wb") as f:
        f.write(data)
    os.replace(path + ".tmp", path)


def pc2(points, start):
    return struct.pack("<12siiffi", b"POINTCACHE2\0", 1, points.shape[1], float(start), 1.0, len(points)) + np.ascontiguousarray(points, "<f4").tobytes()


def frame_range(context, rig):
    settings, scene = context.scene.supple, context.scene
    if settings.action:
        first, last = settings.action.frame_range
        return int(math.floor(first + 1e-3)), int(math.ceil(last - 1e-3))
    return scene.frame_start, scene.frame_end


def play_action(rig, action):
    data = rig.animation_data or rig.animation_data_create()
    data.action = action
    slots = getattr(data, "action_suitable_slots", None)   # 4.4 and later: an action has slots
    if slots and not data.action_slot:
        data.action_slot = slots[0]


def export(context):
    """Writes the character into the folder; the words of the command line and the name of the shot."""
    if context.mode not in {"OBJECT", "POSE"}:
        raise Trouble("leave the edit mode first")
    settings, scene = context.scene.supple, context.scene
    rig, objects = character(context)
    if settings.action:
        play_action(rig, settings.action)
    first, last = frame_range(context, rig)
    if last - first < 2:
        raise Trouble("frames %d to %d: a bake wants three frames at least" % (first, last))
    name, shot = safe(rig.name), safe(settings.action.name if settings.action else scene.name)
    folder = folder_of(context)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise Trouble("%s: cannot make this folder: %s" % (folder, error.strerror))
    fps, before = scene.render.fps / scene.render.fps_base, scene.frame_current
    joints, number = skeleton(objects)
    rigs = {j.rig for j in joints}
    window = context.window_manager
    window.progress_begin(first, last)
    try:
        with AsBaked(objects):
            scene.frame_set(first)
            with AtRest(objects):
                graph = context.evaluated_depsgraph_get()
                evaluated = {r: bpy.data.objects[r].evaluated_get(graph) for r in rigs}
                rest = [j.rest(evaluated) for j in joints]
                parts = [Part(o, o.evaluated_get(graph), number, settings.paint) for o in objects]
            frames, keys, matrices = [], [], []
            for frame in range(first, last + 1):
                scene.frame_set(frame)
                graph = context.evaluated_depsgraph_get()
                evaluated = {r: bpy.data.objects[r].evaluated_get(graph) for r in rigs}
                keys.append([j.world(evaluated) for j in joints])
                matrices.append([np.array(o.evaluated_get(graph).matrix_world, float) for o in objects])
                frames.append(np.vstack([placed(local_points(o.evaluated_get(graph), len(p.points), frame), m)
                                         for o, p, m in zip(objects, parts, matrices[-1])]).astype(np.float32))
                window.progress_update(frame)
    finally:
        window.progress_end()
        scene.frame_set(before)
    frames = np.array(frames)
    if not np.isfinite(frames).all():
        raise Trouble("frame %d has positions that are no numbers" % (first + np.flatnonzero(~np.isfinite(frames).all((1, 2)))[0]))
    starts = np.cumsum([0] + [len(p.points) for p in parts])
    apart = [parted(p.points, frames[:, a:b]) for p, a, b in zip(parts, starts, starts[1:])]
    source, points = os.path.join(folder, name + ".glb"), os.path.join(folder, shot + ".points.pc2")
    keep(source, character_glb(shot, parts, joints, rest, keys, fps, apart))
    keep(points, pc2(placed(frames, Y_UP), 0))
    keep(os.path.join(folder, EXPORT), json.dumps({
        "name": name, "shot": shot, "first": first, "last": last,
        "objects": [{"name": o.name, "vertices": len(p.points)} for o, p in zip(objects, parts)],
        "matrices": np.array(matrices).tolist()}).encode())
    words = [source, "--points", points, "-o", folder, "--name", name, "--fps", "%.9g" % fps, "--frame-start", str(first),
             "--format", ",".join(["npy"] + [w for w in re.split("[, ]+", settings.also) if w not in ("", "npy")])]
    if scene.unit_settings.system != "NONE" and abs(scene.unit_settings.scale_length - 1.0) > 1e-6:
        words += ["--unit", "m", "--scale", "%.9g" % scene.unit_settings.scale_length]
    if any(m.type == "ARMATURE" and m.use_deform_preserve_volume for o in objects for m in o.modifiers):
        words += ["--skinning", "dqs"]
    return words + how_it_looks(settings, folder, parts), shot


def folder_of(context):
    folder = context.scene.supple.folder
    if folder.startswith("//") and not bpy.data.filepath:
        raise Trouble("save the file first, or give a folder that does not begin with //")
    return os.path.normpath(bpy.path.abspath(folder))


def how_it_looks(settings, folder, parts):
    words = []
    if settings.model:
        words += ["--model", os.path.normpath(bpy.path.abspath(settings.model))]
    else:
        words += ["--look", settings.look]
        if abs(settings.amount - 1.0) > 1e-6:
            words += ["--amount", "%.6g" % settings.amount]
        if settings.frequency > 0:
            words += ["--frequency", "%.6g" % settings.frequency]
        for j in settings.joints:
            if j.name:
                words += ["--" + j.kind.lower(), j.name if j.kind in ("KEEP", "FREE") else "%s=%.6g" % (j.name, j.factor)]
        if settings.paint and any(j.name and j.kind in ("SOFT", "STIFF") for j in settings.joints):
            raise Trouble("bones are made softer or stiffer and %s is painted: one of both says how stiff the flesh is" % settings.paint)
        if settings.paint:
            path = os.path.join(folder, "paint.csv")
            keep(path, ("\n".join(["stiff"] + ["%.6g" % w for p in parts for w in p.paint]) + "\n").encode())
            words += ["--young", path, "--young-low", "1", "--young-high", "%.6g" % settings.paint_factor]
        if settings.tets:
            words += ["--tets", str(settings.tets)]
        words.append({"FAST": "--fast", "MODEL": "--train", "FULL": "--full"}[settings.road])
    if settings.damping > 0:
        words += ["--damping", "%.6g" % settings.damping]
    if settings.model or settings.road == "MODEL":
        words += ["--bound", "%.6g%%" % settings.bound]
    try:
        return words + shlex.split(settings.more)
    except ValueError as error:
        raise Trouble("%s: %s" % (settings.more, error))


# ---- supple bake, in a process of its own ----

def program(context):
    addon = context.preferences.addons.get(__name__)
    said = context.scene.supple.program or (addon.preferences.program if addon and addon.preferences else "")
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bin", "supple")
    found = shutil.which(bpy.path.abspath(said)) if said else shutil.which("supple") or shutil.which(beside)
    if not found:
        raise Trouble("%s; say where the program supple is in the add-on's preferences" %
                      ("%s cannot be run" % said if said else "supple is not in PATH"))
    return found


class Bake:
    """A running bake: poll() now and then; .percent, .ended (None, else exit status), .said (lines)."""

    def __init__(self, command, folder, shot):
        self.folder, self.shot, self.percent, self.ended, self.cancelled, self.said, self.began = folder, shot, 0.0, None, False, [], time.time()
        self.log = os.path.join(folder, "bake.log")
        with open(self.log, "w") as log:
            log.write(" ".join(shlex.quote(w) for w in command) + "\n")
        with open(self.log, "a") as log:
            try:
                self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            except OSError as error:
                raise Trouble("%s: %s" % (command[0], error.strerror))
        self.read = os.path.getsize(self.log)

    def poll(self):
        ended = self.process.poll()
        with open(self.log, errors="replace") as log:
            log.seek(self.read)
            text = log.read()
        whole = text[:text.rfind("\n") + 1] if ended is None else text
        self.read += len(whole.encode(errors="replace"))
        for line in whole.splitlines():
            progress = re.match(r"Progress: (\d+)%", line)
            if progress:
                self.percent = float(progress.group(1))
            elif line:
                self.said.append(line)
        self.ended = ended
        return ended

    def cancel(self):
        self.cancelled = True
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)   # bake ends its programs and tidies up

    def sentence(self):
        """What supple said last that was no warning, without the program's name."""
        said = [line for line in self.said if ": warning: " not in line and re.match(r"supple[a-z-]*: ", line)] or self.said
        return re.sub(r"^supple[a-z-]*: ", "", said[-1]) if said else "supple bake ended with status %d and without a word; see %s" % (self.ended, self.log)


running = None   # the one bake of this Blender


def begin(context):
    global running
    if running and running.ended is None:
        raise Trouble("a bake is running")
    command = [program(context), "bake"]
    words, shot = export(context)
    running = Bake(command + words + ["--progress", "lines"], folder_of(context), shot)
    return running


def stop_at_exit():
    if running and running.poll() is None:
        running.cancel()


# ---- the result on the objects ----

def put_before(object_, modifier, index):
    last = list(object_.modifiers).index(modifier)
    if last == index:
        return
    if hasattr(object_.modifiers, "move"):
        object_.modifiers.move(last, index)
    else:
        with bpy.context.temp_override(object=object_, active_object=object_):
            bpy.ops.object.modifier_move_to_index(modifier=modifier.name, index=index)


def take_off(object_):
    """Removes the cache and switches on again what was muted for it; True where there was one."""
    modifier = object_.modifiers.get(CACHE)
    if not modifier:
        return False
    object_.modifiers.remove(modifier)
    for name, (viewport, render) in json.loads(object_.get(MUTED, "{}")).items():
        m = object_.modifiers.get(name)
        if m:
            m.show_viewport, m.show_render = viewport, render
    if MUTED in object_:
        del object_[MUTED]
    return True


def apply_result(context, folder):
    """Puts the bake in the folder onto its objects; their names, and what to warn of."""
    try:
        with open(os.path.join(folder, EXPORT)) as f:
            about = json.load(f)
        points = np.load(os.path.join(folder, about["shot"] + ".npy"), mmap_mode="r")
    except OSError as error:
        raise Trouble("%s: there is no finished bake (%s)" % (folder, error.strerror))
    matrices, at, warnings = np.array(about["matrices"]), 0, []
    if points.shape != (len(matrices), sum(o["vertices"] for o in about["objects"]), 3):
        raise Trouble("%s.npy holds %s frames and vertices and is not of this export; bake again" % (about["shot"], points.shape[:2]))
    for number, each in enumerate(about["objects"]):
        object_ = bpy.data.objects.get(each["name"])
        block = object_ and deform_block(object_)
        if not block:
            raise Trouble("%s: no such mesh with an armature is here; bake again" % each["name"])
        local = np.empty((len(points), each["vertices"], 3), np.float32)
        for k in range(len(points)):
            local[k] = placed(points[k, at:at + each["vertices"]].astype(float), np.linalg.inv(matrices[k, number]) @ np.linalg.inv(Y_UP))
        at += each["vertices"]
        path = os.path.join(folder, "%s.%s.pc2" % (about["shot"], safe(each["name"])))
        keep(path, pc2(local, about["first"]))
        take_off(object_)
        start, stop = deform_block(object_)
        muted = {m.name: [m.show_viewport, m.show_render] for m in list(object_.modifiers)[start:stop] if m.type in DEFORMING}
        for m in list(object_.modifiers)[:start]:
            if m.type not in DEFORMING | HARMLESS and (m.show_viewport != m.show_render or getattr(m, "levels", 0) != getattr(m, "render_levels", 0)):
                warnings.append("%s: %s stands before the Armature and makes other vertices in renders; the flesh will be missing there" % (object_.name, m.name))
        cache = object_.modifiers.new(CACHE, "MESH_CACHE")
        put_before(object_, cache, stop)
        cache = object_.modifiers[CACHE]
        cache.cache_format, cache.interpolation, cache.deform_mode = "PC2", "LINEAR", "OVERWRITE"
        cache.time_mode, cache.play_mode, cache.frame_start, cache.frame_scale = "FRAME", "SCENE", about["first"], 1.0
        cache.forward_axis, cache.up_axis = "POS_Y", "POS_Z"
        cache.filepath = bpy.path.relpath(path) if bpy.data.filepath else path
        for name in muted:
            object_.modifiers[name].show_viewport = object_.modifiers[name].show_render = False
        object_[MUTED] = json.dumps(muted)
    return [o["name"] for o in about["objects"]], warnings


# ---- operators ----

class SUPPLE_OT_bake(bpy.types.Operator):
    bl_idname, bl_label = "supple.bake", "Bake"
    bl_description = "Bake the flesh of the selected character in the background, and put the result on its meshes"

    def finish(self, context, bake):
        if bake.cancelled:
            self.report({"WARNING"}, "the bake was stopped; baking again goes on where it was")
            return {"CANCELLED"}
        if bake.ended:
            self.report({"ERROR"}, bake.sentence())
            return {"CANCELLED"}
        try:
            objects, warnings = apply_result(context, bake.folder)
        except Trouble as trouble:
            self.report({"ERROR"}, str(trouble))
            return {"CANCELLED"}
        for line in [re.sub("^supple[a-z-]*: warning: ", "", s) for s in bake.said if ": warning: " in s] + warnings:
            self.report({"WARNING"}, line)
        self.report({"INFO"}, "%s: flesh on %s, %.0f s" % (bake.shot, ", ".join(objects), time.time() - bake.began))
        return {"FINISHED"}

    def start(self, context):
        try:
            return begin(context)
        except Trouble as trouble:
            self.report({"ERROR"}, str(trouble))
            return None

    def execute(self, context):
        bake = self.start(context)
        while bake and bake.poll() is None:
            time.sleep(0.1)
        return self.finish(context, bake) if bake else {"CANCELLED"}

    def invoke(self, context, event):
        self.bake = self.start(context)
        if not self.bake:
            return {"CANCELLED"}
        self.timer = context.window_manager.event_timer_add(0.3, window=context.window)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        ended = self.bake.poll()
        for area in context.screen.areas if context.screen else []:
            if area.type == "VIEW_3D":
                area.tag_redraw()
        if ended is None:
            return {"PASS_THROUGH"}
        context.window_manager.event_timer_remove(self.timer)
        return self.finish(context, self.bake)


class SUPPLE_OT_cancel(bpy.types.Operator):
    bl_idname, bl_label = "supple.cancel", "Stop"
    bl_description = "Stop the bake that is running"

    def execute(self, context):
        if running and running.ended is None:
            running.cancel()
        return {"FINISHED"}


class SUPPLE_OT_apply(bpy.types.Operator):
    bl_idname, bl_label, bl_options = "supple.apply", "Put on", {"UNDO"}
    bl_description = "Put the finished bake of the folder onto its meshes again"

    def execute(self, context):
        try:
            objects, warnings = apply_result(context, folder_of(context))
        except Trouble as trouble:
            self.report({"ERROR"}, str(trouble))
            return {"CANCELLED"}
        for line in warnings:
            self.report({"WARNING"}, line)
        self.report({"INFO"}, "flesh on %s" % ", ".join(objects))
        return {"FINISHED"}


class SUPPLE_OT_take_off(bpy.types.Operator):
    bl_idname, bl_label, bl_options = "supple.take_off", "Take off", {"UNDO"}
    bl_description = "Take the flesh off the character: its Armature modifiers move it again"

    def execute(self, context):
        try:
            objects = character(context)[1]
        except Trouble:
            objects = [o for o in context.scene.objects if o.type == "MESH"]
        gone = [o.name for o in objects if take_off(o)]
        self.report({"INFO"}, "taken off %s" % ", ".join(gone) if gone else "no flesh was on")
        return {"FINISHED"}


class SUPPLE_OT_joint(bpy.types.Operator):
    bl_idname, bl_label, bl_options = "supple.joint", "Joint", {"UNDO"}
    bl_description = "Add the selected bones, or a line to fill in; or remove the line"
    remove: BoolProperty(options={"HIDDEN"})

    def execute(self, context):
        settings = context.scene.supple
        if self.remove:
            settings.joints.remove(settings.joint)
            settings.joint = max(0, settings.joint - 1)
            return {"FINISHED"}
        for name in [b.name for b in context.selected_pose_bones or []] or [""]:
            settings.joints.add().name = name
        settings.joint = len(settings.joints) - 1
        return {"FINISHED"}


# ---- settings and panel ----

class SuppleJoint(bpy.types.PropertyGroup):
    name: StringProperty(name="Bone", description="A bone; * and ? stand for any letters")
    kind: EnumProperty(name="Flesh", default="SOFT", items=[
        ("SOFT", "softer", "The flesh around it is softer by the factor"), ("STIFF", "stiffer", "The flesh around it is stiffer by the factor"),
        ("KEEP", "keep", "Its flesh stays exactly where the rig puts it"), ("FREE", "free", "Nothing holds the flesh inside")])
    factor: FloatProperty(name="Factor", default=4.0, min=0.01, max=10000.0)


class SuppleSettings(bpy.types.PropertyGroup):
    folder: StringProperty(name="Folder", subtype="DIR_PATH", default="//supple", description="Where the bake lies; baking again makes only what changed")
    program: StringProperty(name="Program", subtype="FILE_PATH", description="supple; empty: as in the add-on's preferences, else from PATH")
    action: PointerProperty(name="Action", type=bpy.types.Action, description="Bake this action over its frames; empty: the scene's frames as they are")
    look: EnumProperty(name="Look", default="soft", items=[("firm", "Firm", "6 Hz, dies away fast"), ("soft", "Soft", "3.5 Hz"), ("jelly", "Jelly", "2.5 Hz, rings")])
    amount: FloatProperty(name="Amount", default=1.0, min=0.01, max=100.0, soft_max=4.0, description="Motion so many times as large")
    frequency: FloatProperty(name="Frequency", default=0.0, min=0.0, max=1000.0, description="Of the lowest motion of thick flesh, Hz; 0: by the look")
    damping: FloatProperty(name="Damping", default=0.0, min=0.0, max=10.0, description="Ratio at the lowest frequency; 0: by the look")
    joints: CollectionProperty(type=SuppleJoint)
    joint: IntProperty()
    paint: StringProperty(name="Stiff group", description="A vertex group: where it is painted the flesh is stiffer")
    paint_factor: FloatProperty(name="Factor", default=10.0, min=0.01, max=10000.0, description="How many times as stiff weight 1 is")
    bound: FloatProperty(name="Bound", default=3.0, min=0.0, max=100.0, description="A shot with a frame that is off by more than this (in % of the motion) is played in the full space; 0: none is")
    road: EnumProperty(name="Road", default="MODEL", items=[
        ("FAST", "Fast", "Skinning modes: within seconds, coarser"), ("MODEL", "Model", "A model of the character, that other actions can be baked on"),
        ("FULL", "Full", "Every frame in the full space: exact")])
    tets: IntProperty(name="Tets", default=0, min=0, max=1000000, description="How fine the flesh is; 0: supple's default")
    model: StringProperty(name="Model", subtype="FILE_PATH", description="NAME.model.npz of an earlier bake: this shot is played on it, and nothing of it is made again")
    also: StringProperty(name="Also write", description="Caches for other programs: abc, usda, glb, pc2, mdd, obj, html")
    more: StringProperty(name="More options", description="Further words for supple bake, such as --settle --preroll 1")


class SuppleOnAddon(bpy.types.AddonPreferences):
    bl_idname = __name__
    program: StringProperty(name="supple", subtype="FILE_PATH", description="The program supple; empty: from PATH")

    def draw(self, context):
        self.layout.prop(self, "program")


class SUPPLE_UL_joints(bpy.types.UIList):
    def draw_item(self, context, layout, data, item, icon, active_data, active_property):
        row = layout.row(align=True)
        row.prop(item, "name", text="", emboss=False, icon="BONE_DATA")
        row.prop(item, "kind", text="")
        if item.kind in ("SOFT", "STIFF"):
            row.prop(item, "factor", text="")


class SUPPLE_PT_panel(bpy.types.Panel):
    bl_label, bl_idname, bl_space_type, bl_region_type, bl_category = "supple", "SUPPLE_PT_panel", "VIEW_3D", "UI", "supple"

    def draw(self, context):
        layout, settings = self.layout, context.scene.supple
        layout.use_property_split = True
        try:
            rig, objects = character(context)
            layout.label(text="%s: %s" % (rig.name, ", ".join(o.name for o in objects)), icon="ARMATURE_DATA")
        except Trouble as trouble:
            layout.label(text=str(trouble), icon="INFO")
        column = layout.column()
        column.prop(settings, "look")
        column.prop(settings, "amount")
        column.prop(settings, "road")
        column.prop(settings, "action")
        column.prop(settings, "folder")
        row = layout.row()
        row.template_list("SUPPLE_UL_joints", "", settings, "joints", settings, "joint", rows=3)
        column = row.column(align=True)
        column.operator("supple.joint", text="", icon="ADD").remove = False
        sub = column.column()
        sub.enabled = len(settings.joints) > 0
        sub.operator("supple.joint", text="", icon="REMOVE").remove = True
        if running and running.ended is None:
            row = layout.row()
            row.label(text="stopping" if running.cancelled else "%s: %.0f %%" % (running.shot, running.percent), icon="TIME")
            row.operator("supple.cancel", icon="CANCEL")
        else:
            layout.operator("supple.bake", icon="PHYSICS")
            if running and running.ended and not running.cancelled:
                layout.label(text=running.sentence(), icon="ERROR")
        row = layout.row(align=True)
        row.operator("supple.take_off")
        row.operator("supple.apply")


class SUPPLE_PT_more(bpy.types.Panel):
    bl_label, bl_parent_id, bl_options = "More", "SUPPLE_PT_panel", {"DEFAULT_CLOSED"}
    bl_space_type, bl_region_type, bl_category = "VIEW_3D", "UI", "supple"

    def draw(self, context):
        self.layout.use_property_split = True
        for name in ("frequency", "damping", "paint", "paint_factor", "bound", "tets", "model", "also", "more", "program"):
            self.layout.prop(context.scene.supple, name)


classes = (SuppleJoint, SuppleSettings, SuppleOnAddon, SUPPLE_OT_bake, SUPPLE_OT_cancel, SUPPLE_OT_apply, SUPPLE_OT_take_off, SUPPLE_OT_joint,
           SUPPLE_UL_joints, SUPPLE_PT_panel, SUPPLE_PT_more)


def register():
    for each in classes:
        bpy.utils.register_class(each)
    bpy.types.Scene.supple = PointerProperty(type=SuppleSettings)
    atexit.register(stop_at_exit)


def unregister():
    stop_at_exit()
    atexit.unregister(stop_at_exit)
    del bpy.types.Scene.supple
    for each in reversed(classes):
        bpy.utils.unregister_class(each)


if __name__ == "__main__":
    register()
