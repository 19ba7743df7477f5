#!/usr/bin/env python3
"""An arm of two bones as a glTF binary, bent at its elbow: a capsule with smooth weights, and one clip, Bend.
Usage: make_arm.py OUT.glb [DEGREES [RINGS [SEGMENTS [SECONDS]]]]"""
import json, math, struct, sys

out = sys.argv[1]
degrees, rings, segments, seconds = [float(a) for a in sys.argv[2:]] + [150, 60, 32, 1.0][len(sys.argv) - 2:]
rings, segments = int(rings), int(segments)
LENGTH, RADIUS, BLEND, FPS = 0.6, 0.05, 0.05, 30  # m, m, m of the elbow's weights, frames/s

points, weights, triangles = [], [], []
profile = []  # (x, radius) from one tip to the other
caps = max(4, segments // 4)
for i in range(1, caps):
    a = math.pi / 2 * i / caps
    profile.append((-RADIUS * math.cos(a), RADIUS * math.sin(a)))
for i in range(rings + 1):
    profile.append((LENGTH * i / rings, RADIUS))
for i in range(caps - 1, 0, -1):
    a = math.pi / 2 * i / caps
    profile.append((LENGTH + RADIUS * math.cos(a), RADIUS * math.sin(a)))
points.append((-RADIUS, 0, 0))
for x, r in profile:
    for k in range(segments):
        a = 2 * math.pi * k / segments
        points.append((x, r * math.cos(a), r * math.sin(a)))
points.append((LENGTH + RADIUS, 0, 0))
last = len(points) - 1
ring = lambda i, k: 1 + i * segments + k % segments
for k in range(segments):
    triangles.append((0, ring(0, k + 1), ring(0, k)))
    triangles.append((last, ring(len(profile) - 1, k), ring(len(profile) - 1, k + 1)))
    for i in range(len(profile) - 1):
        a, b, c, d = ring(i, k), ring(i, k + 1), ring(i + 1, k + 1), ring(i + 1, k)
        triangles += [(a, b, c), (a, c, d)]
for x, y, z in points:
    s = min(max(0.5 + (x - LENGTH / 2) / (2 * BLEND), 0), 1)
    s = s * s * (3 - 2 * s)
    weights.append((1 - s, s, 0, 0))

frames = int(seconds * FPS) + 1
times, turns = [], []
for f in range(frames):
    s = min(f / (0.8 * (frames - 1)), 1)
    angle = math.radians(degrees) * s * s * (3 - 2 * s)
    times.append(f / FPS)
    turns.append((0, 0, math.sin(angle / 2), math.cos(angle / 2)))
inverse = [[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -x, 0, 0, 1] for x in (0, LENGTH / 2)]

blob, views, accessors = b'', [], []


def add(form, kind, rows, **more):
    global blob
    data = b''.join(struct.pack('<%d%s' % (len(r), form), *r) for r in rows)
    views.append({'buffer': 0, 'byteOffset': len(blob), 'byteLength': len(data)})
    blob += data + b'\0' * (-len(data) % 4)
    accessors.append({'bufferView': len(views) - 1, 'type': kind, 'count': len(rows),
                      'componentType': {'f': 5126, 'I': 5125, 'B': 5121}[form], **more})
    return len(accessors) - 1


position = add('f', 'VEC3', points, min=[min(p[i] for p in points) for i in range(3)],
               max=[max(p[i] for p in points) for i in range(3)])
joints = add('B', 'VEC4', [(0, 1, 0, 0)] * len(points))
weight = add('f', 'VEC4', weights)
index = add('I', 'SCALAR', [(v,) for t in triangles for v in t])
bind = add('f', 'MAT4', inverse)
time = add('f', 'SCALAR', [(t,) for t in times], min=[0], max=[times[-1]])
turn = add('f', 'VEC4', turns)
gltf = {
    'asset': {'version': '2.0'}, 'scene': 0, 'scenes': [{'nodes': [0, 1]}],
    'nodes': [{'name': 'upper', 'children': [2]}, {'name': 'skin', 'mesh': 0, 'skin': 0},
              {'name': 'lower', 'translation': [LENGTH / 2, 0, 0], 'children': [3]},
              {'name': 'tip', 'translation': [LENGTH / 2, 0, 0]}],
    'meshes': [{'primitives': [{'attributes': {'POSITION': position, 'JOINTS_0': joints, 'WEIGHTS_0': weight},
                                'indices': index}]}],
    'skins': [{'joints': [0, 2], 'inverseBindMatrices': bind, 'skeleton': 0}],
    'animations': [{'name': 'Bend', 'samplers': [{'input': time, 'output': turn, 'interpolation': 'LINEAR'}],
                    'channels': [{'sampler': 0, 'target': {'node': 2, 'path': 'rotation'}}]}],
    'buffers': [{'byteLength': len(blob)}], 'bufferViews': views, 'accessors': accessors}
text = json.dumps(gltf).encode()
text += b' ' * (-len(text) % 4)
with open(out, 'wb') as file:
    file.write(struct.pack('<III', 0x46546C67, 2, 12 + 8 + len(text) + 8 + len(blob)))
    file.write(struct.pack('<II', len(text), 0x4E4F534A) + text + struct.pack('<II', len(blob), 0x004E4942) + blob)
