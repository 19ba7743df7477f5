#!/bin/sh
# What comes in goes out: mesh sequences through import and export without displacement, in every cache format. Polygons,
# texture coordinates, object names and the order of vertices are the source's, positions equal to float precision.
. "$(dirname "$0")/tap.sh"
need_numpy "round trips"
: >log.txt

# Two objects in centimetres, z up: a bag of quads with a pentagon and seams (vertices that stand twice), and a plate far off
# it; texture coordinates shared between corners; frames 1001 to 1006, travelling 3 m. Writes files and reads them back.
cat >case.py <<'PY'
import glob, struct, sys
import numpy as np
F, START = 6, 1001
random = np.random.default_rng(3)
rest = np.array([[x, y, z] for z in range(3) for y in range(3) for x in range(3)], float) * 20 + random.uniform(-1, 1, (27, 3))
rest = np.vstack([rest, rest[[0, 1, 2]], [[300, 0, 5], [320, 0, 5], [320, 20, 6], [300, 20, 5]]])
faces = [[0, 3, 4, 1], [1, 4, 5, 2], [3, 6, 7, 8, 4], [4, 8, 5], [18, 19, 22, 21], [19, 20, 23, 22], [27, 28, 10, 9], [28, 29, 11, 10],
         [9, 10, 19, 18], [10, 11, 20, 19], [30, 31, 32, 33]]
uv = random.random((9, 2)).astype("f4")
coordinate = [[(7 * a + k) % 9 for k, a in enumerate(f)] for f in faces]
objects = [("the bag", range(30)), ("plate.002", range(30, 34))]

def frame(f):
    a = 0.02 * f * rest[:, [0]] / 40
    p = rest.copy()
    p[:, [0]], p[:, [2]] = rest[:, [0]] * np.cos(a) + 60 * f, rest[:, [2]] + rest[:, [0]] * np.sin(a)
    return p.astype("f4")

def write(path, f):
    p, face = frame(f), 0
    with open(path, "w") as o:
        for name, own in objects:
            o.write("o %s\n" % name)
            for v in own:
                o.write("v %.9g %.9g %.9g\n" % tuple(p[v]))
            if face == 0:
                for c in uv:
                    o.write("vt %.9g %.9g\n" % tuple(c))
            while face < len(faces) and faces[face][0] in own:
                o.write("f " + " ".join("%d/%d" % (a + 1, b + 1) for a, b in zip(faces[face], coordinate[face])) + "\n")
                face += 1

def read(path):
    points, coordinates, polygons, textures, names, holder = [], [], [], [], [], []
    for line in open(path):
        w = line.split(None, 1)
        if not w or w[0] == "#": continue
        if w[0] == "v": points.append([float(x) for x in w[1].split()]), holder.append(names[-1])
        if w[0] == "vt": coordinates.append([float(x) for x in w[1].split()])
        if w[0] == "o": names.append(w[1].rstrip("\n"))
        if w[0] == "f":
            polygons.append([int(c.split("/")[0]) - 1 for c in w[1].split()])
            textures.append([int(c.split("/")[1]) - 1 for c in w[1].split()])
    return np.array(points), np.array(coordinates, "f4"), polygons, textures, names, holder

def near(a, f, what):
    want = frame(f)
    worst = abs(a - want).max() / abs(want).max()
    assert a.shape == want.shape and worst < 2.5e-7, (what, f, worst)

def check_obj(folder, base=START):
    paths = sorted(glob.glob(folder + "/*.obj"))
    assert len(paths) == F and paths[0].endswith("%04d.obj" % base), paths
    for f, path in enumerate(paths):
        points, coordinates, polygons, textures, names, holder = read(path)
        near(points, f, path)
        assert polygons == faces, path
        assert names == [n for n, _ in objects] and holder == [n for n, own in objects for v in own], (names, holder)
        assert all((coordinates[t] == uv[c]).all() for t, c in zip(textures, coordinate)), path

