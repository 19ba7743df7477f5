"""Left against right of a character (bench/sides).

sides.py shake POSES ANIM SHAKE      the neutral pose, moved up and down as a whole: 4 % of the diagonal at 2.5 Hz, 1.5 s
sides.py compare POSES TET FIT SIM   how far what the flesh does of that is from its own mirror image
"""
import io
import json
import sys
import zipfile

import numpy as np

AMPLITUDE, FREQUENCY, SECONDS, FPS = 0.04, 2.5, 1.5, 30  # of the diagonal, Hz, s, 1/s
ALIKE = 0.002  # of the diagonal: farther from its partner a vertex has none
MOVES = 0.2  # parts that move less than this of the most are not compared
LEAST = 4  # vertices of a part that say something of it


def load(path):
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        arrays = {n[:-4]: np.lib.format.read_array(io.BytesIO(archive.read(n))) for n in names if n.endswith('.npy')}
        return arrays, json.loads(archive.read('meta.json'))


def save(path, arrays, meta):
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, np.ascontiguousarray(array), version=(1, 0))
            archive.writestr(name + '.npy', data.getvalue())
        archive.writestr('meta.json', json.dumps(meta))


def diagonal(x):
    return np.linalg.norm(x.max(0) - x.min(0))


def shake(poses, anim, out):
    poses, _ = load(poses)
    arrays, meta = load(anim)
    frames = int(SECONDS * FPS) + 1
    times = np.arange(frames) / FPS
    gone = ('node_', 'joint_', 'object_frames', 'object_node', 'morphs')
    arrays = {k: a for k, a in arrays.items() if not k.startswith(gone)}
    arrays['points'] = np.repeat(arrays['neutral'][None].astype(np.float32), frames, 0)
    arrays['params'] = np.repeat(poses['params'][:1], frames, 0)
    arrays['root'] = np.repeat(np.eye(4)[None], frames, 0)
    arrays['root'][:, 1, 3] = AMPLITUDE * diagonal(arrays['neutral']) * np.sin(2 * np.pi * FREQUENCY * times)
    arrays['times'] = times
    if 'bones' in arrays:
        arrays['bones'] = np.repeat(arrays['bone_rest'][None], frames, 0)
    meta['fps'], meta['clip'] = FPS, 'shake'
    for key in ('node_names', 'morph_names'):
        meta.pop(key, None)
    save(out, arrays, meta)


def nearest(points, x):
    """For each point the nearest of x, and how far it is."""
    index, distance = np.empty(len(points), int), np.empty(len(points))
    for k in range(0, len(points), 256):
        d = ((points[k:k + 256, None] - x[None]) ** 2).sum(2)
        index[k:k + 256] = d.argmin(1)
        distance[k:k + 256] = np.sqrt(d.min(1))
    return index, distance


def image(x, axis, at):
    x = x.copy()
    x[:, axis] = 2 * at - x[:, axis]
    return x


