#!/usr/bin/python3
"""Writes the small sound files of tests/corpus/ anew: make_corpus.py FOLDER. What fuzzing found stands beside them."""
import base64
import io
import json
import os
import struct
import sys
import zipfile

import numpy as np

import gltf_variants
import make_gltf
import make_ply
import make_usdc
import rig_files

OBJ = {"polygons": "# quads and a triangle\no box\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\nvt 0 0\nvt 1 0\nvt 1 1\n"
                   "vt 0 1\nf 4/4 3/3 2/2 1/1\nf 5/1 6/2 7/3 8/4\nf 1/1 2/2 6/3 5/4\nf 3/1 4/2 8/3\nf -8/-4 -4/-3 -1/-2 -5/-1\no cap\nv 0 2 0\nf 4/1 9/2 3/3\n",
       "colours": "v 0 0 0 1 0 0\r\nv 1e0 0 .0 0 1 0\r\nv 0 1 -0 0 0 1\r\nvn 0 0 1\r\nvt 0.5\r\ns off\r\ng group\r\nusemtl m\r\nf 1//1 2//1 \\\r\n3//1\r\nl 1 2\r\n",
       "looks": "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\ng a b\nusemtl red\nf 1 3 2\ng default\nusemtl\nf 1 2 4\ng b\nusemtl two words\nf 1 4 3\nf 2 3 4\n"}
CSV = {"curves": "# curves\ntime,knee.rx,knee.ty,hip.sx,smile\n0,0,0,1,0\n0.5,1e-1,.2,1.5,1\n1,-0.3,1,2,0.25\n",
       "frames": "frame;knee.rz\n1001;0\n1002;0.5\n1010;1\n", "plain": "1 2 3\n4\t5 6\n"}
TET = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "<f4")
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]], "<i4")


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "wb").write(data.encode() if isinstance(data, str) else data)


def npz(path, kind, method, **arrays):
    with zipfile.ZipFile(path, "w", method) as out:
        def add(name, data):
            out.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, method)
        for name, values in arrays.items():
            raw = io.BytesIO()
            np.lib.format.write_array(raw, np.asarray(values))
            add(name + ".npy", raw.getvalue())
        add("meta.json", json.dumps({"kind": kind, "version": 1, "fps": 24, "frame_start": 0, "param_names": ["a"]}))


