#!/bin/sh
# supple align and supple cubature on a small character: files to the letter of docs/formats.md, merging of parts, bad input.
what='align and cubature'
. "$(dirname "$0")/programs.sh"

must "$BIN/supple-creature" --vertices 3000 -q -o c.glb
must "$BIN/supple-import" c.glb --clip Trot -q -o t.anim.npz
must "$BIN/supple-poses" t.anim.npz -m 3 -q -o c.poses.npz
must "$BIN/supple-mesh" c.poses.npz --tets 1500 -q -o c.tet.npz
must "$BIN/supple-fit" c.tet.npz c.poses.npz -q -o c.fit.npz
must "$BIN/supple-modes" c.tet.npz c.fit.npz -r 8 -q -o c.modes.npz
for i in 0 1 2; do must "$BIN/supple-modes" c.tet.npz c.fit.npz -r 8 --pose $i -q -o one$i.npz; done

run "$BIN/supple-align" c.tet.npz c.fit.npz c.modes.npz -o c.basis.npz -j 2
check "align" "$status" "$(cat err)"
run "$BIN/supple-align" one2.npz c.fit.npz one0.npz c.tet.npz one1.npz -o parts.basis.npz -j 1
check "parts of one pose each, in any order" "$status" "$(cat err)"
check "the same basis from parts" "$("$python" - <<'PY'
import numpy as np
a, b = np.load('c.basis.npz'), np.load('parts.basis.npz')
for name in a.files:
    if name.endswith('.json'): continue
    x, y = a[name], b[name]
    assert x.shape == y.shape, name
    # the same mode may come out with round-off of its own from another run; here the runs are the same
    assert np.array_equal(x, y), name
PY
echo $?)" "$(cat err)"

check "docs/formats.md, conventions 4, 11 and 12, read independently" "$("$python" - <<'PY' 2>why
import json, numpy as np
t, f, b = (np.load('c.%s.npz' % k) for k in ('tet', 'fit', 'basis'))
X, tets, U = t['vertices'], t['tets'], b['basis']
m, r, n, _ = U.shape
D = np.stack([X[tets[:, k]] - X[tets[:, 0]] for k in (1, 2, 3)], axis=2)
V = np.linalg.det(D) / 6
M = np.zeros(n); np.add.at(M, tets, (f['density'] * V / 4)[:, None])
gram = np.einsum('irvc,v,jsvc->ijrs', U, M, U, optimize=True)
assert np.abs(gram - b['gram']).max() < 1e-10
assert np.abs(gram[range(m), range(m)] - np.eye(r)).max() < 1e-8     # one region: orthonormal
assert b['parent'][0] == -1 and np.all(b['parent'][1:] >= 0)
for j in range(1, m):
    C = gram[j, b['parent'][j]]
    assert np.abs(C - C.T).max() < 1e-9 and np.linalg.eigvalsh((C + C.T) / 2).min() > -1e-9
    s = np.linalg.svd(C, compute_uv=False)
    assert np.abs(np.cos(b['angles'][j]) - s).max() < 1e-9 and np.all(np.diff(b['angles'][j]) >= -1e-12)
assert np.all(b['angles'][0] == 0)
q = b['rotations']
assert np.abs((q ** 2).sum(-1) - 1).max() < 1e-12 and q[..., 0].min() >= 0
assert np.abs(q[0] - [1, 0, 0, 0]).max() < 1e-12
# turned forward by these rotations, the basis spans the modes of each pose
modes = np.load('c.modes.npz')['modes']
def matrix(q):
    w, x, y, z = np.moveaxis(q, -1, 0)
    return np.stack([1-2*(y*y+z*z), 2*(x*y-w*z), 2*(x*z+w*y), 2*(x*y+w*z), 1-2*(x*x+z*z), 2*(y*z-w*x),
                     2*(x*z-w*y), 2*(y*z+w*x), 1-2*(x*x+y*y)], -1).reshape(q.shape[:-1] + (3, 3))
for i in range(m):
    turned = np.einsum('vab,rvb->rva', matrix(q[i]), U[i])
    C = np.einsum('rvc,v,svc->rs', turned, M, modes[i], optimize=True)
    assert np.linalg.svd(C, compute_uv=False).min() > 1 - 1e-8
meta = json.loads(bytes(b['meta.json']) if 'meta.json' in b.files else __import__('zipfile').ZipFile('c.basis.npz').read('meta.json'))
assert meta['kind'] == 'supple.basis' and meta['interpolation'] == 'corotated' and len(meta['inputs']) == 3
PY
echo $?)" "$(tail -3 why)"

