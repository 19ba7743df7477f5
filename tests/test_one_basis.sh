#!/bin/sh
# One basis for all poses through the programs: supple motion, modes --motion, cubature on its states, sim against fullsim; what the files
# hold, read independently; bad input.
what='one basis'
. "$(dirname "$0")/programs.sh"

must "$BIN/supple-creature" --vertices 3000 -q -o c.glb
must "$BIN/supple-import" c.glb --clip Trot -q -o t.anim.npz
must "$BIN/supple-import" c.glb --clip Stop -q -o s.anim.npz
must "$BIN/supple-poses" t.anim.npz s.anim.npz -m 3 -q -o c.poses.npz
must "$BIN/supple-mesh" c.poses.npz --tets 1500 -q -o c.tet.npz
must "$BIN/supple-fit" c.tet.npz c.poses.npz -q -o c.fit.npz
must "$BIN/supple-motion" c.poses.npz t.anim.npz s.anim.npz --seconds 8 -q -o m.anim.npz
modes=20

# ---- the basis ----
run "$BIN/supple-modes" c.tet.npz c.fit.npz --motion m.anim.npz --shots t.anim.npz -r $modes -j 2 -o c.basis.npz
check "one basis from a motion and a shot" "$status" "$(cat err)"
run "$BIN/supple-modes" c.tet.npz c.fit.npz --motion m.anim.npz --shots t.anim.npz -r $modes -j 1 -o one.basis.npz
check "the same bytes with one thread" "$(cmp c.basis.npz one.basis.npz >&2; echo $?)" "$(cat err)"
run "$BIN/supple-info" c.basis.npz
check "info accepts the basis" "$status" "$(cat err)"
cat >common.py <<'PY'
import json, zipfile, numpy as np
def meta(name): return json.loads(zipfile.ZipFile(name).read('meta.json'))
t, f, b = (np.load('c.%s.npz' % k) for k in ('tet', 'fit', 'basis'))
X, tets, U = t['vertices'], t['tets'], b['basis'][0]
r, n, _ = U.shape
D = np.stack([X[tets[:, k]] - X[tets[:, 0]] for k in (1, 2, 3)], axis=2)
V = np.linalg.det(D) / 6
M = np.zeros(n)
np.add.at(M, tets, (f['density'] * V / 4)[:, None])
def stiffness(weights):
    """U'KU of the neutral flesh, each tet by its weight: linear elasticity, written out."""
    E, nu = f['young'][0], f['poisson'][0]
    mu, la = E / (2 * (1 + nu)), E * nu / ((1 + nu) * (1 - 2 * nu))
    edges = np.stack([U[:, tets[:, k]] - U[:, tets[:, 0]] for k in (1, 2, 3)], axis=3)      # (r,t,3,3), columns
    G = np.einsum('rtac,tcb->rtab', edges, np.linalg.inv(D))
    e = (G + G.swapaxes(2, 3)) / 2
    trace = np.einsum('rtaa->rt', e)
    w = weights * V
    return 2 * np.einsum('rtab,t,stab->rs', e, w * mu, e, optimize=True) + np.einsum('rt,t,st->rs', trace, w * la, trace, optimize=True)
PY
check "the basis, read independently" "$("$python" - <<PY 2>why
from common import *
m = meta('c.basis.npz')
assert b['basis'].shape[0] == 1 and r == $modes and m['subspace'] == 'one' and m['shots'] == ['m.anim.npz', 't.anim.npz'] and m['version'] == 2
G = np.einsum('rvc,v,svc->rs', U, M, U)
assert np.abs(G - np.eye(r)).max() < 1e-8 and np.abs(b['gram'][0, 0] - G).max() < 1e-10
assert np.all(U[:, t['fixed']] == 0)
q, shot, frame = b['state_q'], b['state_shot'], b['state_frame']
frames = [len(np.load(name)['points']) for name in m['shots']]
assert q.shape == (len(shot), r) and set(shot) == {0, 1} and frame.min() >= 1
for s in (0, 1):
    own = frame[shot == s]
    assert np.all(np.diff(own) > 0) and own.max() == frames[s] - 1 and len(own) > 0.9 * (frames[s] - 1)
