"""examples/blender_live.py in Blender without a window: blender -b --python this -- EXAMPLES GLB MODEL ANIM FLESH.npy

FLESH: the skin by `supple sim` of that shot (frames, vertices, 3). Checks that the rig is read as `supple import` reads it, that the flesh
that comes of it is the bake's but for how the rig goes between frames, and that the panel's settings act while it plays.
"""
import os
import sys

import bpy
import numpy as np

examples, glb, model, anim, flesh = sys.argv[sys.argv.index("--") + 1:]
sys.path.insert(0, examples)
import blender_live  # noqa: E402

np.bool = bool   # Debian's importer of glTF 3.4 is older than its numpy
scene = bpy.context.scene
scene.render.fps = 30   # before the import, which turns seconds into frames
bpy.ops.object.select_all(action="SELECT")
bpy.ops.object.delete()
bpy.ops.import_scene.gltf(filepath=glb)
arrays, want = np.load(anim), np.load(flesh)
armature = next(o for o in bpy.data.objects if o.type == "ARMATURE")
mesh = next(o for o in bpy.data.objects if o.type == "MESH" and o.modifiers)
clip = os.path.basename(anim).split(".")[0]
armature.animation_data.action = next(a for a in bpy.data.actions if a.name.startswith(clip))
for track in armature.animation_data.nla_tracks:
    track.mute = True
first = round(armature.animation_data.action.frame_range[0])
scene.frame_set(first)
blender_live.register()
preview = blender_live.start(mesh, model, anim)
size = np.linalg.norm(arrays["neutral"].max(0) - arrays["neutral"].min(0))


def check(name, good, detail=""):
    print("%s - blender: %s%s" % ("ok" if good else "not ok", name, "" if good else " # %s" % detail))


def shown():
    flat = np.empty(3 * len(preview.shown.data.vertices), np.float32)
    preview.shown.data.vertices.foreach_get("co", flat)
    return flat.reshape(-1, 3) @ blender_live.Z_UP


names = [n for n in bpy.data.objects.keys()]
rig_error = parameter_error = 0.0
import json, zipfile  # noqa: E401, E402
columns = json.loads(zipfile.ZipFile(anim).read("meta.json"))["param_names"]
known = [k for k, n in enumerate(preview.flesh.parameters) if n in columns and ".r" in n]
frames = []
for f in range(len(want)):
    scene.frame_set(first + f)
    p, x, root = preview.last
    rig_error = max(rig_error, np.abs(x - arrays["points"][f][preview.flesh.needed]).max(), np.abs(root - arrays["root"][f]).max())
    parameter_error = max(parameter_error, max(abs(p[k] - arrays["params"][f][columns.index(preview.flesh.parameters[k])]) for k in known))
    frames.append(shown()[preview.rig.welded])
check("root and points are import's to 1e-5 of the diagonal", rig_error < 1e-5 * size, rig_error)
check("parameters are import's to 1e-4", parameter_error < 1e-4, parameter_error)
rig = np.einsum("fij,fvj->fvi", arrays["root"][:, :3, :3], arrays["points"]) + arrays["root"][:, None, :3, 3]
moved, off = np.sqrt(((want - rig) ** 2).mean()), np.sqrt(((np.array(frames) - want) ** 2).mean())
# It starts at rest on the rig where sim starts with the rig's velocity, and the rig goes straight between frames.
check("the flesh moves as in the bake, to a tenth of its motion", 0 < off < 0.1 * moved, "%g of %g" % (off, moved))
scene.frame_set(first)
scene.supple_live.stiffness = 4
for f in range(len(want)):
    scene.frame_set(first + f)
    if f == 40:
        stiff = np.abs(shown()[preview.rig.welded] - frames[40]).max()
check("stiffness of the panel acts", stiff > 1e-3 * size, stiff)
blender_live.stop()
check("stopped, the character is as before", "supple live" not in bpy.data.objects and not mesh.hide_get())