run "$BIN/supple-align" c.tet.npz c.fit.npz c.modes.npz --pca 5 -o pca.basis.npz
check "one basis for all poses: the leading directions of theirs" "$([ $status = 0 ] && "$python" - <<'PY' 2>&1
import numpy as np
a, b, tet, fit = (np.load(f) for f in ('c.basis.npz', 'pca.basis.npz', 'c.tet.npz', 'c.fit.npz'))
x, t = tet['vertices'], tet['tets']
volume = np.linalg.det(x[t[:, 1:]] - x[t[:, :1]]) / 6
mass = np.zeros(len(x))
np.add.at(mass, t, (fit['density'] * volume / 4)[:, None])
def rows(basis):
    return (basis * np.sqrt(mass)[:, None]).reshape(-1, 3 * len(x))
P = b['basis']
assert P.shape[1] == 5 and all((P[i] == P[0]).all() for i in range(len(P)))
Q = rows(P[0])
for g in np.unique(a['mode_region']):
    own, union = Q[b['mode_region'] == g], rows(a['basis'][:, a['mode_region'] == g])
    assert np.abs(own @ own.T - np.eye(len(own))).max() < 1e-9
    values = np.linalg.svd(union, compute_uv=False)
    assert abs((union @ own.T).ravel() @ (union @ own.T).ravel() - (values[:len(own)] ** 2).sum()) < 1e-8
PY
echo $?)" "$(cat err)"
run "$BIN/supple-align" c.tet.npz c.fit.npz c.modes.npz --pca 500 -o bad.npz
check "more than the bases span is refused" "$([ $status = 2 ] && [ ! -e bad.npz ]; echo $?)" "$(cat err)"

run "$BIN/supple-align" c.tet.npz c.fit.npz c.modes.npz --shots t.anim.npz --measure -o measured.npz
check "bases that go together are not warned of" "$([ $status = 0 ] && ! grep -q warning err; echo $?)" "$status $(cat err)"
must "$BIN/supple-modes" c.tet.npz c.fit.npz -r 16 -q -o more.modes.npz
"$python" - <<'PY'   # the eight lowest modes, at pose 1 the next eight: they have nothing to do with those of the others
import numpy as np, zipfile, io
source = zipfile.ZipFile('more.modes.npz')
with zipfile.ZipFile('strange.modes.npz', 'w') as out:
    for name in source.namelist():
        data = source.read(name)
        if name in ('modes.npy', 'mode_region.npy'):
            a, written = np.load(io.BytesIO(data)), io.BytesIO()
            np.save(written, a[:8] if a.ndim == 1 else np.stack([a[0, :8], a[1, 8:], a[2, :8]]))
            data = written.getvalue()
        out.writestr(name, data)
PY
run "$BIN/supple-align" c.tet.npz c.fit.npz strange.modes.npz --shots t.anim.npz --measure -q -o strange.npz
check "bases that do not go together are" "$([ $status = 0 ] && grep -q 'warning: between poses the flesh is up to [0-9]* % too stiff' err; echo $?)" "$status $(cat err)"
run "$BIN/supple-align" c.tet.npz c.fit.npz c.modes.npz --shots t.anim.npz --suggest 2 --bound 0 --frames 3 --stats s.json -o measured.npz
check "stiffening is measured and a pose named" "$([ $status = 0 ] && "$python" -c "
import json
s = json.load(open('s.json'))
assert s['stiffening'] > 0 and s['suggest'] and s['suggest'][0]['pose'].startswith('t:') and s['suggest'][0]['stiffening'] > 0
"; echo $?)" "$(cat err)"
check "measuring changes nothing in the file" "$("$python" -c "
import numpy as np
a, b = np.load('c.basis.npz'), np.load('measured.npz')
assert np.array_equal(a['basis'], b['basis'])"; echo $?)"

run "$BIN/supple-align" c.tet.npz c.fit.npz c.modes.npz --measure -o bad.npz
refused "stiffening of no shots" 2 'look at frames of --shots'
run "$BIN/supple-align" c.tet.npz c.fit.npz one0.npz one2.npz -o bad.npz
refused "a missing pose is named" 3 'pose 1 '
run "$BIN/supple-modes" c.tet.npz c.fit.npz -r 8 --linear 5 --pose 1 -q -o other1.npz
run "$BIN/supple-align" c.tet.npz c.fit.npz c.modes.npz other1.npz -o bad.npz
refused "a pose made with other settings is refused" 3 'other1.npz'
run "$BIN/supple-align" c.tet.npz c.fit.npz -o bad.npz
refused "no modes" 2 'TET FIT\|modes\|needs'
run "$BIN/supple-align" c.tet.npz c.fit.npz c.modes.npz t.anim.npz -o bad.npz
refused "a file of another kind" 3 'supple.anim'
run "$BIN/supple-align" c.tet.npz c.tet.npz c.fit.npz c.modes.npz -o bad.npz
refused "two meshes" 2 'second tet'
head -c 3000 c.modes.npz >cut.npz
run "$BIN/supple-align" c.tet.npz c.fit.npz cut.npz -o bad.npz
refused "a truncated file" 3 'cut.npz'
must "$BIN/supple-mesh" c.poses.npz --tets 1000 -q -o less.tet.npz
run "$BIN/supple-align" less.tet.npz c.fit.npz c.modes.npz -o bad.npz
refused "another mesh" 3 'vertices'

