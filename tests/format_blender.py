"""Run by Blender for scripts/check-formats: blender -b ... --python format_blender.py -- JOBS.json
A job is {client, file, out, ...}: `obj`, `glb` (frames [numbers], fps): what the importer shows; `cache` (file, obj, frames): a point cache by the Mesh Cache modifier;
`image`: pixels of a picture; `write` (folder): writes a moving mesh as OBJ and PLY sequences, FBX and glTF, for supple to read; `awkward` (folder, case): a rig that is hard to read as FBX and glTF. What was read goes to `out` as
JSON: meshes [{name, frames [[x y z of each vertex, in Blender's world]], faces, uv (of each corner)}], or {error}."""
import json
import os
import sys

import bpy
import numpy as np

if "bool" not in vars(np):
    np.bool = bool   # Debian 12's glTF add-on is older than its NumPy


def world(object_):
    evaluated = object_.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    points = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", points)
    matrix = np.array(evaluated.matrix_world, float)
    evaluated.to_mesh_clear()
    return points.reshape(-1, 3).astype(float) @ matrix[:3, :3].T + matrix[:3, 3]


def described(objects, frames):
    out = []
    for o in objects:
        layer = o.data.uv_layers.active
        out.append({"name": o.data.name, "frames": [], "faces": [list(p.vertices) for p in o.data.polygons],
                    "uv": [list(layer.data[i].uv) for p in o.data.polygons for i in p.loop_indices] if layer else None})
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        for found, o in zip(out, objects):
            found["frames"].append(world(o).ravel().tolist())
    return {"meshes": out}


def meshes():
    return [o for o in bpy.data.objects if o.type == "MESH"]


def obj(job):
    bpy.ops.wm.obj_import(filepath=job["file"], forward_axis="Y", up_axis="Z")
    return described(bpy.context.selected_objects, [0])


def glb(job):
    bpy.context.scene.render.fps = round(job["fps"])
    bpy.ops.import_scene.gltf(filepath=job["file"])
    return described([o for o in meshes() if o.name in job["names"] or o.data.name in job["names"]], job["frames"])


def cache(job):
    bpy.ops.wm.obj_import(filepath=job["obj"], forward_axis="Y", up_axis="Z")
    body = bpy.context.selected_objects[0]
    modifier = body.modifiers.new("cache", "MESH_CACHE")
    modifier.cache_format, modifier.filepath = job["file"][-3:].upper(), job["file"]
    modifier.forward_axis, modifier.up_axis = "POS_Y", "POS_Z"
    modifier.time_mode, modifier.frame_start, modifier.frame_scale = "FRAME", job["frames"][0], 1.0
    return described([body], job["frames"])


def image(job):
    picture = bpy.data.images.load(job["file"])
    picture.colorspace_settings.name = "Non-Color"
    return {"width": picture.size[0], "height": picture.size[1], "data": list(picture.pixels)}


def write(job):
    """Quads and triangles with UV on two bones, and a smaller mesh beside it."""
    at = lambda name: os.path.join(job["folder"], name)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end, scene.render.fps = 1, 8, 24
    bpy.ops.mesh.primitive_cylinder_add(vertices=12, radius=0.3, depth=2, location=(0, 0, 1), end_fill_type="TRIFAN", calc_uvs=True)
    body = bpy.context.object
    body.name = body.data.name = "body"
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.subdivide(number_cuts=2)
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.object.transform_apply(location=True)
    bpy.ops.object.armature_add()
    rig = bpy.context.object
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    bones[0].name, bones[0].head, bones[0].tail = "low", (0, 0, 0), (0, 0, 1)
    tip = bones.new("tip")
    tip.head, tip.tail, tip.parent = (0, 0, 1), (0, 0, 2), bones["low"]
    bpy.ops.object.mode_set(mode="POSE")
    for name, last in (("low", (0.2, 0.3, 0.5)), ("tip", (0.9, -0.3, 0.4))):
        bone = rig.pose.bones[name]
        bone.rotation_mode = "XYZ"
        for frame, turn in ((1, (0, 0, 0)), (8, last)):
            bone.rotation_euler = turn
            bone.keyframe_insert("rotation_euler", frame=frame)
    bpy.ops.object.mode_set(mode="OBJECT")
    for name in ("low", "tip"):
        group = body.vertex_groups.new(name=name)
        for v in body.data.vertices:
            weight = min(max(v.co.z - 0.5, 0), 1)
            group.add([v.index], weight if name == "tip" else 1 - weight, "REPLACE")
    body.modifiers.new("Armature", "ARMATURE").object = rig
    body.parent = rig
    for name, run in (("fbx", lambda f: bpy.ops.export_scene.fbx(filepath=f, add_leaf_bones=False, bake_anim_simplify_factor=0.0)),
                      ("glb", lambda f: bpy.ops.export_scene.gltf(filepath=f, export_frame_range=True)),
                      ("gltf", lambda f: bpy.ops.export_scene.gltf(filepath=f, export_frame_range=True, export_format="GLTF_SEPARATE"))):
        run(at("blender." + name))
    found = described([body], range(1, 9))
    for frame in range(1, 9):
        scene.frame_set(frame)
        bpy.ops.wm.obj_export(filepath=at("blender.%04d.obj" % frame), forward_axis="Y", up_axis="Z", export_materials=False)
        bpy.ops.object.select_all(action="DESELECT")
        bpy.context.view_layer.objects.active = body
        body.select_set(True)
        bpy.ops.export_mesh.ply(filepath=at("blender.%04d.ply" % frame), use_ascii=False, use_selection=True, use_uv_coords=False, use_normals=False,
                                use_colors=False, axis_forward="Y", axis_up="Z")
    return found


