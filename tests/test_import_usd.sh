#!/bin/sh
# Binary USD into supple: what it wrote itself is what its text is, crates packed as other writers do it (tests/make_usdc.py) hold what they say;
# what layers take from others is there; broken ones are refused.
. "$(dirname "$0")/tap.sh"
root=$(dirname "$here")
modules=$root/build/viewer/source/node_modules
need_numpy "binary USD into supple"
: >log.txt
supple=$BIN/supple
import() { "$supple" import -q "$@" --progress none 2>>log.txt; }
refuse() { # TEXT FILE SAYS
    "$supple" import -q "$2" --progress none -o no.npz >said.txt 2>&1
    [ $? = 3 ] && grep -q "$3" said.txt && [ ! -e no.npz ]
    ok $? "$1"
    cat said.txt >>log.txt
}

cat >case.py <<'PY'
import io, os, sys
import numpy as np
sys.path.insert(0, os.environ["HERE"])
sys.dont_write_bytecode = True
import make_usdc as usd
def world(path):
    a = np.load(path)
    p, r = a["points"].astype(float)[:, a["source_vertex"]], a["root"]
    return np.einsum("fij,fvj->fvi", r[:, :3, :3], p) + r[:, None, :3, 3], a
def whole(path, later=0):
    p, a = world(path)
    want = np.array([usd.expected(k) for k in range(usd.FRAMES)]) / 100
    want = np.stack([want[..., 0], want[..., 2], -want[..., 1]], -1)   # metres, y up
    assert p.shape == want.shape, (p.shape, want.shape)
    assert abs(p - want).max() < 1e-6 * np.linalg.norm(np.ptp(want[0], axis=0)), abs(p - want).max()
    assert np.allclose(a["times"] * 24, later + np.arange(usd.FIRST, usd.FIRST + usd.FRAMES)), a["times"]
    assert a["face_counts"].tolist() == [4] * 16 + [3] * 4 and a["object_id"].tolist() == [0] * 25 + [1] * 4 if "object_id" in a.files else True
    return a
PY
export HERE="$here"
"$python" - <<'PY'
import sys
sys.path.insert(0, ".")
import case
from case import usd
for minor in (4, 6, 7, 8): usd.layer(open("v%d.usdc" % minor, "wb"), minor)
usd.layer(open("bound.usdc", "wb"), 8, True)
usd.package("package.usdz")
data = open("v8.usdc", "rb").read()
open("old.usdc", "wb").write(data[:9] + b"\3" + data[10:])
open("renamed.usd", "wb").write(data)
PY
for file in v4.usdc v6.usdc v7.usdc v8.usdc renamed.usd package.usdz; do
    import $file -o one.npz && "$python" -c 'import sys; sys.path.insert(0, "."); import case; case.whole("one.npz")' 2>>log.txt
    ok $? "$file: points under transforms, frames, polygons, the order of its layer"
done
import v8.usdc -o one.npz && "$python" - 2>>log.txt <<'PY'
import json, sys
import numpy as np
sys.path.insert(0, ".")
import case
a = case.whole("one.npz")
meta = json.loads(a["meta.json"])
assert meta["object_names"] == ["zeta", "alpha"] and meta["material_names"] == ["hide"], meta.keys()
assert a["material_color"].tolist() == [[1, 0, 0, 1]] and abs(a["material_surface"][0, 1] - 0.25) < 1e-6
c = a["color"][a["source_vertex"]]
assert np.allclose(c[:25, :3], np.linspace(0, 1, 75).reshape(-1, 3), atol=1e-6) and np.allclose(c[:25, 3], 0.25 * (np.arange(25) % 4)), c
PY
ok $? "names, material, colours and opacity"
for format in usda usdc; do
    "$supple" export -q --rig one.npz --space object -o own.$format && import own.$format -o own.npz && "$python" - 2>>log.txt <<'PY'
import sys
import numpy as np
sys.path.insert(0, ".")
import case
(p, a), (q, b) = case.world("one.npz"), case.world("own.npz")
assert abs(p - q).max() < 1e-6 * np.ptp(p[0], axis=0).max(), abs(p - q).max()
PY
    ok $? "$format: meshes beside each other keep transforms of their own"
