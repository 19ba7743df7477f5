"""A small character made by hand for the test of supple export, and independent readers of what export writes.

make FOLDER: model.npz, shot.anim.npz, and runs zero.sim.npz (q = 0), moving.sim.npz (q), full.sim.npz (u), with
expected_*.npy: (frames, source vertices, 3) in the world, in the source's unit and up axis, worked out here.
check KIND FILE EXPECTED [TOLERANCE]: reads FILE by its format's own rules and compares."""
import json, re, struct, sys, zipfile, zlib, io
import numpy as np

F, FPS, START, UNIT = 12, 24.0, 1001, 0.01


def save(path, meta, **arrays):
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, np.ascontiguousarray(array))
            archive.writestr(name + ".npy", buffer.getvalue())
        archive.writestr("meta.json", json.dumps(meta))


def turn(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    m = np.eye(3)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    m[i, i], m[i, j], m[j, i], m[j, j] = c, -s, s, c
    return m


def make(folder):
    random = np.random.default_rng(5)
    # flesh: a cube of five tets; skin: a smaller cube inside, two objects (five quads, one quad of a rigid vertex each)
    corner = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], float)
    vertices = corner * 1.0 - 0.5
    tets = np.array([[0, 1, 2, 4], [3, 2, 1, 7], [5, 4, 7, 1], [6, 7, 4, 2], [1, 2, 4, 7]], np.int32)
    for t in tets:
        if np.linalg.det(vertices[t[1:]] - vertices[t[0]]) < 0: t[2], t[3] = t[3], t[2]
    surface = []
    for a, b, c, d in tets.tolist():
        for face in ((b, c, d), (a, d, c), (a, b, d), (a, c, b)):
            if not any(set(face) < set(t) and set(t) != {a, b, c, d} for t in tets.tolist()): surface.append(face)
    neutral = corner * 0.8 - 0.4
    nbar, n = 8, 8
    embed_tet, embed_bary = np.zeros(nbar, np.int32), np.zeros((nbar, 4))
    for v, p in enumerate(neutral):
        best = None
        for k, t in enumerate(tets):
            w = np.linalg.solve(np.vstack([vertices[t].T, np.ones(4)]), np.append(p, 1))
            if best is None or w.min() > best[1].min(): best = (k, w)
        embed_tet[v], embed_bary[v] = best
    rigid = np.zeros(nbar, np.uint8)
    rigid[7] = 1
    distance = np.linalg.norm(vertices[:, None] - neutral[None], axis=2)
    shepard_index = np.argsort(distance, axis=1, kind="stable")[:, :4].astype(np.int32)
    shepard_weight = 1 / np.take_along_axis(distance, shepard_index, 1)
    shepard_weight /= shepard_weight.sum(1, keepdims=True)
    basis = random.normal(size=(1, 2, n, 3)).astype(np.float32)
    model = dict(
        vertices=vertices, tets=tets, surface=np.array(surface, np.int32), fixed=np.array([0], np.int32), neutral=neutral,
        embed_tet=embed_tet, embed_bary=embed_bary, shepard_index=shepard_index, shepard_weight=shepard_weight, rigid=rigid,
        params=np.zeros((1, 1)), param_scale=np.ones(1), rbf=np.zeros((1, 1)), corrections=np.zeros((1, n, 3)),
        young=np.full((1, 1), 1e4), poisson=np.full((1, 1), 0.45), density=np.full(5, 1000.0),
        region_vertices=np.arange(n, dtype=np.int32), region_vertex_offsets=np.array([0, n], np.int32),
        basis_blocks=basis.ravel(), basis_block_offsets=np.array([0, basis.size], np.int64), mode_region=np.zeros(2, np.int32),
        gram=np.eye(2)[None, None], cubature_tets=np.zeros(1, np.int32), cubature_weights=np.ones((1, 1)),
        inertia_vertices=np.array([1], np.int32), inertia_weights=np.ones(1))
    save(folder + "/model.npz", dict(kind="supple.model", version=1, param_names=["bend"]), **model)

    # source: quads of the cube; vertex 0 stands twice (a seam); the last quad is an object of its own
    source = np.array([0, 1, 2, 3, 4, 5, 6, 7, 0, 4, 5, 7, 6], np.int32)
    quads = [[0, 2, 3, 1], [4, 5, 7, 6], [8, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5], [9, 10, 11, 12]]
    ids = np.array([0] * 9 + [1] * 4, np.int32)
    uv = random.random((5, 2)).astype(np.float32)
    times = (START + np.arange(F)) / FPS
    root = np.tile(np.eye(4), (F, 1, 1))
    for k in range(F):
        root[k, :3, :3] = turn(1, 0.3 * k) @ turn(0, 0.1 * k)
        root[k, :3, 3] = 0.1 * k, 0.02 * k * k, -0.3
    points = np.tile(neutral, (F, 1, 1)).astype(np.float32)   # the rest shape stays: rotations of the flesh are 1
    xform = np.tile(np.eye(4), (2, 1, 1))
    xform[1, :3, :3], xform[1, :3, 3] = 0.01 * turn(2, 0.5), (1, 2, 3)
    xform[0, :3, :3] *= 0.01
    save(folder + "/shot.anim.npz",
         dict(kind="supple.anim", version=1, fps=FPS, frame_start=START, source_unit=UNIT, source_up="z", clip="test",
              source="none", param_names=["bend"], object_names=["body", "a plate"]),
         points=points, root=root, neutral=neutral,
         triangles=np.array([[0, 2, 3], [0, 3, 1], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4], [2, 6, 7], [2, 7, 3], [0, 4, 6],
                             [0, 6, 2], [1, 3, 7], [1, 7, 5]], np.int32),
         face_counts=np.full(7, 4, np.int32), face_indices=np.array(quads, np.int32).ravel(), source_vertex=source, times=times,
         params=np.zeros((F, 1)), uv=uv, uv_indices=(np.arange(28) % 5).astype(np.int32), object_ids=ids, object_xform=xform,
         rigid=rigid)

    def expect(name, u):   # u (F,n,3)
        displacement = np.einsum("vc,fvcd->fvd", embed_bary, u[:, tets[embed_tet]])
        displacement[:, rigid == 1] = 0
        world = np.einsum("fij,fvj->fvi", root[:, :3, :3], points + displacement) + root[:, None, :3, 3]
        world = np.stack([world[..., 0], -world[..., 2], world[..., 1]], -1) / UNIT   # y up to z up, metres to units
        np.save(folder + "/expected_%s.npy" % name, world[:, source])

    common = dict(times=times, energy=np.zeros((F, 3)), iterations=np.ones(F, np.int32), status=np.zeros(F, np.int32),
                  weights=np.ones((F, 1)))
    meta = dict(kind="supple.sim", version=1, fps=FPS)
    q = 0.05 * random.normal(size=(F, 2))
    u = 0.05 * random.normal(size=(F, n, 3))
    save(folder + "/zero.sim.npz", meta, q=0 * q, qdot=0 * q, **common)
    save(folder + "/moving.sim.npz", meta, q=q, qdot=0 * q, **common)
    save(folder + "/full.sim.npz", meta, u=u, **common)
    bad = q.copy()
    bad[3, 0] = 1e300
    save(folder + "/wild.sim.npz", meta, q=bad, qdot=0 * q, **common)
    short = {k: v[:-1] for k, v in common.items()}
    save(folder + "/short.sim.npz", meta, q=q[:-1], qdot=0 * q[:-1], **short)
    expect("zero", 0 * u)
    expect("moving", np.einsum("fr,rnd->fnd", q, basis[0].astype(float)))
    expect("full", u)


