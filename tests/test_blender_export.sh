#!/bin/sh
# A rig made in Blender, exported by scripts/blender/supple_export.py and imported: positions and parameters arrive.
. "$(dirname "$0")/tap.sh"
timeout 60 blender --version >/dev/null 2>&1 || skip_all "a rig out of Blender" "no blender"
need_numpy "a rig out of Blender"
cat >rig.py <<'PY'
import bpy, os
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.mesh.primitive_grid_add(x_subdivisions=2, y_subdivisions=8, size=1)
body = bpy.context.object
body.name, body.scale = "Body", (0.3, 2, 1)
bpy.ops.object.transform_apply(scale=True)
bpy.ops.object.armature_add(location=(0, -1, 0))
rig = bpy.context.object
bpy.ops.object.mode_set(mode="EDIT")
bones = rig.data.edit_bones
bones[0].name, bones[0].head, bones[0].tail = "low", (0, 0, 0), (0, 1, 0)
tip = bones.new("tip")
tip.head, tip.tail, tip.parent = (0, 1, 0), (0, 2, 0), bones["low"]
bpy.ops.object.mode_set(mode="POSE")
for frame, angle in ((1, 0.0), (11, 1.0)):
    bone = rig.pose.bones["tip"]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler = (angle, 0, 0)
    bone.keyframe_insert("rotation_euler", frame=frame)
for curve in rig.animation_data.action.fcurves:
    for key in curve.keyframe_points:
        key.interpolation = "LINEAR"
low = rig.pose.bones["low"]                    # a whole turn and a half about its own axis, and a step aside
low.rotation_mode = "XYZ"
for frame, angle, aside in ((1, 0.0, 0.0), (11, 9.42477796, 0.4)):
    low.rotation_euler, low.location = (0, angle, 0), (0, aside, 0)
    low.keyframe_insert("rotation_euler", frame=frame)
    low.keyframe_insert("location", frame=frame)
for curve in rig.animation_data.action.fcurves:
    for key in curve.keyframe_points:
        key.interpolation = "LINEAR"
bpy.ops.object.mode_set(mode="OBJECT")
colours = body.data.color_attributes.new("stiff", "FLOAT_COLOR", "POINT")
for v, c in zip(body.data.vertices, colours.data):
    c.color = (0.25, max(v.co.y, 0.0), 0.5, 1.0)
for name, side in (("low", -1), ("tip", 1)):
    group = body.vertex_groups.new(name=name)
    group.add([v.index for v in body.data.vertices if v.co.y * side > -1e-6], 1.0, "REPLACE")
body.modifiers.new("Armature", "ARMATURE").object = rig
bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 11
bpy.context.scene.timeline_markers.new("bent", frame=11)
bpy.ops.wm.save_as_mainfile(filepath=os.path.abspath("rig.blend"))
PY
timeout 120 blender -b --factory-startup -noaudio --python-exit-code 3 --python rig.py >log.txt 2>&1 
result=$?
[ $result = 0 ] || sed 's/^/# /' log.txt | tail -5
ok $result "a rig is made"
timeout 120 blender -b rig.blend -noaudio --python-exit-code 3 --python "$here/../scripts/blender/supple_export.py" -- --object Body --out body \
    --groups tip >log.txt 2>&1 && [ -s body.pc2 ] && [ -s body.obj ] && [ -s body.tip.csv ] && grep -q 'body:11' body.poses
ok $? "the script writes mesh, cache, parameters, groups and poses"
supple import body.pc2 --neutral body.obj --params body.params.csv --up z --rate 24 --progress none -o body.anim.npz 2>log.txt
ok $? "import reads them"
"$python" - <<'PY'
import json, zipfile
import numpy as np
a, meta = np.load("body.anim.npz"), json.loads(zipfile.ZipFile("body.anim.npz").read("meta.json"))
names, p = meta["param_names"], a["params"]
assert len(a["times"]) == 11 and names == ["low.ry", "low.ty", "tip.rx"] and meta["frame_start"] == 1, names
assert abs(p[:, 2] - np.linspace(0, 1, 11)).max() < 1e-5
assert abs(p[:, 0] - np.linspace(0, 3 * np.pi, 11)).max() < 1e-4, p[:, 0]      # unwrapped: a turn and a half
assert abs(p[:, 1] - np.linspace(0, 0.4, 11) / np.hypot(0.3, 2)).max() < 1e-5
rest = np.c_[a["neutral"][:, 0], -a["neutral"][:, 2], a["neutral"][:, 1]]      # y up to Blender's z up
for f in (0, 5, 8, 10):
    r = a["root"][f]
    world = a["points"][f].astype(float) @ r[:3, :3].T + r[:3, 3]
    t, bend = p[f, 0], p[f, 2]
    want = rest.copy()
    tip = rest[:, 1] > 1e-3
    want[tip] = rest[tip] @ np.array([[1, 0, 0], [0, np.cos(bend), -np.sin(bend)], [0, np.sin(bend), np.cos(bend)]]).T
    want = want @ np.array([[np.cos(t), 0, np.sin(t)], [0, 1, 0], [-np.sin(t), 0, np.cos(t)]]).T + [0, 0.4 * f / 10, 0]
    middle = abs(rest[:, 1]) < 1e-3                                            # shared by both bones
    assert abs(world - np.c_[want[:, 0], want[:, 2], -want[:, 1]])[~middle].max() < 1e-5, f