done
"$supple" import -q bound.usdc --progress none -o one.npz 2>&1 | grep -q "1 objects are moved by skeletons that are not there"
ok $? "a skeleton that is elsewhere is told"
refuse "a crate older than 0.4.0" old.usdc "binary layer of version 0.3"

# layers that take from layers (usd_stage.h): crates, text and packages of both
mkdir -p geo
"$python" - <<'PY'
import io, json, sys
sys.path.insert(0, ".")
import case
from case import usd
later = {}
for minor in (7, 8):
    for how in ("references", "payload", "payloads", "layers"):
        name = "%s-%d.usdc" % (how, minor)
        later[name] = usd.stage(open(name, "wb"), how, "./geo/varied.usdc", minor)
usd.layer(open("geo/varied.usdc", "wb"), 8, False, True)
text = """#usda 1.0
( metersPerUnit = 0.01 upAxis = "Z" %s )
def Xform "group" ( %s ) {}
"""
crate = io.BytesIO()
usd.layer(crate)
def write(name, *says):
    open(name, "w").write(text % says)
    later[name] = 0
write("text.usda", "", "references = @geo/varied.usdc@</group>")
write("deep.usda", "subLayers = [@text.usda@]", "variants = { string shape = \"solid\" }")
write("one.usda", "", "references = @package.usdz@</group>")
write("named.usda", "", "payload = @./both.usdz[geo/layer.usdc]@</group>")
usd.package("both.usdz", {"scenes/root.usda": (text % ("", "references = @../geo/layer.usdc@</group>")).encode(), "geo/layer.usdc": crate.getvalue()})
later["both.usdz"] = 0
write("none.usda", "", "references = @geo/varied.usdc@</group> variants = { string shape = \"none\" }")
write("lost.usda", "", "references = [@geo/varied.usdc@</group>, @geo/gone.usd@</group>]")
json.dump(later, open("later.json", "w"))
PY
for file in references-7.usdc references-8.usdc payload-7.usdc payload-8.usdc payloads-7.usdc payloads-8.usdc layers-7.usdc layers-8.usdc text.usda deep.usda one.usda named.usda both.usdz; do
    import $file -o one.npz && "$python" -c 'import json, sys; sys.path.insert(0, "."); import case; case.whole("one.npz", json.load(open("later.json"))[sys.argv[1]])' $file 2>>log.txt
    ok $? "$file: what is taken from another layer"
done
import none.usda -o one.npz && "$python" -c 'import numpy as np; assert len(np.load("one.npz")["source_vertex"]) == 4'
ok $? "the variant that is chosen from outside"
"$supple" import -q lost.usda --progress none -o one.npz >said.txt 2>&1 && grep -q "is left out: geo/gone.usd: cannot open" said.txt && "$python" -c 'import sys; sys.path.insert(0, "."); import case; case.whole("one.npz")'
ok $? "a file that is not there is told, and what is there taken"
tetrahedron() { printf 'def Mesh "%s" { point3f[] points = [(0,0,0),(90,0,0),(0,90,0),(0,0,90)] int[] faceVertexCounts = [3,3,3,3] int[] faceVertexIndices = [0,2,1,0,1,3,1,2,3,2,0,3] %s }\n' "$1" "$2"; }
group() { printf 'def Xform "%s" { token purpose = "%s"\n%s }\n' "$1" "$2" "$(tetrahedron "$1Shape" "${3-}")"; }
{ printf '#usda 1.0\n'; group still render; group stand proxy; group lines guide; group other proxy 'token purpose = "default"'; printf 'def PointInstancer "many" { %s }\n' "$(tetrahedron leaf '')"; } >purposes.usda
{ printf '#usda 1.0\n'; group stand proxy; group lines guide; } >proxies.usda
"$supple" import -q purposes.usda --progress none -o one.npz >said.txt 2>&1 && grep -q "3 objects are hidden and were left out.*stand, lines, leaf" said.txt && [ "$("$python" -c 'import json, numpy as np; print(json.loads(np.load("one.npz")["meta.json"])["object_names"])')" = "['still', 'other']" ]
ok $? "guides, proxies beside what they stand in for, and what an instancer puts elsewhere are hidden"
"$supple" import -q proxies.usda --progress none -o one.npz >said.txt 2>&1 && [ "$("$python" -c 'import json, numpy as np; print(json.loads(np.load("one.npz")["meta.json"])["object_names"])')" = "['stand']" ]
ok $? "proxies alone are taken"
printf '#usda 1.0\ndef "a" ( references = @gone.usda@ ) {}\n' >nothing.usda && refuse "nothing but a file that is not there" nothing.usda "holds no mesh with points and faces; it takes from a file that cannot be read: gone.usda"

