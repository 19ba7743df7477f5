#!/bin/sh
# supple modes --kind skinning and supple cubature --clusters on a small character: files to the letter of docs/skinning.md and docs/formats.md,
# rigs of every kind, bad input.
what='skinning modes and clusters'
. "$(dirname "$0")/programs.sh"

must "$BIN/supple-creature" --vertices 3000 -q -o c.glb
must "$BIN/supple-import" c.glb --clip Trot -q -o t.anim.npz
must "$BIN/supple-poses" t.anim.npz -m 3 -q -o c.poses.npz
must "$BIN/supple-mesh" c.poses.npz --tets 3000 -q -o c.tet.npz
must "$BIN/supple-fit" c.tet.npz c.poses.npz -q -o c.fit.npz
"$python" - <<'PY' || exit 1
import zipfile
def without(source, names, to, rename={}):
    with zipfile.ZipFile(source) as a, zipfile.ZipFile(to, 'w') as b:
        for item in a.infolist():
            if item.filename[:-4] not in names: b.writestr(item.filename, a.read(item.filename))
bones = ['weights', 'morphs', 'bones', 'bone_rest', 'bone_parent', 'bone_segments', 'node_parent', 'node_rest', 'node_keys', 'joint_node',
         'joint_bind', 'object_node']
without('t.anim.npz', bones, 'plain.anim.npz')
PY
modes="$BIN/supple-modes --kind skinning c.tet.npz c.fit.npz"

run $modes t.anim.npz -o c.skinning.npz -j 2
check "skinning modes" "$status" "$(cat err)"
run $modes c.poses.npz -o again.npz -j 1
check "from the poses file, with other threads, the same" "$([ $status = 0 ] && "$python" -c "
import numpy as np
a, b = np.load('c.skinning.npz'), np.load('again.npz')
assert all(np.array_equal(a[k], b[k]) for k in ('weights', 'eigenvalues', 'leak', 'rig_rows'))"; echo $?)" "$(cat err)"
check "docs/skinning.md, equations 29 and 30, read independently" "$("$python" - <<'PY' 2>why
import numpy as np
t, f, a, s = (np.load(name) for name in ('c.tet.npz', 'c.fit.npz', 't.anim.npz', 'c.skinning.npz'))
X, T, W, lam, D = t['vertices'], t['tets'], s['weights'], s['eigenvalues'], s['leak']
n, k = W.shape
assert k == 10 and np.all(np.diff(lam) >= 0) and lam[0] > 0
E, nu = f['young'][0], f['poisson'][0]
mu, la = E / (2 * (1 + nu)), E * nu / ((1 + nu) * (1 - 2 * nu))
edges = np.stack([X[T[:, i]] - X[T[:, 0]] for i in (1, 2, 3)], axis=2)
V = np.linalg.det(edges) / 6
g = np.empty((len(T), 4, 3)); g[:, 1:] = np.linalg.inv(edges); g[:, 0] = -g[:, 1:].sum(1)
m = np.zeros(n); np.add.at(m, T, (f['density'] * V / 4)[:, None])
def H(w):   # sum of V (4 mu + lambda) g_a . g_b
    flux = np.einsum('e,eai,eac->eic', V * (4 * mu + la), g, w[T])
    out = np.zeros_like(w); np.add.at(out, T, np.einsum('eai,eic->eac', g, flux)); return out