def plane_of(x):
    """The plane of symmetry among those that supple mesh looks at: across an axis, through the origin or the middle."""
    some = x[::max(1, len(x) // 500)]
    tried = [(np.minimum(nearest(image(some, axis, at), x)[1], 0.005 * diagonal(x)).sum(), axis, at)
             for axis in (0, 2, 1) for at in (0.0, (x[:, axis].min() + x[:, axis].max()) / 2)]
    return min(tried, key=lambda t: t[0])[1:]


def rms(a):
    return np.sqrt((a ** 2).mean())


def compare(poses, tet, fit, sim):
    poses, meta = load(poses)
    tet, fit, sim = load(tet)[0], load(fit)[0], load(sim)[0]
    x = poses['neutral']
    size = diagonal(x)
    axis, at = plane_of(x)
    partner, apart = nearest(image(x, axis, at), x)
    paired = apart < ALIKE * size
    on_left = x[:, axis] > at + 1e-4 * size
    print(f'skin: {len(x)} vertices, mirrored across {"xyz"[axis]} = {at:.4g}: {100 * paired.mean():.1f} % have a mirrored one within '
          f'{100 * ALIKE:.1f} % of the diagonal; median {100 * np.median(apart) / size:.4f} %, 95 of 100 within {100 * np.percentile(apart, 95) / size:.3f} %')

    v, held = tet['vertices'], np.zeros(len(tet['vertices']))
    held[tet['fixed']] = 1
    other, gap = nearest(image(v, axis, at), v)
    near = [100 * (gap < share * size).mean() for share in (1e-6, 1e-4, 1e-3)]
    alike = gap < 1e-3 * size
    print(f'flesh: {len(v)} vertices, {len(tet["tets"])} tets: {near[0]:.1f}, {near[1]:.1f}, {near[2]:.1f} % have a mirrored vertex within 1e-6, '
          f'1e-4, 1e-3 of the diagonal; of the last {100 * (held != held[other])[alike].mean():.2f} % are held on one side alone')
    corners = v[tet['tets']]
    volume = np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6
    off = (corners.mean(1)[:, axis] - at) / size
    share = np.where(np.abs(off) < 1e-7, 0.5, off > 0)  # tets across the plane belong to both sides
    logs = np.log(fit['young'][0])
    sides = [np.array([(m * volume).sum(), (m * volume * held[tet['tets']].mean(1)).sum(), (m * volume * logs).sum() / (m * volume).sum()])
             for m in (share, 1 - share)]
    print(f'left over right: volume {sides[0][0] / sides[1][0]:.4f}, held volume {sides[0][1] / max(sides[1][1], 1e-30):.4f}, '
          f'Young\'s modulus {np.exp(sides[0][2] - sides[1][2]):.4f}')

    moved = np.einsum('vk,fvkj->fvj', tet['embed_bary'], sim['u'][:, tet['tets'][tet['embed_tet']]])
    size_of = np.sqrt((moved ** 2).sum(2).mean(0))
    mirrored = image(moved[:, partner].reshape(-1, 3), axis, 0.0).reshape(moved.shape)
    left = on_left & paired
    field = rms((size_of - size_of[partner])[paired]) / rms(size_of[paired])
    exact = np.sqrt(((moved - mirrored)[:, paired] ** 2).sum() / (moved[:, paired] ** 2).sum())
    whole = rms(size_of[left]) / rms(size_of[partner[left]])
    names = meta.get('bone_names') or ['all']
    part = poses['weights'].argmax(1) if 'weights' in poses else np.zeros(len(x), int)
    rows = []
    for b, name in enumerate(names):
        here = on_left & (part == b)
        pairs = here & paired
        if pairs.sum() < LEAST or 2 * pairs.sum() < here.sum():
            continue
        rows.append((rms(size_of[pairs]), rms(size_of[partner[pairs]]), name))
    most = max((max(r[:2]) for r in rows), default=0)
    rows = [r for r in rows if max(r[:2]) >= MOVES * most]
    rows.sort(key=lambda r: -abs(np.log(max(r[0], 1e-30) / max(r[1], 1e-30))))
    for l, r, name in rows[:6]:
        print(f'  {name}: {100 * l / size:.3f} % of the diagonal, mirrored {100 * r / size:.3f} %: {100 * abs(l - r) / max(l, r):.1f} % apart')
    worst = abs(rows[0][0] - rows[0][1]) / max(rows[0][:2]) if rows else 0
    print(f'whole {whole:.3f}, field {100 * field:.1f} %, from its mirror image {100 * exact:.1f} %, worst part {100 * worst:.1f} % of {len(rows)}')


if __name__ == '__main__':
    if len(sys.argv) == 5 and sys.argv[1] == 'shake':
        shake(*sys.argv[2:])
    elif len(sys.argv) == 6 and sys.argv[1] == 'compare':
        compare(*sys.argv[2:])
    else:
        sys.exit(__doc__)
