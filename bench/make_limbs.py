#!/usr/bin/env python3
"""Limbs that touch themselves, as glTF binaries with one clip: the characters of Teng, Otaduy and Kim 2014, section 5.2, made anew.
Usage: make_limbs.py cylinder|finger|body|hand OUT.glb [SHARE [SECONDS [CELLS]]]
SHARE of the full motion (1), length of the clip, and cells along the longest side of the skin's grid."""
import json, struct, sys
import numpy as np

kind, out = sys.argv[1:3]
share, seconds, cells = [float(a) for a in sys.argv[3:]] + [1.0, 1.0, 96][len(sys.argv) - 3:]
FPS = 30
X, Y, Z = np.eye(3)

# Bones: name, parent, head, tail, radii at both ends (m), and the turn in the end: axis, degrees.
KINDS = {
    'cylinder': [('lower', -1, (0, 0, 0), (.3, 0, 0), .05, .05, None),
                 ('upper', 0, (.3, 0, 0), (.6, 0, 0), .05, .05, (Z, 120))],
    'finger': [('root', -1, (0, 0, 0), (.042, 0, 0), .0095, .0095, None),
               ('middle', 0, (.042, 0, 0), (.07, 0, 0), .0095, .0085, (Z, 97)),
               ('tip', 1, (.07, 0, 0), (.092, 0, 0), .0085, .0075, (Z, 97))],
    'body': [('hips', -1, (0, -.3, 0), (0, 0, 0), .16, .14, None),
             ('chest', 0, (0, 0, 0), (0, .28, 0), .14, .15, None),
             ('upperarm', 1, (.14, .25, 0), (.42, .25, 0), .062, .055, (Z, -80)),
             ('forearm', 2, (.42, .25, 0), (.66, .25, 0), .055, .045, (Y, -25)),
             ('hand', 3, (.66, .25, 0), (.74, .25, 0), .045, .04, None)],
}


def hand():
    bones = [('palm', -1, (0, 0, 0), (.05, 0, 0), .014, .014, None), ('wrist', 0, (0, 0, 0), (-.05, 0, 0), .022, .022, None)]
    for name, y, x, length in (('index', .027, .075, .075), ('long', .009, .08, .085), ('ring', -.009, .077, .08),
                               ('small', -.027, .07, .06)):
        a, b, c = (x, y, 0), (x + .55 * length, y, 0), (x + length, y, 0)
        bones.append((name + '1', 0, a, b, .0095, .0088, (Y, 105)))
        bones.append((name + '2', len(bones) - 1, b, c, .0088, .0078, (Y, 105)))
    return bones


KINDS['hand'] = hand()
bones = KINDS[kind]
heads, tails = np.array([b[2] for b in bones]), np.array([b[3] for b in bones])
radii = np.array([b[4:6] for b in bones])