assert np.abs(q).max() > 0 and np.all(np.isfinite(q))
PY
echo $?)" "$(tail -3 why)"
run "$BIN/supple-modes" c.tet.npz c.fit.npz --motion t.anim.npz --gravity 0,-20,0 --gravity-mode absolute -r 8 -o heavy.basis.npz
check "a motion is played under the gravity that is given, and the basis tells it" "$("$python" - <<PY 2>why
from common import *
m, h = meta('heavy.basis.npz'), np.load('heavy.basis.npz')
assert meta('c.basis.npz')['gravity'] == [0, -9.81, 0] and meta('c.basis.npz')['gravity_mode'] == 'relative'
assert m['gravity'] == [0, -20, 0] and m['gravity_mode'] == 'absolute'
# what the flesh weighs is in its mean shape: along gravity far more than the relative motion has
down = lambda b, shot: np.einsum('kr,rv->v', b['state_q'][b['state_shot'] == shot], b['basis'][0][:, :, 1]) / (b['state_shot'] == shot).sum()
heavy, light = M @ down(h, 0), M @ down(b, 1)
assert heavy < -5 * abs(light), (heavy, light)
PY
echo $?)" "$(tail -3 why)"
check "a sixth of its modes are the lowest linear ones" "$("$python" - <<PY 2>why
from common import *
K, k = stiffness(np.ones(len(tets))), r // 6
low = np.diag(K)[:k]
assert np.all(np.diff(low) > 0) and np.abs(K[:k, :k] - np.diag(low)).max() < 1e-5 * low[-1]
assert np.abs(K[:k, k:]).max() < 1e-4 * np.sqrt(low[-1] * np.diag(K).max())           # K y is along M y, and the others are not
assert np.all(low <= np.linalg.eigvalsh(K)[:k] * (1 + 1e-6))                          # none is lower in the span
PY
echo $?)" "$(tail -3 why)"
for each in '--shots t.anim.npz' '--self-contact all' '--gravity 0,-20,0'; do
    run "$BIN/supple-modes" c.tet.npz c.fit.npz $each -o bad.npz
    check "modes of a pose know no motion: ${each%% *}" "$([ $status = 2 ] && grep -q -e "${each%% *} goes with --motion" err && [ ! -e bad.npz ]; echo $?)" "$status $(cat err)"
done

# ---- cubature and the model ----
run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz c.basis.npz --shots m.anim.npz t.anim.npz -j 2 -o c.model.npz --stats c.json
check "cubature on its states" "$status" "$(cat err)"
run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz c.basis.npz --shots m.anim.npz t.anim.npz -j 1 -q -o one.model.npz
check "the same bytes with one thread" "$(cmp c.model.npz one.model.npz >&2; echo $?)" "$(cat err)"
run "$BIN/supple-info" c.model.npz
check "info accepts the model" "$status" "$(cat err)"
check "the model, read independently" "$("$python" - <<'PY' 2>why
from common import *
M_, m = np.load('c.model.npz'), meta('c.model.npz')
assert m['subspace'] == 'one' and m['rest'] == 'turned' and 0 < m['training_error'] < 0.2 and 0 < m['motion_error'] < 0.3
w, c = M_['cubature_weights'], M_['cubature_tets']
assert w.shape == (3, len(c)) and w.min() >= 0 and np.all(w == w[0])          # the same at all poses
assert len(c) >= 3 * r * 0.9                                                  # three a mode
assert 'rotations' not in M_.files and 'basis_rbf' not in M_.files and M_['gram'].shape == (1, 1, r, r)
moved = np.sqrt((np.einsum('kr,rvc->kvc', b['state_q'], U, optimize=True) ** 2).sum(2)).max()
assert abs(m['trained_displacement'] / moved - 1) < 1e-6
free = np.setdiff1d(np.arange(n), t['fixed'])
assert np.array_equal(M_['basis_blocks'].reshape(r, -1, 3), U[:, free].astype('f4'))
for name in ('turn_start', 'turn_node', 'turn_weight'): assert np.array_equal(M_[name], f[name]), name
assert np.abs(np.add.reduceat(f['turn_weight'], f['turn_start'][:-1]) - 1).max() < 1e-12
PY
echo $?)" "$(tail -3 why)"
# With few tets they are too stiff in some motion by more than D may take off.
must "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz c.basis.npz --shots m.anim.npz t.anim.npz --tets 12 -j 2 -q -o few.model.npz --stats few.json
check "D adds what the tets lack of the linear force, drawn to the forces of the motion, and takes off 20 % of the flesh's at most" "$("$python" - <<'PY' 2>why
from common import *
K = stiffness(np.ones(len(tets)))
R = np.linalg.inv(np.linalg.cholesky(K))
against = lambda A: np.linalg.eigvalsh(R @ A @ R.T)                           # eigenvalues of (A, U'KU)
def excess(name):
    M_, said = np.load(name + '.model.npz'), json.load(open(name + '.json'))
    weights = np.zeros(len(tets))
    weights[M_['cubature_tets']] = M_['cubature_weights'][0]
    own, L = stiffness(weights), M_['linear_stiffness']
    assert np.abs(L - L.T).max() < 1e-9 * np.abs(L).max()
    most = against(own).max()
    assert against(L).min() > -0.2 - 1e-6, against(L)
    # without the forces' say: what tets lack, and 20 % at most of what they have too much
    l, V = np.linalg.eigh(R @ own @ R.T)
    rest = np.linalg.inv(R) @ (V * np.maximum(1 - l, -0.2)) @ V.T @ np.linalg.inv(R).T
    drawn = against(L - rest)
    assert 0.005 < np.abs(drawn).max() < 0.5, drawn
    assert against(own + L).min() > 0.8, against(own + L)
    assert 0 < said['force_error'] < 0.97 * said['force_error_unfitted'], said
    assert abs(said['stiffest'] - most) < 1e-4 * most
    return most