# what supple writes, as text and as a crate
"$supple" creature -q --vertices 3000 -o pet.glb && import pet.glb --clip Stop --end 6 -o pet.npz || { echo "Bail out! no animation"; exit 1; }
for options in "" "--velocities --normals" "--flat --samples 3"; do
    # shellcheck disable=SC2086
    "$supple" export -q --rig pet.npz $options -o a.usda && "$supple" export -q --rig pet.npz $options -o a.usdc && import a.usda -o text.npz && import a.usdc -o crate.npz &&
        "$python" - 2>>log.txt <<'PY'
import numpy as np
a, b = np.load("text.npz"), np.load("crate.npz")
assert set(a.files) == set(b.files)
for name in a.files:
    if name == "meta.json": continue
    assert a[name].shape == b[name].shape, name
    assert abs(a[name].astype(float) - b[name]).max(initial=0) <= (2e-7 if a[name].dtype.kind == "f" else 0), name   # text has nine digits
PY
    ok $? "our own .usdc is what our own .usda is${options:+, $options}"
done

# cut off anywhere, and with any byte of its tables turned: status 3 or a mesh, never another end
"$python" - <<'PY'
import random
data = bytearray(open("v8.usdc", "rb").read())
random.seed(5)
for k in range(60):
    if k < 30: out = data[:len(data) * k // 30]
    else:
        out = bytearray(data)
        for _ in range(3): out[random.randrange(len(out) // 2, len(out))] ^= 1 << random.randrange(8)
    open("broken%02d.usdc" % k, "wb").write(out)
PY
bad=
for file in broken*.usdc; do
    rm -f no.npz
    "$supple" import -q "$file" --progress none -o no.npz >said.txt 2>&1
    status=$?
    case $status in 0 | 3) ;; *) bad="$bad $file:$status" ;; esac
    [ $status = 0 ] || [ ! -e no.npz ] || bad="$bad $file"
done
[ -z "$bad" ]; ok $? "broken layers end with 3 and leave nothing${bad:+:$bad}"

if ! command -v node >/dev/null || [ ! -d "$modules/three" ]; then
    skip "three.js's package" "three.js is not installed (make viewer)"
else
    cat >write.mjs <<'JS'
import { pathToFileURL } from 'node:url';
import { writeFileSync } from 'node:fs';
const load = (path) => import(pathToFileURL(`${process.argv[2]}/three/${path}`));
const THREE = await load('build/three.module.js'), { USDZExporter } = await load('examples/jsm/exporters/USDZExporter.js');
const scene = new THREE.Scene(), holder = new THREE.Group(), mesh = new THREE.Mesh(new THREE.IcosahedronGeometry(0.5, 1), new THREE.MeshStandardMaterial({ color: '#ff0000' }));
holder.position.set(1, 2, 3), holder.scale.set(1, 2, 1), mesh.rotation.set(0.3, 0.4, 0.5), mesh.name = 'ball';
scene.add(holder), holder.add(mesh), scene.updateMatrixWorld(true);
writeFileSync('three.usdz', new Uint8Array(await new USDZExporter().parseAsync(scene)));
JS
    node write.mjs "$modules" >>log.txt 2>&1 && import three.usdz -o one.npz && "$python" - 2>>log.txt <<'PY'
import sys
import numpy as np
sys.path.insert(0, ".")
import case
p, a = case.world("one.npz")
middle = (p[0].min(0) + p[0].max(0)) / 2
assert abs(middle - [1, 2, 3]).max() < 0.1 and abs(np.ptp(p[0], axis=0) - [1, 2, 1]).max() < 0.1, (middle, np.ptp(p[0], axis=0))
assert a["material_color"][0].tolist()[:1] == [1]
PY
    ok $? "three.js's package, whose root takes its meshes from other layers"
fi
echo "1..$count"