def distances(p):
    """(bones, points): to each bone's round cone."""
    rows = []
    for a, b, (r, s) in zip(heads, tails, radii):
        t = np.clip((p - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
        rows.append(np.linalg.norm(p - a - t[:, None] * (b - a), axis=1) - (r + t * (s - r)))
    if kind == 'hand':  # the palm is a slab
        d = np.abs(p - [.035, 0, 0]) - [.03, .03, .004]
        rows[0] = np.linalg.norm(np.maximum(d, 0), axis=1) + np.minimum(d.max(1), 0) - .01
    return np.array(rows)


blend = .15 * radii.min()


def field(p):
    d = distances(p)
    low = d.min(0)
    return low - blend * np.log(np.exp((low - d) / blend).sum(0))


def surface_nets():
    low = np.minimum(heads, tails).min(0) - 1.3 * radii.max()
    high = np.maximum(heads, tails).max(0) + 1.3 * radii.max()
    h = (high - low).max() / cells
    n = np.ceil((high - low) / h).astype(int) + 1
    axes = [low[i] + h * np.arange(n[i]) for i in range(3)]
    grid = np.stack(np.meshgrid(*axes, indexing='ij'), -1)
    f = np.concatenate([field(part.reshape(-1, 3)) for part in grid]).reshape(n)
    corner = [f[i:n[0] - 1 + i, j:n[1] - 1 + j, k:n[2] - 1 + k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    inside = np.stack(corner) < 0
    mixed = inside.any(0) & ~inside.all(0)
    number = -np.ones(mixed.shape, int)
    number[mixed] = np.arange(mixed.sum())
    p = (np.argwhere(mixed) + .5) * h + low
    for _ in range(6):  # on to the surface
        e = 1e-3 * h
        g = np.stack([(field(p + e * a) - field(p - e * a)) / (2 * e) for a in (X, Y, Z)], 1)
        p -= .8 * (field(p) / np.maximum((g * g).sum(1), .1))[:, None] * g
    faces = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        a, b = np.moveaxis(f, axis, 0)[:-1], np.moveaxis(f, axis, 0)[1:]
        for sign in (0, 1):
            hit = (a < 0) & (b >= 0) if sign == 0 else (a >= 0) & (b < 0)
            at = np.argwhere(hit)
            order = [axis] + [i for i in range(3) if i != axis]
            full = np.empty_like(at)
            for k, i in enumerate(order):
                full[:, i] = at[:, k]
            quad = []
            for du, dv in ((0, 0), (1, 0), (1, 1), (0, 1)):
                c = full.copy()
                c[:, u] -= 1 - du
                c[:, v] -= 1 - dv
                quad.append(number[c[:, 0], c[:, 1], c[:, 2]])
            quad = np.stack(quad, 1)
            if sign: quad = quad[:, ::-1]
            faces += [quad[:, [0, 1, 2]], quad[:, [0, 2, 3]]]
    return p, np.concatenate(faces)


def rings():
    """A capsule with rings of vertices, finer than a grid makes it where it is long."""
    length, radius = tails[-1][0], radii[0][0]
    along, around = int(cells), int(cells) // 2
    profile = [(-radius * np.cos(a), radius * np.sin(a)) for a in np.pi / 2 * np.arange(1, around // 4) / (around // 4)]
    profile += [(length * i / along, radius) for i in range(along + 1)]
    profile += [(length + radius * np.cos(a), radius * np.sin(a)) for a in np.pi / 2 * np.arange(around // 4 - 1, 0, -1) / (around // 4)]
    p = [(-radius, 0, 0)]
    for x, r in profile:
        p += [(x, r * np.cos(a), r * np.sin(a)) for a in 2 * np.pi * np.arange(around) / around]
    p.append((length + radius, 0, 0))
    at = lambda i, k: 1 + i * around + k % around
    faces = []
    for k in range(around):
        faces += [(0, at(0, k + 1), at(0, k)), (len(p) - 1, at(len(profile) - 1, k), at(len(profile) - 1, k + 1))]
        for i in range(len(profile) - 1):
            a, b, c, d = at(i, k), at(i + 1, k), at(i + 1, k + 1), at(i, k + 1)
            faces += [(a, d, c), (a, c, b)]
    return np.array(p), np.array(faces)


points, triangles = rings() if kind == 'cylinder' else surface_nets()
if kind in ('cylinder', 'finger'):  # along x, smooth over a diameter, so that the crease is the flesh's own
    past = [np.ones(len(points))]
    for head, (radius, _) in zip(heads[1:], radii[1:]):
        s = np.clip(.5 + (points[:, 0] - head[0]) / (2 * radius), 0, 1)
        past.append(s * s * (3 - 2 * s))
    past.append(np.zeros(len(points)))
    weights = np.array([a - b for a, b in zip(past, past[1:])])
else:
    d = distances(points)
    weights = np.exp(-(d - d.min(0)) / (.35 * radii.min(1)[:, None]))
    weights /= weights.sum(0)
best = np.argsort(-weights, axis=0)[:4].T
chosen = np.take_along_axis(weights.T, best, 1)
chosen /= chosen.sum(1, keepdims=True)
if best.shape[1] < 4:
    best = np.pad(best, ((0, 0), (0, 4 - best.shape[1])))
    chosen = np.pad(chosen, ((0, 0), (0, 4 - chosen.shape[1])))

frames = int(round(seconds * FPS)) + 1
s = np.minimum(np.arange(frames) / (.8 * (frames - 1)), 1)
s = share * s * s * (3 - 2 * s)
blob, views, accessors = b'', [], []


def add(array, type_name, component, **more):
    global blob
    data = np.ascontiguousarray(array, {5126: '<f4', 5125: '<u4', 5121: 'u1'}[component]).tobytes()
    views.append({'buffer': 0, 'byteOffset': len(blob), 'byteLength': len(data)})
    blob += data + b'\0' * (-len(data) % 4)
    accessors.append({'bufferView': len(views) - 1, 'type': type_name, 'count': len(array), 'componentType': component, **more})
    return len(accessors) - 1


position = add(points, 'VEC3', 5126, min=points.min(0).tolist(), max=points.max(0).tolist())
joints, weight = add(best, 'VEC4', 5121), add(chosen, 'VEC4', 5126)
index = add(triangles.reshape(-1, 1), 'SCALAR', 5125)
bind = np.tile(np.eye(4), (len(bones), 1, 1))
bind[:, 3, :3] = -heads
inverse = add(bind.reshape(-1, 16), 'MAT4', 5126)
times = np.arange(frames)[:, None] / FPS
time = add(times, 'SCALAR', 5126, min=[0], max=[float(times[-1, 0])])
nodes, channels, samplers = [], [], []
for b, (name, parent, head, tail, _, _, turn) in enumerate(bones):
    nodes.append({'name': name, 'children': [k for k, other in enumerate(bones) if other[1] == b],
                  'translation': (heads[b] - (heads[parent] if parent >= 0 else 0)).tolist()})
    if turn is None: continue
    half = np.radians(turn[1]) * s / 2
    q = np.concatenate([np.sin(half)[:, None] * turn[0], np.cos(half)[:, None]], 1)
    samplers.append({'input': time, 'output': add(q, 'VEC4', 5126), 'interpolation': 'LINEAR'})
    channels.append({'sampler': len(samplers) - 1, 'target': {'node': b, 'path': 'rotation'}})
for b in range(len(bones)):  # ends of chains say where their bones end
    if not nodes[b]['children']:
        nodes[b]['children'] = [len(nodes)]
        nodes.append({'name': bones[b][0] + '.end', 'translation': (tails[b] - heads[b]).tolist()})
for node in nodes:
    if not node.get('children', True): del node['children']
nodes.append({'name': 'skin', 'mesh': 0, 'skin': 0})
gltf = {'asset': {'version': '2.0'}, 'scene': 0, 'scenes': [{'nodes': [0, len(nodes) - 1]}], 'nodes': nodes,
        'meshes': [{'primitives': [{'attributes': {'POSITION': position, 'JOINTS_0': joints, 'WEIGHTS_0': weight}, 'indices': index}]}],
        'skins': [{'joints': list(range(len(bones))), 'inverseBindMatrices': inverse, 'skeleton': 0}],
        'animations': [{'name': 'Bend', 'samplers': samplers, 'channels': channels}],
        'buffers': [{'byteLength': len(blob)}], 'bufferViews': views, 'accessors': accessors}
text = json.dumps(gltf).encode()
text += b' ' * (-len(text) % 4)
with open(out, 'wb') as file:
    file.write(struct.pack('<III', 0x46546C67, 2, 12 + 8 + len(text) + 8 + len(blob)))
    file.write(struct.pack('<II', len(text), 0x4E4F534A) + text + struct.pack('<II', len(blob), 0x004E4942) + blob)
print(len(points), 'points', len(triangles), 'triangles')
