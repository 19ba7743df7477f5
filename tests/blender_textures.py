"""Run by Blender: blender -b ... --python blender_textures.py -- FILE.json EXPECTED.npy TOLERANCE
Reads the positions' texture that supple export wrote by Blender's own image reader; EXPECTED stands in centimetres with z up."""
import json
import os
import sys

import bpy
import numpy as np

path, expected, tolerance = sys.argv[sys.argv.index("--") + 1:]
doc, expected = json.load(open(path)), np.load(expected)


def texture(what):
    image = bpy.data.images.load(os.path.join(os.path.dirname(os.path.abspath(path)), doc[what]["file"]))
    image.colorspace_settings.name = "Non-Color"
    width, height = image.size
    texels = np.empty(4 * width * height, np.float32)
    image.pixels.foreach_get(texels)
    texels = texels.reshape(height, width, 4)[::-1, :, :3].reshape(doc["frames"], -1, 3)[:, :doc["vertices"]]
    return texels * np.array(doc[what]["scale"]) + np.array(doc[what]["offset"])


world = texture("positions")
world = np.stack([world[..., 0], -world[..., 2], world[..., 1]], -1) * 100
worst = np.abs(world - expected).max()
normals = np.abs(np.linalg.norm(texture("normals"), axis=2) - 1).max()
print("largest difference %.3g, normals of unit length to %.2g" % (worst, normals))
sys.exit(0 if worst < float(tolerance) and normals < 2e-3 else 3)