free = np.setdiff1d(np.arange(n), t['fixed'])
assert np.all(W[t['fixed']] == 0) and len(t['fixed']) > 0
assert np.abs(np.einsum('vi,v,vj->ij', W, m, W) - np.eye(k)).max() < 1e-10
assert np.all(D[np.unique(t['surface'])] == 0) and D.min() >= 0 and D.max() == 1
w = np.einsum('vs,vsb->vb', t['shepard_weight'], a['weights'].astype(float)[t['shepard_index']])
Y = (X - X.mean(0)) / X.std()
mono = np.stack([np.ones(n), *Y.T, *(Y * Y).T, Y[:, 0] * Y[:, 1], Y[:, 1] * Y[:, 2], Y[:, 2] * Y[:, 0]])
J = ((D * m) * w.T[:, None, :] * mono[None]).reshape(-1, n)
J = J[:, free]; size = np.linalg.norm(J, axis=1); J = J[size > 1e-6 * size.max()]; J /= np.linalg.norm(J, axis=1)[:, None]
assert np.abs(J @ W[free]).max() < 1e-9 * np.linalg.norm(W, axis=0).max(), 'rows of bones'
# eigenpairs: what is left of H w - lambda M w is a force of the constraints
r = (H(W) - (m[:, None] * W) * lam)[free] / np.sqrt(m[free])[:, None]
Q = np.linalg.svd(J / np.sqrt(m[free]), full_matrices=False)
Q = Q[2][Q[1] > 1e-9 * Q[1][0]]
r -= Q.T @ (Q @ r)
assert np.abs(np.linalg.norm(r, axis=0) / lam).max() < 1e-4, np.linalg.norm(r, axis=0) / lam
# the rig's rows span those of first degree
R = s['rig_rows']
assert np.abs(np.linalg.norm(R, axis=1) - 1).max() < 1e-12
first = ((D * m) * w.T[:, None, :] * mono[None, :4]).reshape(-1, n)[:, free]
first = first[np.linalg.norm(first, axis=1) > 1e-6 * np.linalg.norm(first, axis=1).max()]
Q = np.linalg.qr(R[:, free].T)[0]
assert np.linalg.matrix_rank(R) == len(R)
assert (np.linalg.norm(first - (first @ Q) @ Q.T, axis=1) / np.linalg.norm(first, axis=1)).max() < 1e-4
PY
echo $?)" "$(tail -3 why)"

run $modes plain.anim.npz --shapes 4 -o shapes.npz
check "a rig without bones gives shapes" "$([ $status = 0 ] && "$python" -c "
import numpy as np
s = np.load('shapes.npz')
W, R = s['weights'], s['rig_shapes']
assert R.shape[0] == 4 and 'rig_rows' not in s.files
assert np.abs(np.linalg.norm(R, axis=(1, 2)) - 1).max() < 1e-12
X = np.load('c.tet.npz')['vertices']
for c in (np.ones(len(X)), *X.T):
    assert np.abs(np.einsum('kvi,v,vb->kib', R, c, W)).max() < 1e-10 * np.linalg.norm(W)"; echo $?)" "$(cat err)"
run $modes --rigid-body --leak none --no-hold -r 5 -o rigid.npz
check "one rigid handle, no leak, nothing held" "$([ $status = 0 ] && "$python" -c "
import numpy as np
s = np.load('rigid.npz')
assert s['weights'].shape[1] == 5 and s['rig_rows'].shape[0] == 4 and np.all(s['leak'] == 1)
assert np.abs(s['weights'][np.load('c.tet.npz')['fixed']]).max() > 0"; echo $?)" "$(cat err)"
run $modes --unconstrained --no-hold -o free.npz
check "unconstrained: the first mode is constant" "$([ $status = 0 ] && "$python" -c "
import numpy as np
s = np.load('free.npz')
W, lam = s['weights'], s['eigenvalues']
assert lam[0] < 1e-9 * lam[1] and np.ptp(W[:, 0]) < 1e-6 * W[0, 0] and 'rig_rows' not in s.files"; echo $?)" "$(cat err)"
"$python" "$here/make_arm.py" arm.glb 120 16 12 0.3
for way in lbs dqs; do
    must "$BIN/supple-import" arm.glb --skinning $way -q -o $way.anim.npz
    must "$BIN/supple-poses" $way.anim.npz -m 4 -q -o $way.poses.npz