def read_image(path):
    """OpenEXR without compression, or PNG of 16 bits, as (height, width, 3) in R G B; PNG as fractions."""
    data = open(path, "rb").read()
    if path.endswith(".png"):
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        at, packed = 8, b""
        while at < len(data):
            (size,), kind, body = struct.unpack(">I", data[at:at + 4]), data[at + 4:at + 8], data[at + 8:at + 8 + struct.unpack(">I", data[at:at + 4])[0]]
            assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
            if kind == b"IHDR": width, height, bits, colour, *rest = struct.unpack(">IIBBBBB", body)
            if kind == b"IDAT": packed += body
            at, last = at + 12 + size, kind
        assert last == b"IEND" and (bits, colour, rest) == (16, 2, [0, 0, 0])
        rows, above, out = zlib.decompress(packed), np.zeros(6 * width, np.uint8), []
        assert len(rows) == height * (1 + 6 * width)
        for y in range(height):
            row = np.frombuffer(rows, np.uint8, 6 * width, y * (1 + 6 * width) + 1)
            assert rows[y * (1 + 6 * width)] == 2   # filter "up"
            above = row + above
            out.append(above)
        return np.frombuffer(np.array(out).tobytes(), ">u2").reshape(height, width, 3) / 65535.0
    assert struct.unpack("<II", data[:8]) == (20000630, 2)
    at, head = 8, {}
    while data[at]:
        name, kind = data[at:].split(b"\0", 2)[:2]
        at += len(name) + len(kind) + 2
        size = struct.unpack("<I", data[at:at + 4])[0]
        head[name.decode()] = data[at + 4:at + 4 + size]
        at += 4 + size
    assert head["compression"] == b"\0" and head["lineOrder"] == b"\0"
    x0, y0, x1, y1 = struct.unpack("<4i", head["dataWindow"])
    width, height = x1 - x0 + 1, y1 - y0 + 1
    channels = [(head["channels"][i:i + 1], struct.unpack("<i", head["channels"][i + 2:i + 6])[0]) for i in (0, 18, 36)]
    assert [c for c, _ in channels] == [b"B", b"G", b"R"] and len(set(t for _, t in channels)) == 1
    kind = {1: "<f2", 2: "<f4"}[channels[0][1]]
    offsets, image = np.frombuffer(data, "<u8", height, at + 1), np.zeros((height, width, 3))
    for y, offset in enumerate(offsets.tolist()):
        line, size = struct.unpack("<ii", data[offset:offset + 8])
        assert line == y and size == 3 * width * np.dtype(kind).itemsize
        image[y] = np.frombuffer(data, kind, 3 * width, offset + 8).reshape(3, width)[::-1].T
    assert offset + 8 + size == len(data)
    return image


