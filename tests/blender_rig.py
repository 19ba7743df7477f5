"""Run by Blender: blender -b ... --python blender_rig.py: writes rich.fbx and rich.glb, of a body of two materials with a shape key, on bones that
turn, move and stretch, an eye on a bone, all below an armature that is turned and scaled by 0.01; and want.json, {object: [frame]
[vertex][xyz]} of the dependency graph."""
import json

import bpy

LAST = 12
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.mesh.primitive_cylinder_add(vertices=12, radius=20, depth=200, location=(0, 0, 100), end_fill_type="NGON")
body = bpy.context.object
body.name = "Body"
bpy.ops.object.mode_set(mode="EDIT")
bpy.ops.mesh.subdivide(number_cuts=2)
bpy.ops.object.mode_set(mode="OBJECT")
bpy.ops.object.transform_apply(location=True)
for name in ("red", "blue"):
    body.data.materials.append(bpy.data.materials.new(name))
for i, polygon in enumerate(body.data.polygons):
    polygon.material_index = i % 2
body.shape_key_add(name="Basis")
fat = body.shape_key_add(name="fat")
for v in fat.data:
    v.co.x, v.co.y = 1.3 * v.co.x, 1.1 * v.co.y
for frame, value in ((1, 0.0), (LAST, 1.0)):
    fat.value = value
    fat.keyframe_insert("value", frame=frame)

bpy.ops.object.armature_add()
rig = bpy.context.object
rig.name = "Rig"
bpy.ops.object.mode_set(mode="EDIT")
bones = rig.data.edit_bones
bones[0].name, bones[0].head, bones[0].tail = "low", (0, 0, 0), (0, 0, 100)
tip = bones.new("tip")
tip.head, tip.tail, tip.parent, tip.roll = (0, 0, 100), (0, 10, 200), bones["low"], 0.4
bpy.ops.object.mode_set(mode="POSE")
for name, first, last in (("low", (0, 0, 0.2), (0.1, 0.3, 0.9)), ("tip", (0.1, 0, 0), (0.9, -0.3, 0.4))):
    bone = rig.pose.bones[name]
    bone.rotation_mode = "XYZ"
    for frame, euler in ((1, first), (LAST, last)):
        bone.rotation_euler = euler
        bone.location = (0, frame, 0) if name == "low" else (0, 0, 0)
        bone.scale = (1, 1 + 0.01 * frame, 1) if name == "tip" else (1, 1, 1)
        for what in ("rotation_euler", "location", "scale"):
            bone.keyframe_insert(what, frame=frame)
bpy.ops.object.mode_set(mode="OBJECT")
body.parent = rig
for name in ("low", "tip"):
    group = body.vertex_groups.new(name=name)
    for v in body.data.vertices:
        weight = min(max((v.co.z - 60) / 80, 0), 1)
        weight = weight if name == "tip" else 1 - weight
        if weight > 0:
            group.add([v.index], weight, "REPLACE")
body.modifiers.new("Armature", "ARMATURE").object = rig
bpy.ops.mesh.primitive_uv_sphere_add(segments=8, ring_count=6, radius=10, location=(15, 20, 190))
eye = bpy.context.object
eye.name = "Eye"
bpy.ops.object.transform_apply(location=False)
eye.parent, eye.parent_type, eye.parent_bone = rig, "BONE", "tip"
rig.scale, rig.rotation_euler, rig.location = (0.01, 0.01, 0.01), (0, 0, 0.5), (1, 2, 0)

scene, want = bpy.context.scene, {"Body": [], "Eye": []}
scene.frame_start, scene.frame_end, scene.render.fps = 1, LAST, 24
for frame in range(1, LAST + 1):
    scene.frame_set(frame)
    graph = bpy.context.evaluated_depsgraph_get()
    for thing in (body, eye):
        evaluated = thing.evaluated_get(graph)
        mesh = evaluated.to_mesh()
        want[thing.name].append([tuple(evaluated.matrix_world @ v.co) for v in mesh.vertices])
        evaluated.to_mesh_clear()
json.dump(want, open("want.json", "w"))
bpy.ops.export_scene.fbx(filepath="rich.fbx", add_leaf_bones=False, bake_anim_simplify_factor=0.0)
bpy.ops.export_scene.gltf(filepath="rich.glb", export_frame_range=True)