done
must "$BIN/supple-mesh" lbs.poses.npz --tets 1500 -q -o arm.tet.npz
must "$BIN/supple-fit" arm.tet.npz lbs.poses.npz -q -o arm.fit.npz
for way in lbs dqs; do must "$BIN/supple-modes" --kind skinning arm.tet.npz arm.fit.npz $way.poses.npz -q -r 6 -o $way.npz; done
must "$BIN/supple-modes" --kind skinning arm.tet.npz arm.fit.npz dqs.poses.npz --shapes 0 -q -r 6 -o none.npz
run "$BIN/supple-modes" --kind skinning arm.tet.npz arm.fit.npz dqs.anim.npz -r 6 -o clip.npz
check "dual quaternions give shapes beside the bones, linear skinning none" "$([ $status = 0 ] && grep -q 'shapes of the rig beside its bones' err && "$python" -c "
import numpy as np
lbs, dqs, none, clip, X = (np.load(n) for n in ('lbs.npz', 'dqs.npz', 'none.npz', 'clip.npz', 'arm.tet.npz'))
assert 'rig_shapes' not in lbs.files and 'rig_shapes' not in none.files and len(dqs['rig_shapes']) >= 1 and len(clip['rig_shapes']) >= 1
assert np.array_equal(dqs['rig_rows'], lbs['rig_rows']) and np.array_equal(none['weights'], lbs['weights'])
X = X['vertices']
def seen(s): return max(np.abs(np.einsum('kvi,v,vb->kib', dqs['rig_shapes'], c, s['weights'])).max() for c in (np.ones(len(X)), *X.T)) / np.linalg.norm(s['weights'], axis=0).max()
assert seen(dqs) < 1e-14 and seen(lbs) > 1e-8, (seen(dqs), seen(lbs))"; echo $?)" "$(cat err)"
run $modes t.anim.npz --local 6 -r 20 -o local.npz -j 2
run $modes t.anim.npz --local 6 -r 20 -o local1.npz -j 1
check "local modes: small supports, ascending, the same bytes for any number of threads" "$([ $status = 0 ] && cmp local.npz local1.npz && "$python" -c "
import numpy as np
s, t, g = np.load('local.npz'), np.load('c.tet.npz'), np.load('c.skinning.npz')
W, lam = s['weights'], s['eigenvalues']
free = np.setdiff1d(np.arange(len(W)), t['fixed'])
assert W.shape[1] == 20 and np.all(np.diff(lam) >= 0) and np.all(W[t['fixed']] == 0)
part = (W[free] != 0).mean(0)
assert part.max() < 0.95 and np.median(part) < 0.5 and (W[free] != 0).any(1).mean() > 0.9, part
assert len({tuple(c) for c in (W != 0).T}) >= 6     # a support a region at least
assert np.array_equal(s['rig_rows'], g['rig_rows']) and np.abs(s['rig_rows'] @ W).max() < 1e-6 * np.linalg.norm(W, axis=0).max()"; echo $?)" "$(cat err)"
run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz local.npz --clusters 40 -q -o local.model.npz
[ $status != 0 ] || run "$BIN/supple-sim" local.model.npz t.anim.npz -q -o local.sim.npz
check "and a shot in them" "$([ $status = 0 ] && "$python" -c "
import numpy as np
q = np.load('local.sim.npz')['q']
assert np.isfinite(q).all() and np.abs(q).max() > 0"; echo $?)" "$(cat err)"
run $modes t.anim.npz --local 6 --handles c.csv -o x.npz
check "regions of both kinds are refused" "$([ $status = 2 ] && [ ! -e x.npz ]; echo $?)" "$status $(cat err)"
"$python" -c "
import numpy as np
t = np.load('c.tet.npz')
np.save('flesh.npy', np.linspace(0, 1, len(t['vertices'])))
np.save('skin.npy', np.full(len(t['embed_tet']), 0.25)); np.save('high.npy', np.full(len(t['vertices']), 1.5)); np.save('short.npy', [1.0, 0.5])"
run $modes t.anim.npz --leak flesh.npy -o map.npz
check "a leak by flesh vertices" "$([ $status = 0 ] && "$python" -c "
import numpy as np
assert np.array_equal(np.load('map.npz')['leak'], np.load('flesh.npy'))"; echo $?)" "$(cat err)"
run $modes t.anim.npz --leak skin.npy -o map.npz
check "a leak by skin vertices" "$([ $status = 0 ] && "$python" -c "
import numpy as np
assert np.abs(np.load('map.npz')['leak'] - 0.25).max() < 1e-9"; echo $?)" "$(cat err)"