def read(kind, path):
    """Positions (frames, vertices, 3) and a dictionary of what else the file says."""
    if kind == "npy": return np.load(path), {}
    data = open(path, "rb").read() if kind in ("pc2", "mdd") else b""
    if kind == "pc2":
        magic, version, points, start, rate, samples = struct.unpack("<12siiffi", data[:32])
        assert magic == b"POINTCACHE2\0" and version == 1 and len(data) == 32 + 12 * points * samples
        return np.frombuffer(data, "<f4", offset=32).reshape(samples, points, 3), dict(start=start, rate=rate)
    if kind == "mdd":
        samples, points = struct.unpack(">ii", data[:8])
        assert len(data) == 8 + 4 * samples + 12 * points * samples
        return (np.frombuffer(data, ">f4", offset=8 + 4 * samples).reshape(samples, points, 3),
                dict(times=np.frombuffer(data, ">f4", samples, 8)))
    if kind == "obj":
        frames = []
        for k in range(START, START + F):
            lines = open(path % k).read().splitlines()
            frames.append([[float(x) for x in line.split()[1:]] for line in lines if line.startswith("v ")])
        faces = [[[int(x) for x in c.split("/")] for c in line.split()[1:]] for line in lines if line.startswith("f ")]
        return np.array(frames), dict(faces=faces, names=[line[2:] for line in lines if line.startswith("o ")])
    if kind == "usda":   # both meshes, one behind the other
        text = open(path).read()

        def samples(attribute):
            found = re.findall(re.escape(attribute) + r"\.timeSamples = \{(.*?)\n            \}", text, re.S)
            return [{float(t): np.array(re.findall(r"\(([^)]*)\)", v)) for t, v in re.findall(r"([-0-9.e]+): \[(.*?)\],\n", f + "\n", re.S)}
                    for f in found]

        def stack(attribute):
            meshes = samples(attribute)
            return np.array([np.vstack([np.array([[float(x) for x in row.split(",")] for row in mesh[t]]) for mesh in meshes])
                             for t in sorted(meshes[0])]) if meshes else None
        return stack("point3f[] points"), dict(velocities=stack("vector3f[] velocities"), normals=stack("normal3f[] normals"),
                                               times=sorted(samples("point3f[] points")[0]), text=text)
    if kind == "glb":   # positions of the source's vertices: metres, y up, turned back into the source's unit and axis
        data = open(path, "rb").read()
        assert struct.unpack("<4sII", data[:12]) == (b"glTF", 2, len(data))
        length = struct.unpack("<I", data[12:16])[0]
        doc, binary = json.loads(data[20:20 + length]), data[28 + length:]

        def get(index):
            a = doc["accessors"][index]
            view, width = doc["bufferViews"][a["bufferView"]], {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}[a["type"]]
            values = np.frombuffer(binary, {5126: "<f4", 5125: "<u4"}[a["componentType"]], a["count"] * width, view["byteOffset"])
            return values.reshape(-1, width) if width > 1 else values
        clip = doc["animations"][0]
        channel = {(c["target"]["path"], c["target"]["node"]): get(clip["samplers"][c["sampler"]]["output"]) for c in clip["channels"]}
        times = get(clip["samplers"][0]["input"])
        assert np.allclose(times, np.arange(len(times)) / FPS, atol=1e-6)
        x, y, z, w = channel["rotation", 0].astype(float).T
        turns = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                          [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                          [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]]).transpose(2, 0, 1)
        out, corner = np.full((len(times), 13, 3), np.nan), 0
        corners = [[0, 2, 3, 1], [4, 5, 7, 6], [8, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]], [[9, 10, 11, 12]]
        for number, mesh in enumerate(doc["meshes"]):
            primitive = mesh["primitives"][0]
            targets = [get(t["POSITION"]) for t in primitive["targets"]]
            weights = channel["weights", 1 + number].reshape(len(times), -1)
            assert weights.shape[1] == len(targets) and abs(np.abs(weights).max() - 1) < 1e-6
            points = get(primitive["attributes"]["POSITION"])[None] + np.einsum("fk,kvi->fvi", weights, np.array(targets, float))
            world = np.einsum("fij,fvj->fvi", turns, points) + channel["translation", 0][:, None]
            triangles = get(primitive["indices"]).reshape(-1, 2, 3)   # two of each quad: corners 0 1 2, 0 2 3
            for quad, (a, b) in zip(corners[number], triangles):
                out[:, quad] = world[:, [a[0], a[1], a[2], b[2]]]
        return np.stack([out[..., 0], -out[..., 2], out[..., 1]], -1) / UNIT, dict(doc=doc)
    if kind == "vat":   # textures by their JSON: metres, y up, turned back into the source's unit and axis
        doc = json.load(open(path))
        folder, V, n = path.rpartition("/")[0] or ".", doc["vertices"], doc["frames"]

        def texture(what):
            image = read_image(folder + "/" + doc[what]["file"])
            assert image.shape == (doc["height"], doc["width"], 3) and doc["height"] == n * doc["rows_per_frame"]
            texels = image.reshape(n, -1, 3)
            assert (texels[:, V:] == 0).all()
            return texels[:, :V] * np.array(doc[what]["scale"]) + np.array(doc[what]["offset"])
        world = texture("positions")
        low, high = np.array(doc["bounds"]["low"]), np.array(doc["bounds"]["high"])
        assert np.abs(world.min((0, 1)) - low).max() < 1e-3 * (high - low).max() and np.abs(world.max((0, 1)) - high).max() < 1e-3 * (high - low).max()
        return np.stack([world[..., 0], -world[..., 2], world[..., 1]], -1) / UNIT, dict(doc=doc, normals=texture("normals"))
    if kind == "anim":   # imported again: metres, y up
        archive = np.load(path)
        meta = json.loads(archive["meta.json"]) if "meta.json" in archive.files else json.load(zipfile.ZipFile(path).open("meta.json"))
        root, points = archive["root"], archive["points"].astype(float)
        world = np.einsum("fij,fvj->fvi", root[:, :3, :3], points) + root[:, None, :3, 3]
        return world[:, archive["source_vertex"]], dict(meta=meta, archive=archive)
    raise ValueError(kind)


