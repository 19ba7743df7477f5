"""Run by Blender: blender -b ... --python blender_glb.py -- GLB EXACT.npy DISPLACEMENT.npy ANIM.npz FPS LIMIT
Imports GLB and compares its meshes at every frame with EXACT (frames, vertices, 3; metres, y up): off by at most LIMIT of
DISPLACEMENT (RMS). The armature must have a bone for each joint."""
import os
import sys

import bpy
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from skinned_glb import Glb

if "bool" not in vars(np): np.bool = bool   # Debian 12's add-on is older than its NumPy
path, exact, displacement, anim, fps, limit = sys.argv[sys.argv.index("--") + 1:]
glb, exact, displacement, anim = Glb(path), np.load(exact), np.load(displacement), np.load(anim)
bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
scene.render.fps = round(float(fps))
bpy.ops.import_scene.gltf(filepath=path)
bones = {bone.name for o in bpy.data.objects if o.type == "ARMATURE" for bone in o.data.bones}
for skin in glb.doc.get("skins", []):
    assert {glb.doc["nodes"][j]["name"] for j in skin["joints"]} <= bones, bones
objects = anim["object_ids"]
order = [own for own in (np.flatnonzero(objects == o) for o in range(objects.max() + 1)) if len(own)]
# Blender drops vertices without faces, and each primitive (one a material) gets its own, ascending.
corners = [np.concatenate([np.unique(glb.get(p["indices"]).astype(int)) for p in mesh["primitives"]]) for mesh in glb.doc["meshes"]]
meshes = [next(o for o in bpy.data.objects if o.type == "MESH" and o.data.name == mesh["name"]) for mesh in glb.doc["meshes"]]
square = largest = 0.0
for k in range(len(exact)):
    scene.frame_set(k)
    graph = bpy.context.evaluated_depsgraph_get()
    for body, own, corner in zip(meshes, order, corners):
        evaluated = body.evaluated_get(graph)
        mesh = evaluated.to_mesh()
        points = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.vertices.foreach_get("co", points)
        matrix = np.array(evaluated.matrix_world)
        points = points.reshape(-1, 3).astype(float) @ matrix[:3, :3].T + matrix[:3, 3]
        points = np.stack([points[:, 0], points[:, 2], -points[:, 1]], 1)   # z up to y up
        assert len(points) == len(corner)
        known = corner < len(own)   # behind them vertices are split by texture coordinates
        error = points[known] - exact[k][own[corner[known]]]
        square += (error ** 2).sum()
        largest = max(largest, np.sqrt((error ** 2).sum(1)).max())
        evaluated.to_mesh_clear()
relative = np.sqrt(square / (displacement ** 2).sum())
print("largest difference %.3g m, %.3g %% of the flesh's motion, over %d frames" % (largest, 100 * relative, len(exact)))
sys.exit(0 if relative < float(limit) else 3)