def check_cache(kind, path):
    data = open(path, "rb").read()
    if kind == "pc2":
        count, samples = struct.unpack("<i", data[16:20])[0], struct.unpack("<i", data[28:32])[0]
        body = np.frombuffer(data, "<f4", offset=32)
        assert struct.unpack("<f", data[20:24])[0] == START
    else:
        samples, count = struct.unpack(">ii", data[:8])
        body = np.frombuffer(data, ">f4", offset=8 + 4 * samples)
    assert (samples, count) == (F, len(rest)), (samples, count)
    for f, p in enumerate(body.reshape(F, -1, 3)): near(p, f, path)

if sys.argv[1] == "make":
    for f in range(F): write("in.%04d.obj" % (START + f), f)
elif sys.argv[1] == "obj": check_obj(sys.argv[2])
else: check_cache(sys.argv[1], sys.argv[2])
PY
"$python" case.py make
run() { "$@" >>log.txt 2>&1; }
objs() {   # ANIM FOLDER: exports an OBJ a frame and compares all it holds
    mkdir "$2" && run supple export -q --progress none --rig "$1" -o "$2/x.%04d.obj" && run "$python" case.py obj "$2"
}
run supple import -q --progress none 'in.%04d.obj' --up z --unit cm --rate 24 -o obj.anim.npz && objs obj.anim.npz from-obj
ok $? "OBJ to OBJ: polygons, texture coordinates, names, order, positions, frame numbers"
for kind in pc2 mdd; do
    run supple export -q --progress none --rig obj.anim.npz -o out.$kind && run "$python" case.py $kind out.$kind
    ok $? "OBJ to ${kind}: positions and order"
    run supple import -q --progress none out.$kind --neutral in.1001.obj --up z --unit cm --rate 24 -o $kind.anim.npz && objs $kind.anim.npz from-$kind &&
        run supple export -q --progress none --rig $kind.anim.npz -o again.$kind && run "$python" case.py $kind again.$kind
    ok $? "$kind to $kind and to OBJ, with what the neutral mesh holds"
done
# A coordinate a corner, as many programs write Alembic: those that agree at a vertex are one again.
"$python" - <<'PY'
import io, zipfile, numpy as np
a = dict(np.load("obj.anim.npz"))
meta = zipfile.ZipFile("obj.anim.npz").read("meta.json")
a.pop("meta.json", None)
a["uv"], a["uv_indices"] = a["uv"][a["uv_indices"]], np.arange(len(a["uv_indices"]), dtype=np.int32)
with zipfile.ZipFile("islands.anim.npz", "w") as z:
    for k, v in a.items():
        b = io.BytesIO(); np.save(b, v); z.writestr(k + ".npy", b.getvalue())
    z.writestr("meta.json", meta)
PY
run supple export -q --progress none --rig islands.anim.npz -o islands.abc &&
    run supple import -q --progress none islands.abc --up z --unit cm -o islands.npz && objs islands.npz from-islands && "$python" - <<'PY' >>log.txt 2>&1
import numpy as np
x, y = np.load("islands.npz"), np.load("obj.anim.npz")
joined = np.unique(np.column_stack([y["face_indices"], y["uv"][y["uv_indices"]]]), axis=0)
assert len(x["uv"]) == len(joined) < len(x["uv_indices"]), (len(x["uv"]), len(joined), len(x["uv_indices"]))
PY
ok $? "Alembic with a texture coordinate a corner: equal ones at a vertex are one"
for space in world local; do
    run supple export -q --progress none --rig obj.anim.npz --space $space -o $space.abc &&
        run supple import -q --progress none $space.abc --up z --unit cm -o $space.anim.npz && objs $space.anim.npz from-$space-abc &&
        run supple export -q --progress none --rig $space.anim.npz -o again.abc && run supple import -q --progress none again.abc --up z --unit cm -o again.npz &&
        objs again.npz again-$space
    ok $? "OBJ to Alembic in $space space, to OBJ and to Alembic again"
done
echo "1..$count"