def check(kind, path, expected, tolerance=2e-5):
    expected = np.load(expected)
    found, more = read(kind, path)
    assert found.shape == expected.shape, (found.shape, expected.shape)
    worst = np.abs(found - expected).max()
    assert worst < float(tolerance), worst
    faces = [[0, 2, 3, 1], [4, 5, 7, 6], [8, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5], [9, 10, 11, 12]]
    if kind == "pc2": assert more["start"] == START and more["rate"] == 1, more
    if kind == "mdd": assert np.allclose(more["times"], (START + np.arange(F)) / FPS, rtol=1e-6)
    if kind == "obj":
        assert [[c[0] - 1 for c in f] for f in more["faces"]] == faces
        assert [c[1] - 1 for f in more["faces"] for c in f] == [k % 5 for k in range(28)]
        assert more["names"] == ["body", "a plate"], more["names"]
    if kind == "vat":
        doc = more["doc"]
        assert (doc["frames"], doc["fps"], doc["frame_start"], doc["unit"], doc["up"], doc["clip"]) == (F, FPS, START, 1, "y", "test")
        assert np.abs(np.linalg.norm(more["normals"], axis=2) - 1).max() < 2e-3
        glb = open(path.rpartition("/")[0] + "/" + doc["mesh"]["file"] if "/" in path else doc["mesh"]["file"], "rb").read()
        length = struct.unpack("<I", glb[12:16])[0]
        mesh, binary = json.loads(glb[20:20 + length]), glb[28 + length:]
        assert "animations" not in mesh and len(mesh["meshes"]) == 2 and doc["mesh"]["texcoord"] == 1
        image = read_image((path.rpartition("/")[0] or ".") + "/" + doc["positions"]["file"])

        def get(index, width):
            a = mesh["accessors"][index]
            return np.frombuffer(binary, "<f4", a["count"] * width, mesh["bufferViews"][a["bufferView"]]["byteOffset"]).reshape(-1, width)
        for m in mesh["meshes"]:   # looking up where the mesh says finds the mesh's own places in the first frame
            attributes = m["primitives"][0]["attributes"]
            place, position = get(attributes["TEXCOORD_1"], 2), get(attributes["POSITION"], 3)
            texel = image[(place[:, 1] * doc["height"]).astype(int), (place[:, 0] * doc["width"]).astype(int)]
            there = texel * np.array(doc["positions"]["scale"]) + np.array(doc["positions"]["offset"])
            assert np.abs(there - position).max() < float(tolerance) * UNIT * 2, np.abs(there - position).max()
    if kind == "usda":
        assert more["times"] == [START + k for k in range(F)]
        for line in ("metersPerUnit = 0.01", 'upAxis = "Z"', "timeCodesPerSecond = 24", "startTimeCode = 1001", "endTimeCode = 1012",
                     'def Xform "body"', 'def Xform "a_plate"', "[0, 2, 3, 1, 4, 5,", 'subdivisionScheme = "none"'):
            assert line in more["text"], line
        if more["velocities"] is not None:
            rate = np.gradient(expected, 1 / FPS, axis=0)   # central differences, one-sided at the ends
            assert np.abs(more["velocities"] - rate).max() < 1e-2, np.abs(more["velocities"] - rate).max()
        if more["normals"] is not None:
            length = np.linalg.norm(more["normals"], axis=2)
            assert np.abs(length - 1).max() < 1e-5
            centre = expected[:, :9].mean(1, keepdims=True)
            assert (np.einsum("fvi,fvi->fv", more["normals"][:, :9], expected[:, :9] - centre) > 0).all()   # outwards
            assert np.abs(more["normals"][:, 0] - more["normals"][:, 8]).max() < 1e-6   # one normal across the seam
    print("%s: largest difference %.3g" % (kind, worst))


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