colour = a["color"][:, :3]
assert abs(colour[:, [0, 2]] - [0.25, 0.5]).max() < 1e-3 and abs(colour[:, 1] - np.maximum(rest[a["source_vertex"], 1], 0)).max() < 1e-3
PY
ok $? "positions, parameters and colours are those of the rig"
"$python" -c '
import numpy as np
a = np.load("body.anim.npz")
assert len(a["uv"]) == len(a["source_vertex"]) < len(a["uv_indices"]), (len(a["uv"]), len(a["source_vertex"]))' 2>log.txt
ok $? "a grid without seams has a texture coordinate a vertex"
supple poses -q body.anim.npz --at $(cat body.poses) --young color.g --young-low 1 --young-high 9 --poisson body.tip.csv --poisson-low 0.3 \
    --poisson-high 0.45 -o body.poses.npz && "$python" - <<'PY'
import numpy as np
p, a = np.load("body.poses.npz"), np.load("body.anim.npz")
y = -a["neutral"][:, 2]
assert p["shapes"].shape[0] == 2 and abs(p["young"] - (1 + 8 * np.maximum(y, 0))).max() < 1e-2
assert abs(p["poisson"][:, y > 1e-3] - 0.45).max() < 1e-6 and abs(p["poisson"][:, y < -1e-3] - 0.3).max() < 1e-6
PY
ok $? "poses takes its markers and painted maps"

# ---- Blender's own exporters against its dependency graph ----
cat >own.py <<'PY'
import bpy
bpy.ops.export_scene.fbx(filepath="rig.fbx", add_leaf_bones=False, bake_anim_simplify_factor=0.0)
bpy.ops.export_scene.gltf(filepath="rig.glb", export_frame_range=True)
bpy.ops.wm.collada_export(filepath="rig.dae")
PY
timeout 120 blender -b rig.blend -noaudio --python own.py >log.txt 2>&1
for kind in fbx glb dae; do
    if [ ! -s rig.$kind ]; then skip "Blender's $kind" "this Blender cannot write it"; continue; fi
    supple import -q rig.$kind --fps 24 --progress none -o $kind.npz 2>log.txt && "$python" - $kind.npz <<'PY'
import struct, sys
import numpy as np
raw, a = open("body.pc2", "rb").read(), np.load(sys.argv[1])
_, _, n, _, _, F = struct.unpack("<12siiffi", raw[:32])
want = np.frombuffer(raw, "<f4", offset=32).reshape(F, n, 3).astype(float)
want = np.stack([want[..., 0], want[..., 2], -want[..., 1]], -1)       # z up to y up
assert a["points"].shape[:2] == (F, n)
for f in range(F):
    r = a["root"][f]
    got = a["points"][f].astype(float) @ r[:3, :3].T + r[:3, 3]
    d = np.linalg.norm(got[:, None] - want[f][None], axis=2)
    assert max(d.min(1).max(), d.min(0).max()) < 1e-5 * 2, f
PY
    ok $? "Blender's $kind stands where Blender says"
done
timeout 120 blender -b --factory-startup -noaudio --python "$here/blender_rig.py" >log.txt 2>&1
if [ -s rich.fbx ]; then
    supple import -q rich.fbx --fps 24 --progress none -o rich.npz 2>log.txt && "$python" - <<'PY'
import json, zipfile
import numpy as np
want, a = json.load(open("want.json")), np.load("rich.npz")
meta = json.loads(zipfile.ZipFile("rich.npz").read("meta.json"))
assert meta["object_names"] == ["Body", "Eye"] and "fat" in meta["param_names"] and len(a["times"]) == 12
assert (a["rigid"][a["source_vertex"]] == a["object_ids"]).all()       # the eye only follows
for f in range(12):
    r = a["root"][f]
    got = (a["points"][f].astype(float) @ r[:3, :3].T + r[:3, 3])[a["source_vertex"]]
    w = np.vstack([want["Body"][f], want["Eye"][f]])
    assert abs(got - np.stack([w[:, 0], w[:, 2], -w[:, 1]], -1)).max() < 2e-5, f      # vertex for vertex
PY
    ok $? "an FBX of materials, shape keys, stretched bones, a prop on a bone, a scaled armature: vertex for vertex"
else
    skip "a rich FBX" "this Blender cannot write it"
fi
if [ -s rich.glb ]; then      # its exporter keeps shape keys in a clip of their own, and misplaces the eye
    supple import -q rich.glb --clip RigAction --clip KeyAction --object Body --progress none -o glb.npz 2>log.txt && "$python" - <<'PY'
import json
import numpy as np
want, a = np.array(json.load(open("want.json"))["Body"]), np.load("glb.npz")
for f in range(12):
    r = a["root"][f]
    got = a["points"][f].astype(float) @ r[:3, :3].T + r[:3, 3]
    d = np.linalg.norm(got[:, None] - np.stack([want[f][:, 0], want[f][:, 2], -want[f][:, 1]], -1)[None], axis=2)
    assert max(d.min(1).max(), d.min(0).max()) < 2e-5, f
PY
    ok $? "the same as glTF, from its two clips together"
else
    skip "a rich glTF" "this Blender cannot write it"
fi
echo "1..$count"