def tube(name, rig, beside=0.0):
    bpy.ops.mesh.primitive_cylinder_add(vertices=9, radius=0.3, depth=2, location=(beside, 0, 1), end_fill_type="TRIFAN")
    o = bpy.context.object
    o.name = o.data.name = name
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.subdivide(number_cuts=2)
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.object.transform_apply(location=True)
    for bone in ("low", "tip"):
        group = o.vertex_groups.new(name=bone)
        for v in o.data.vertices:
            weight = min(max(v.co.z - 0.5, 0), 1)
            group.add([v.index], weight if bone == "tip" else 1 - weight, "REPLACE")
    o.modifiers.new("Armature", "ARMATURE").object = rig
    o.parent = rig
    return o


def awkward(job):
    """Two bones with rolls that turn, move and grow, and what the case says above, below or beside them."""
    case, scene = job["case"], bpy.context.scene
    first, last = (-5, 6) if case == "units" else (1, 10)
    keys = ((first, 0), ((first + last) // 2, 1), (last, -0.4))
    scene.frame_start, scene.frame_end = first, last
    if case == "units":
        scene.render.fps, scene.render.fps_base, scene.unit_settings.scale_length = 24, 1.001, 0.01
    bpy.ops.object.armature_add()
    rig = bpy.context.object
    rig.name = "rig"
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    bones[0].name, bones[0].head, bones[0].tail, bones[0].roll = "low", (0, 0, 0), (0, 0, 1), 0.4
    tip = bones.new("tip")
    tip.head, tip.tail, tip.parent, tip.roll = (0, 0, 1), (0.2, 0, 2), bones["low"], 1.1
    bpy.ops.object.mode_set(mode="POSE")
    for name, turn, grown, moved in (("low", (0.2, 0.3, 0.5), (1.3, 0.8, 1.1) if case == "bones" else (1, 1, 1), (0.3, 0.1, -0.2)), ("tip", (0.9, -0.3, 0.4), (1.2, 1.2, 1.2), (0, 0, 0))):
        bone = rig.pose.bones[name]
        bone.rotation_mode = "XYZ"
        for frame, share in keys:
            bone.rotation_euler = [share * x for x in turn]
            bone.keyframe_insert("rotation_euler", frame=frame)
        for frame, share in ((first, 0), (last, 1)):
            bone.scale, bone.location = [1 + share * (x - 1) for x in grown], [share * x for x in moved]
            bone.keyframe_insert("scale", frame=frame), bone.keyframe_insert("location", frame=frame)
    bpy.ops.object.mode_set(mode="OBJECT")
    objects = [tube("body", rig)]
    if case == "stepped":
        for curve in rig.animation_data.action.fcurves:
            for key in curve.keyframe_points:
                key.interpolation = "CONSTANT"
    if case == "scaled":
        rig.scale, rig.rotation_euler, rig.location = (0.5, 0.5, 0.5), (0.4, 0.2, 0.9), (1, 2, 0.5)
    if case == "uneven":
        rig.scale, rig.rotation_euler = (0.5, 1.2, 0.8), (0.1, 0.2, 0.3)
    if case == "mirrored":
        rig.scale, rig.location = (-1, 1, 1), (0.5, 0, 0)
    if case == "parent":
        bpy.ops.object.empty_add(location=(1, 0, 2))
        rig.parent = parent = bpy.context.object
        parent.scale, parent.rotation_euler = (2, 2, 2), (0, 0, 1)
        for frame, place in ((first, (1, 0, 2)), (last, (2, 1, 2))):
            parent.location = place
            parent.keyframe_insert("location", frame=frame)
    if case == "shared":
        objects.append(tube("other", rig, 1.5))
        bpy.ops.mesh.primitive_cube_add(size=0.3)
        prop = bpy.context.object
        prop.name = prop.data.name = "prop"
        prop.parent, prop.parent_type, prop.parent_bone, prop.scale, prop.location = rig, "BONE", "tip", (1, 2, 0.5), (0.1, 0, 0.2)
        objects.append(prop)
    if case == "shapes":
        body, = objects
        body.shape_key_add(name="Basis")
        bulge = body.shape_key_add(name="bulge")
        for i, v in enumerate(body.data.vertices):
            bulge.data[i].co = v.co * (1.4 if 0.4 < v.co.z < 1.4 else 1.0)
        for frame, share in keys:
            bulge.value = max(share, 0.2)
            bulge.keyframe_insert("value", frame=frame)
    found = described(objects, range(first, last + 1))
    scene.frame_set(first)
    at = os.path.join(job["folder"], "awkward-" + case)
    bpy.ops.export_scene.fbx(filepath=at + ".fbx", add_leaf_bones=False, bake_anim_simplify_factor=0.0)
    bpy.ops.export_scene.gltf(filepath=at + ".glb", export_frame_range=True)
    return found


for job in json.load(open(sys.argv[sys.argv.index("--") + 1])):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    try:
        found = globals()[job["client"]](job)
    except Exception as error:
        found = {"error": str(error).strip().split("\n")[-1]}
    json.dump(found, open(job["out"], "w"))