trained, few = excess('c'), excess('few')
assert 1 < trained < 1.2 < few < 2, (trained, few)
PY
echo $?)" "$(tail -3 why)"
check "forces of the states are the flesh's: nearly those of its stiffness where it moves little, and more at large, for it stiffens" "$("$python" - <<'PY' 2>why
from common import *
K, q, f = stiffness(np.ones(len(tets))), b['state_q'], b['state_force']
assert f.shape == q.shape and np.isfinite(f).all()
R = np.linalg.inv(np.linalg.cholesky(K))
size = np.linalg.norm(np.linalg.solve(R, q.T), axis=0)                       # of energy
off = np.linalg.norm(R @ (f - q @ K).T, axis=0) / size
small = np.argsort(size)[len(size) // 10:len(size) // 4]                     # the quietest have next to none
assert np.median(off[small]) < 0.25, np.median(off[small])
work = (q * f).sum() / (q * (q @ K)).sum()
assert 1.05 < work < 2, work
PY
echo $?)" "$(tail -3 why)"

# ---- in motion ----
run "$BIN/supple-sim" c.model.npz t.anim.npz -q -o t.sim.npz
check "sim of the shot" "$status" "$(cat err)"
check "no step fails" "$("$python" -c "
import numpy as np
s = np.load('t.sim.npz')
assert np.isfinite(s['q']).all() and s['status'].max() == 0, s['status']" 2>why; echo $?)" "$(tail -3 why)"
must "$BIN/supple-fullsim" c.tet.npz c.fit.npz t.anim.npz -q -o t.full.npz
error_of() { "$BIN/supple-compare" c.model.npz t.anim.npz "$1" t.full.npz --stats compare.json -q --progress none >out 2>err; sed -n 's/^ "error": \([0-9.e-]*\),*/\1/p' compare.json; }
error=$(error_of t.sim.npz)
echo "# off the full simulation by $error"
check "at most 12 % off the full simulation with 20 modes" "$(awk -v e="$error" 'BEGIN { exit !(e > 0 && e < 0.12) }'; echo $?)" "$error $(cat err)"
run "$BIN/supple-sim" c.model.npz s.anim.npz -q -o s.sim.npz
check "a fiercer shot that nobody has seen stays whole" "$([ $status = 0 ] && "$python" -c "
import numpy as np
s = np.load('s.sim.npz')
assert np.isfinite(s['q']).all() and (s['status'] > 2).sum() == 0, s['status']" 2>why; echo $?)" "$(cat err why)"
run "$BIN/supple-export" c.model.npz t.anim.npz t.sim.npz -q -o t.npy
check "export" "$status" "$(cat err)"

