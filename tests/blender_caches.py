"""Run by Blender: blender -b ... --python blender_caches.py -- OBJ CACHE EXPECTED.npy FIRST_FRAME
Puts CACHE (PC2 or MDD) on the imported OBJ by the Mesh Cache modifier and compares with EXPECTED at every frame."""
import sys

import bpy
import numpy as np

obj, cache, expected, first = sys.argv[sys.argv.index("--") + 1:]
expected, first = np.load(expected), int(first)
bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
scene.render.fps = 24
bpy.ops.wm.obj_import(filepath=obj, forward_axis="Y", up_axis="Z")
body = bpy.context.selected_objects[0]
assert len(body.data.vertices) == expected.shape[1], len(body.data.vertices)
modifier = body.modifiers.new("cache", "MESH_CACHE")
modifier.cache_format = "MDD" if cache.endswith("mdd") else "PC2"
modifier.filepath = cache
modifier.forward_axis, modifier.up_axis = "POS_Y", "POS_Z"
modifier.time_mode, modifier.frame_start, modifier.frame_scale = "FRAME", first, 1.0
worst = 0.0
for k in range(len(expected)):
    scene.frame_set(first + k)
    evaluated = body.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    points = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", points)
    worst = max(worst, float(np.abs(points.reshape(-1, 3) - expected[k]).max()))
    evaluated.to_mesh_clear()
print("largest difference %.3g over %d frames" % (worst, len(expected)))
sys.exit(0 if worst < 1e-5 * np.abs(expected).max() else 3)