run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz c.basis.npz --error 1e-4 -q -o bad.npz
check "a bound that is missed is warned of" "$([ $status = 0 ] && grep -q 'warning: forces are met to [0-9.]* % with [0-9]* tets, not to the 0.01 % asked for' err; echo $?)" "$status $(cat err)"
run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz c.basis.npz --error 20% -q -o bad.npz
check "one that is met is not" "$([ $status = 0 ] && [ ! -s err ]; echo $?)" "$status $(cat err)"
rm -f bad.npz
run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz c.basis.npz --shots t.anim.npz --frames 3 -j 2 -o c.model.npz
check "cubature" "$status" "$(cat err)"
run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz c.basis.npz --shots t.anim.npz --frames 3 -j 1 -o one.model.npz
check "the same bytes with one thread" "$(cmp c.model.npz one.model.npz >&2; echo $?)" "$(cat err)"
check "the model, read independently" "$("$python" - <<'PY' 2>why
import json, zipfile, numpy as np
t, f, b, M = (np.load('c.%s.npz' % k) for k in ('tet', 'fit', 'basis', 'model'))
meta = json.loads(zipfile.ZipFile('c.model.npz').read('meta.json'))
assert max(e['rms'] for e in meta['training_error']) <= 0.02 and len(meta['training_error']) == 3
assert max(e['rms'] for e in meta['training_error_inertia']) <= 0.02
assert meta['sample_amplitude'] == 0.05 and meta['material'] == 'tissue' and meta['frequency'] > 0
c, w = M['cubature_tets'], M['cubature_weights']
assert w.min() >= 0 and np.all(w.max(0) > 0) and np.all(np.diff(c) > 0) and c.max() < len(t['tets']) and w.shape == (3, len(c))
v, z = M['inertia_vertices'], M['inertia_weights']
assert z.min() > 0 and z.shape == v.shape and not set(v) & set(t['fixed'])
assert np.array_equal(M['young'], f['young'][:, c])
for name in ('vertices', 'tets', 'surface', 'fixed', 'embed_tet', 'embed_bary'): assert np.array_equal(M[name], t[name]), name
for name in ('params', 'param_scale', 'rbf', 'corrections'): assert np.array_equal(M[name], f[name]), name
for name in ('gram', 'mode_region', 'basis_rbf', 'rotations'): assert np.array_equal(M[name], b[name]), name
free = np.setdiff1d(np.arange(len(t['vertices'])), t['fixed'])
assert np.array_equal(M['region_vertices'], free) and list(M['region_vertex_offsets']) == [0, len(free)]
assert np.array_equal(M['basis_blocks'].reshape(3, 8, -1, 3), b['basis'][:, :, free].astype('f4'))
# the weights of all tets sum to about the volume they stand for: a constant stress is integrated
PY
echo $?)" "$(tail -3 why)"
run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz c.basis.npz --tets 12 --vertices 20 --seed 5 --check 5 -o n.model.npz
check "given counts, another seed, fresh samples, no shots" "$([ $status = 0 ] && grep -q 'fresh samples at 1.5' err && "$python" -c "
import numpy as np
m = np.load('n.model.npz')
assert len(m['cubature_tets']) <= 12 and 15 <= len(m['inertia_vertices']) <= 20"; echo $?)" "$(cat err)"
run "$BIN/supple-info" c.model.npz
check "info accepts the model" "$status" "$(cat err)"

run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz -o bad.npz
refused "no basis" 2 'BASIS\|basis'
run "$BIN/supple-cubature" less.tet.npz c.poses.npz c.fit.npz c.basis.npz -o bad.npz
refused "cubature on another mesh" 3 'mesh'
run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz c.basis.npz --shots c.tet.npz -o bad.npz
refused "a shot of another kind" 3 'c.tet.npz'
run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz c.basis.npz --error 200% -o bad.npz
refused "an error bound that is none" 2 'error'