def glb(path):
    g = json.load(open(path))
    blob = base64.b64decode(g["buffers"][0].pop("uri").split(",")[1])
    blob += b"\0" * (-len(blob) % 4)
    text = json.dumps(g, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    return b"glTF" + struct.pack("<III", 2, 28 + len(text) + len(blob), len(text)) + b"JSON" + text + struct.pack("<I", len(blob)) + b"BIN\0" + blob


def main():
    folder = sys.argv[1]
    at = lambda *names: os.path.join(folder, *names)
    for name, text in OBJ.items():
        write(at("obj", name + ".obj"), text)
    for name, text in CSV.items():
        write(at("csv", name + ".csv"), text)
    frames = [TET, TET + np.float32([0.1, 0, 0]), TET * np.float32(1.1)]
    write(at("pc2", "tet.pc2"), b"POINTCACHE2\0" + struct.pack("<iiffi", 1, 4, 1001.0, 1.0, 3) + b"".join(f.astype("<f4").tobytes() for f in frames))
    write(at("pc2", "still.pc2"), b"POINTCACHE2\0" + struct.pack("<iiffi", 1, 4, 0.0, 0.5, 1) + TET.tobytes())
    # positions at the end of single precision: once too large for the animation that import wrote
    write(at("pc2", "huge.pc2"), b"POINTCACHE2\0" + struct.pack("<iiffi", 1, 4, 0.0, 1.0, 2) + (TET * np.float32(3e38)).astype("<f4").tobytes() * 2)
    write(at("mdd", "tet.mdd"), struct.pack(">ii3f", 3, 4, 0, 1 / 24, 2 / 24) + b"".join(f.astype(">f4").tobytes() for f in frames))
    write(at("mdd", "still.mdd"), struct.pack(">ii1f", 1, 4, 0) + TET.astype(">f4").tobytes())
    anim = dict(points=np.array(frames, "<f4"), root=np.tile(np.eye(4), (3, 1, 1)), neutral=TET.astype("<f8"), triangles=FACES,
                face_counts=np.full(4, 3, "<i4"), face_indices=FACES.ravel(), source_vertex=np.arange(4, dtype="<i4"), times=np.arange(3) / 24.,
                params=np.zeros((3, 1)))
    write(at("npz", "f8.npy"), b"")
    npz(at("npz", "stored.npz"), "supple.anim", zipfile.ZIP_STORED, **anim)
    npz(at("npz", "deflated.npz"), "supple.anim", zipfile.ZIP_DEFLATED, **anim)
    npz(at("npz", "tet.npz"), "supple.tet", zipfile.ZIP_DEFLATED, vertices=TET.astype("<f8"), tets=np.array([[0, 1, 2, 3]], "<i4"), surface=FACES,
        fixed=np.array([0], "<i4"), embed_tet=np.zeros(1, "<i4"), embed_bary=np.array([[1., 0, 0, 0]]), shepard_index=np.zeros((4, 1), "<i4"),
        shepard_weight=np.ones((4, 1)))
    np.save(at("npz", "f8.npy"), np.arange(6.).reshape(2, 3))
    np.save(at("npz", "fortran.npy"), np.asfortranarray(np.arange(6, dtype="<f4").reshape(2, 3)))
    np.save(at("npz", "i1.npy"), np.arange(5, dtype="i1"))
    points, polygons = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0)], [(0, 1, 4, 2), (0, 3, 1), (1, 3, 4)]
    for kind in ("ascii", "little", "big"):
        write(at("ply", kind + ".ply"), b"")
        make_ply.write(at("ply", kind + ".ply"), points, polygons, kind, [(255, 0, 0), (0, 255, 0), (0, 0, 255), (1, 2, 3), (9, 9, 9)],
                       [(0, 0), (1, 0), (0, 1), (0, 0), (1, 1)])
    make_ply.write(at("ply", "plain.ply"), points, polygons)
    for kind in ("hard", "odd"):
        write(at("gltf", kind + ".gltf"), b"")
        {"hard": make_gltf.hard, "odd": make_gltf.odd}[kind](at("gltf", kind + ".gltf"))
        write(at("gltf", kind + ".glb"), glb(at("gltf", kind + ".gltf")))
    os.remove(at("gltf", "hard.gltf"))
    gltf_variants.RINGS, gltf_variants.FRAMES = 5, 3
    for name, options in (("sparse", {"sparse": True}), ("meshopt-0", {"how": "EXT", "quantized": True, "filtered": True, "weights": "u1"}),
                          ("meshopt-1", {"how": "KHR", "sparse": True}), ("draco", {"packed": True})):
        gltf_variants.character(at("gltf", name + ".glb"), **options)
    rig_files.RINGS, rig_files.FRAMES, rig_files.CLIPS = 2, 2, 1
    for kind in ("fbx-text", "fbx-text-dual", "fbx-blend", "fbx-pivot", "fbx-materials-shapes", "collada", "collada-z", "collada-materials"):
        write(at("fbx" if kind.startswith("fbx") else "collada", kind + (".fbx" if kind.startswith("fbx") else ".dae")), rig_files.data(kind))
    for kind in ("usd", "usd-shapes"):
        write(at("usda", kind + ".usda"), rig_files.data(kind))
    for minor in (4, 8):
        write(at("usdc", "packed-%d.usdc" % minor), b"")
        make_usdc.layer(open(at("usdc", "packed-%d.usdc" % minor), "wb"), minor)
    make_usdc.package(at("usdc", "package.usdz"))


if __name__ == "__main__":
    main()