for j in 1 2; do
    run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz c.skinning.npz --clusters 20 --rest neutral -j $j -o m$j.model.npz
    check "clusters, $j threads" "$status" "$(cat err)"
done
check "the same file" "$(cmp m1.model.npz m2.model.npz; echo $?)"
check "a model of skinning modes to the letter of docs/formats.md" "$("$python" - <<'PY' 2>why
import json, numpy as np
m, t, s, f = np.load('m1.model.npz'), np.load('c.tet.npz'), np.load('c.skinning.npz'), np.load('c.fit.npz')
meta = json.loads(bytes(m['meta.json']))
c, T = m['cluster'], t['tets']
assert meta['subspace'] == 'skinning' and meta['force'] == 'clusters' and meta['rest'] == 'neutral'
assert meta['clusters'] == c.max() + 1 and sorted(set(c)) == list(range(c.max() + 1))
assert np.array_equal(m['skinning_weights'], s['weights']) and np.all(m['mode_region'] == 0) and len(m['mode_region']) == 120
assert np.array_equal(m['cubature_tets'], np.arange(len(T))) and np.all(m['cubature_weights'] == 1)
assert list(m['region_vertex_offsets']) == [0, 0] and list(m['basis_block_offsets']) == [0, 0]
assert m['young'].shape == f['young'].shape and np.array_equal(m['poisson'], f['poisson'])
faces = {}
for e, tet in enumerate(T):
    for i in range(4): faces.setdefault(tuple(sorted(np.delete(tet, i))), []).append(e)
parent = list(range(len(T)))
def root(i):
    while parent[i] != i: parent[i] = parent[parent[i]]; i = parent[i]
    return i
for pair in faces.values():
    if len(pair) == 2 and c[pair[0]] == c[pair[1]]: parent[root(pair[0])] = root(pair[1])
assert len({root(i) for i in range(len(T))}) == c.max() + 1      # each in one piece
PY
echo $?)" "$(tail -3 why)"
run "$BIN/supple-sim" m1.model.npz t.anim.npz -o s.sim.npz
check "it plays" "$status" "$(cat err)"

run $modes -o bad.npz
refused "no rig" 2 'rigid-body'
"$python" -c "
import zipfile, io, json, numpy as np
with zipfile.ZipFile('plain.anim.npz') as a, zipfile.ZipFile('still.anim.npz', 'w') as b:
    for i in a.infolist():
        data = a.read(i.filename)
        if i.filename == 'points.npy':
            x = np.load(io.BytesIO(data)); x[:] = x[0]; out = io.BytesIO(); np.save(out, x); data = out.getvalue()
        b.writestr(i.filename, data)"
run $modes still.anim.npz -o bad.npz
refused "a rig without bones, shapes and motion" 3 'nothing is known of the rig'
run $modes t.anim.npz --unconstrained --rigid-body -o bad.npz
refused "two kinds of constraint" 2 'exclude'
run $modes t.anim.npz -r 2000 -o bad.npz
refused "more modes than there are" 3 'ask for at most'
run $modes t.anim.npz --leak short.npy -o bad.npz
refused "a leak of another length" 3 'short.npy'
run $modes t.anim.npz --leak high.npy -o bad.npz
refused "a leak above 1" 3 'row 1 is 1.5'
run $modes t.anim.npz --linear 3 -o bad.npz
refused "options of other modes" 2 'kind skinning'
run "$BIN/supple-modes" c.tet.npz c.fit.npz --rigid-body -o bad.npz
refused "options of skinning modes with others" 2 'kind skinning'
run $modes c.tet.npz -o bad.npz
refused "a rig of another kind" 3 'c.tet.npz'
must "$BIN/supple-mesh" c.poses.npz --tets 1000 -q -o less.tet.npz
run "$BIN/supple-cubature" less.tet.npz c.poses.npz c.fit.npz c.skinning.npz -o bad.npz
refused "clusters on another mesh" 3 'less.tet.npz\|c.fit.npz\|c.skinning.npz'
run "$BIN/supple-cubature" --flesh c.tet.npz c.poses.npz c.fit.npz c.skinning.npz -o bad.npz
refused "a model without modes and with" 2 'flesh'