# ---- the posed rest goes with it, too ----
must "$BIN/supple-fit" c.tet.npz c.poses.npz --rest posed -q -o posed.fit.npz
must "$BIN/supple-modes" c.tet.npz posed.fit.npz --motion m.anim.npz -r $modes -q -o posed.basis.npz
must "$BIN/supple-cubature" c.tet.npz c.poses.npz posed.fit.npz posed.basis.npz --shots m.anim.npz -q -o posed.model.npz
run "$BIN/supple-sim" posed.model.npz t.anim.npz -q -o posed.sim.npz
check "one basis on the posed rest, of the motion alone" "$([ $status = 0 ] && "$python" -c "
import numpy as np
m, s = np.load('posed.model.npz'), np.load('posed.sim.npz')
assert 'turn_start' not in m.files and s['status'].max() <= 2 and np.isfinite(s['q']).all()" 2>why; echo $?)" "$(cat err why)"

# ---- more modes than the motion has directions ----
must "$BIN/supple-motion" c.poses.npz t.anim.npz --seconds 1 --fps 12 -q -o short.anim.npz
run "$BIN/supple-modes" c.tet.npz c.fit.npz --motion short.anim.npz -r 60 -o short.basis.npz
check "as many modes as there are, and a warning" "$([ $status = 0 ] && grep -q 'warning.*directions' err && "$python" -c "
import numpy as np
assert len(np.load('short.basis.npz')['basis'][0]) <= 12"; echo $?)" "$(cat err)"

# ---- bad input ----
cubature() { run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz c.basis.npz "$@" -o bad.npz; }
cubature --shots t.anim.npz m.anim.npz
refused "shots in another order" 2 'same order'
cubature --shots m.anim.npz
refused "a shot is missing" 2 'was made from 2 shots'
cubature
refused "no shots at all" 2 'was made from 2 shots'
cubature --shots m.anim.npz s.anim.npz
refused "another shot" 2 's.anim.npz'
mkdir -p other && cp short.anim.npz other/m.anim.npz
cubature --shots other/m.anim.npz t.anim.npz
refused "a motion of that name with fewer frames" 3 'has no frame'
run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz c.basis.npz --shots none.anim.npz t.anim.npz -o bad.npz
refused "a motion that is not there" 2 'none.anim.npz'
run "$BIN/supple-modes" c.tet.npz c.fit.npz --motion none.anim.npz -r $modes -o bad.npz
refused "modes without the motion's file" 3 'none.anim.npz'
run "$BIN/supple-modes" c.tet.npz c.fit.npz --motion c.tet.npz -r $modes -o bad.npz
refused "a motion of another kind" 3 'c.tet.npz'
run "$BIN/supple-modes" c.tet.npz c.fit.npz --motion m.anim.npz -r $modes --keep-rigid -o bad.npz
refused "rigid motions have no place in it" 2 'motion'
"$python" - <<'PY'
import zipfile
with zipfile.ZipFile('c.basis.npz') as a, zipfile.ZipFile('stateless.npz', 'w') as b:
    for name in a.namelist():
        if not name.startswith('state_'): b.writestr(name, a.read(name))
PY
run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz stateless.npz --shots m.anim.npz t.anim.npz -o bad.npz
refused "a basis without its states" 3 'states'
"$python" - <<'PY'
import zipfile
for kind in 'basis', 'model':
    with zipfile.ZipFile(f'c.{kind}.npz') as a, zipfile.ZipFile(f'no.{kind}.npz', 'w') as b:
        for name in a.namelist():
            if name != 'gram.npy': b.writestr(name, a.read(name))
PY
run "$BIN/supple-cubature" c.tet.npz c.poses.npz c.fit.npz no.basis.npz --shots m.anim.npz t.anim.npz -o bad.npz
refused "a basis without its mass products" 3 "'gram' is missing"
run "$BIN/supple-sim" no.model.npz t.anim.npz -o bad.npz
refused "a model without them" 3 "'gram' is missing"
run "$BIN/supple-sim" c.model.npz t.anim.npz --interpolation linear -o bad.npz
refused "linear interpolation of one basis" 3 'linear interpolation'
