#!/usr/bin/python3
"""Writes binary USD layers after OpenUSD's description of crates (crateFile.h, crateDataTypes.h), packed as other writers do it, which
supple's own does not: LZ4 that repeats, whole numbers as differences, floats as whole ones or from a table, small values in their
words; prims in another order than their sorted paths; every version since 0.4.0."""
import collections
import io
import struct
import zipfile

import numpy as np

ARRAY, INLINED, PACKED = 1 << 63, 1 << 62, 1 << 61
TYPES = {"bool": 1, "int": 3, "half": 7, "float": 8, "double": 9, "token": 11, "matrix4d": 15, "quatf": 17, "vec3d": 23, "vec3f": 24, "vec2f": 20,
         "paths": 34, "references": 35, "tokens": 41, "specifier": 42, "selections": 45, "samples": 46, "payload": 47, "doubles": 48,
         "offsets": 49, "strings": 50, "block": 51, "payloads": 55}
PRIM, LAYER, ATTRIBUTE, RELATIONSHIP, VARIANT, VARIANT_SET = 6, 7, 1, 8, 10, 11


def lz4(data):
    """One block: greedy, repetitions found by their first four bytes."""
    out, seen, at, kept, n = bytearray(), {}, 0, 0, len(data)

    def put(literals, repeated, back):
        short = lambda k: min(k, 15)
        out.append(short(len(literals)) << 4 | (short(repeated - 4) if back else 0))
        def longer(k):
            k -= 15
            while k >= 0:
                out.append(min(k, 255))
                k -= 255
                if out[-1] < 255: break
        if len(literals) >= 15: longer(len(literals))
        out.extend(literals)
        if back:
            out.extend(struct.pack("<H", back))
            if repeated - 4 >= 15: longer(repeated - 4)

    while at + 12 < n:   # the last bytes are literals, as the format asks for
        word, before = data[at:at + 4], seen.get(data[at:at + 4])
        seen[word] = at
        if before is None or at - before > 65535:
            at += 1
            continue
        length = 4
        while at + length < n - 5 and data[before + length] == data[at + length]: length += 1
        put(data[kept:at], length, at - before)
        at += length
        kept = at
    put(data[kept:], 0, 0)
    return bytes(out)


def pack(data, chunks=1):
    if chunks == 1: return b"\0" + lz4(data)
    cut = [len(data) * k // chunks for k in range(chunks + 1)]
    return bytes([chunks]) + b"".join(struct.pack("<i", len(block)) + block for block in (lz4(data[a:b]) for a, b in zip(cut, cut[1:])))


def pack_integers(values, chunks=1):
    change = np.diff(np.asarray(values, "i8"), prepend=0)
    common = collections.Counter(change.tolist()).most_common(1)[0][0] if len(change) else 0
    codes, rest = bytearray((2 * len(change) + 7) // 8), bytearray()
    for i, d in enumerate(change.tolist()):
        kind = 0 if d == common else 1 if -128 <= d < 128 else 2 if -32768 <= d < 32768 else 3
        codes[i // 4] |= kind << (2 * (i % 4))
        rest += struct.pack({0: "", 1: "<b", 2: "<h", 3: "<i"}[kind], *([d] if kind else []))
    return pack(struct.pack("<i", common) + bytes(codes) + bytes(rest), chunks)


class Crate:
    def __init__(self, minor=8):
        self.minor, self.data, self.tokens, self.fields, self.sets, self.paths, self.specs = minor, bytearray(88), [";-)"], [], [], [], []
        self.texts = []

    def token(self, text):
        if text not in self.tokens: self.tokens.append(text)
        return self.tokens.index(text)

    def string(self, text):
        token = self.token(text)
        if token not in self.texts: self.texts.append(token)
        return self.texts.index(token)

    def put(self, data):
        self.data += b"\0" * (-len(self.data) % 8)
        at = len(self.data)
        self.data += data
        return at

    def count(self, n):
        return struct.pack("<iI", 1, n) if self.minor < 5 else struct.pack("<I", n) if self.minor < 7 else struct.pack("<Q", n)

    def word(self, kind, payload, bits=0): return bits | TYPES[kind] << 48 | payload

    def name(self, text): return self.word("token", self.token(text), INLINED)
    def small(self, kind, value): return self.word(kind, value, INLINED)
    def single(self, kind, form, values): return self.word(kind, self.put(struct.pack("<" + form, *values)))
    def bytes3(self, kind, values): return self.word(kind, int.from_bytes(struct.pack("<%db" % len(values), *values), "little"), INLINED)   # whole and small
    def number(self, value): return self.word("double", struct.unpack("<I", struct.pack("<f", value))[0], INLINED)

    def array(self, kind, values, dtype): return self.word(kind, self.put(self.count(len(values)) + np.ascontiguousarray(values, dtype).tobytes()), ARRAY)

    def integers(self, values):
        packed = pack_integers(values, 2)
        return self.word("int", self.put(self.count(len(values)) + struct.pack("<Q", len(packed)) + packed), ARRAY | PACKED)

    def floats(self, values, kind="float", dtype="<f4"):
        values = np.asarray(values, dtype)
        if (values == np.round(values)).all():
            packed = pack_integers(values.astype("i4"))
            body = b"i"
        else:
            table, index = np.unique(values, return_inverse=True)
            packed = pack_integers(index)
            body = b"t" + struct.pack("<I", len(table)) + table.tobytes()
        return self.word(kind, self.put(self.count(len(values)) + body + struct.pack("<Q", len(packed)) + packed), ARRAY | PACKED)

    def names(self, texts): return self.word("token", self.put(self.count(len(texts)) + struct.pack("<%dI" % len(texts), *map(self.token, texts))), ARRAY)
    def listed(self, texts): return self.word("tokens", self.put(struct.pack("<Q%dI" % len(texts), len(texts), *map(self.token, texts))))
    def target(self, path): return self.word("paths", self.put(struct.pack("<BQI", 3, 1, path)))

    def arcs(self, kind, lists):
        """lists: {bit: [(asset, path, offset, scale), ...]}, in the order of the format: 2 explicit, 4 added, 32 prepended, 64 appended, 8 deleted."""
        data = struct.pack("<B", sum(lists) | (1 if 2 in lists else 0))
        for items in lists.values():
            data += struct.pack("<Q", len(items))
            for asset, path, offset, scale in items:
                if kind != "paths": data += struct.pack("<I", self.string(asset))
                data += struct.pack("<I", path)
                if kind == "references" or (kind == "payloads" and self.minor >= 8): data += struct.pack("<2d", offset, scale)
                if kind == "references": data += struct.pack("<QIqQ", 1, self.string("note"), 8, self.small("bool", 1))   # a dictionary
        return self.word(kind, self.put(data))

    def payload(self, asset, path): return self.word("payload", self.put(struct.pack("<II", self.string(asset), path) + (struct.pack("<2d", 0, 1) if self.minor >= 8 else b"")))
    def layers(self, names): return self.word("strings", self.put(struct.pack("<Q%dI" % len(names), len(names), *map(self.string, names))))
    def offsets(self, pairs): return self.word("offsets", self.put(struct.pack("<Q", len(pairs)) + b"".join(struct.pack("<2d", *p) for p in pairs)))
    def selections(self, chosen): return self.word("selections", self.put(struct.pack("<Q", len(chosen)) + b"".join(struct.pack("<II", self.string(k), self.string(v)) for k, v in chosen.items())))

    def samples(self, times, values):
        stored = self.word("doubles", self.put(struct.pack("<Q%dd" % len(times), len(times), *times)))
        return self.word("samples", self.put(struct.pack("<qQqQ%dQ" % len(values), 8, stored, 8, len(values), *values)))

    def path(self, parent, name, is_property=False):
        self.paths.append((parent, name, is_property))
        return len(self.paths) - 1

    def spec(self, path, kind, **fields):
        first = len(self.sets)
        for name, value in fields.items():
            entry = (self.token(name), value)
            if entry not in self.fields: self.fields.append(entry)
            self.sets.append(self.fields.index(entry))
        self.sets.append(-1)
        self.specs.append((path, first, kind))

    def attribute(self, prim, name, kind, **fields): self.spec(self.path(prim, name, True), ATTRIBUTE, typeName=self.name(kind), **fields)

    def save(self, file):
        order, names, jumps = [], [], []
        children = lambda at: sorted((k for k, p in enumerate(self.paths) if p[0] == at), key=lambda k: (self.paths[k][2], self.paths[k][1]))
        def walk(at, more):
            here = len(order)
            order.append(at), names.append((-1 if self.paths[at][2] else 1) * self.token(self.paths[at][1])), jumps.append(0)
            below = children(at)
            for i, child in enumerate(below): walk(child, i + 1 < len(below))
            jumps[here] = (len(order) - here if more else -1) if below else (0 if more else -2)
        walk(0, False)
        def section(*parts):
            return b"".join(struct.pack("<Q", p) if isinstance(p, int) else struct.pack("<Q", len(p)) + p for p in parts)
        text = "".join(t + "\0" for t in self.tokens).encode()
        tables = [("TOKENS", section(len(self.tokens), len(text), pack(text, 2))), ("STRINGS", struct.pack("<Q%dI" % len(self.texts), len(self.texts), *self.texts)),
                  ("FIELDS", section(len(self.fields), pack_integers([f[0] for f in self.fields]), pack(struct.pack("<%dQ" % len(self.fields), *[f[1] for f in self.fields])))),
                  ("FIELDSETS", section(len(self.sets), pack_integers(self.sets))),
                  ("PATHS", section(len(self.paths), len(order), pack_integers(order), pack_integers(names), pack_integers(jumps))),
                  ("SPECS", section(len(self.specs), *[pack_integers([s[i] for s in self.specs]) for i in (0, 1, 2)]))]
        rows = [(name, self.put(data), len(data)) for name, data in tables]
        contents = self.put(struct.pack("<Q", len(rows)) + b"".join(struct.pack("<16sQQ", n.encode(), at, size) for n, at, size in rows))
        self.data[:88] = struct.pack("<8s8BQ64x", b"PXR-USDC", 0, self.minor, 0, 0, 0, 0, 0, 0, contents)
        file.write(self.data)


SIDE, FRAMES, FIRST = 5, 4, 101


def sheet(frame):
    """(SIDE², 3) of a sheet that waves, cm; what a mesh's own points are."""
    y, x = np.mgrid[0:SIDE, 0:SIDE] * 10.0
    return np.stack([x, y, 3 * np.sin(0.1 * x + 0.5 * frame)], -1).reshape(-1, 3)


def quads():
    return [[a, a + 1, a + SIDE + 1, a + SIDE] for r in range(SIDE - 1) for a in range(r * SIDE, r * SIDE + SIDE - 1)]


def expected(frame):
    """World positions, cm with z up: the sheet "zeta" under a turned and stretched group, then the tetrahedron "alpha"."""
    turned = sheet(frame) * [2, 1, 1]
    turned = np.stack([-turned[:, 1], turned[:, 0], turned[:, 2]], -1) + [5 * frame, 0, 1]   # a quarter about z
    return np.vstack([turned, 10.0 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) + [100, 0, 0]])


def layer(file, minor=8, skeleton=False, varied=False):
    """varied: zeta is there in one of two variants, which is chosen; so it stands before alpha, as what is weaker does."""
    c = Crate(minor)
    root = c.path(-1, "")
    group, hide = c.path(root, "group"), c.path(root, "hide")
    if varied:
        sets, chosen, other = [c.path(group, "{shape=%s}" % name) for name in ("", "solid", "none")]
        c.spec(sets, VARIANT_SET, variantChildren=c.listed(["none", "solid"]))
        for variant in (chosen, other): c.spec(variant, VARIANT, specifier=c.small("specifier", 1))
        nothing = c.path(other, "zeta")
        c.spec(nothing, PRIM, specifier=c.small("specifier", 0), typeName=c.name("Scope"))
    zeta, alpha = c.path(chosen if varied else group, "zeta"), c.path(group, "alpha")
    c.spec(root, LAYER, metersPerUnit=c.number(0.01), upAxis=c.name("Z"), timeCodesPerSecond=c.number(24.0), primChildren=c.listed(["group", "hide"]))
    choice = {"variantSelection": c.selections({"shape": "solid"})} if varied else {}
    c.spec(group, PRIM, specifier=c.small("specifier", 0), typeName=c.name("Xform"), primChildren=c.listed(["alpha"] if varied else ["zeta", "alpha"]), **choice)
    c.spec(zeta, PRIM, specifier=c.small("specifier", 0), typeName=c.name("Mesh"), active=c.small("bool", 1))
    times = [float(FIRST + k) for k in range(FRAMES)]
    half = np.sqrt(0.5)
    c.attribute(zeta, "xformOp:translate", "double3", timeSamples=c.samples(times, [c.bytes3("vec3d", [5 * k, 0, 1]) for k in range(FRAMES)]))
    c.attribute(zeta, "xformOp:orient", "quatf", default=c.single("quatf", "4f", [0, 0, half, half]))   # real part last
    c.attribute(zeta, "xformOp:scale", "float3", default=c.bytes3("vec3f", [2, 1, 1]))
    c.attribute(zeta, "xformOpOrder", "token[]", default=c.names(["xformOp:translate", "xformOp:orient", "xformOp:scale"]))
    c.attribute(zeta, "points", "point3f[]", timeSamples=c.samples(times + [900.0], [c.array("vec3f", sheet(k), "<f4") for k in range(FRAMES)] + [c.small("block", 0)]))
    c.attribute(zeta, "faceVertexCounts", "int[]", default=c.integers([4] * len(quads())))
    c.attribute(zeta, "faceVertexIndices", "int[]", default=c.integers(np.ravel(quads())))
    uv = np.mgrid[0:SIDE, 0:SIDE].reshape(2, -1).T / (SIDE - 1)
    c.attribute(zeta, "primvars:st", "texCoord2f[]", default=c.array("vec2f", uv, "<f4"), interpolation=c.name("vertex"))
    c.attribute(zeta, "primvars:displayColor", "color3f[]", default=c.array("vec3f", np.linspace(0, 1, 3 * SIDE * SIDE).reshape(-1, 3), "<f4"), interpolation=c.name("vertex"))
    c.attribute(zeta, "primvars:displayOpacity", "float[]", default=c.floats([0.25 * (v % 4) for v in range(SIDE * SIDE)]), interpolation=c.name("vertex"))
    if skeleton: c.attribute(zeta, "primvars:skel:jointIndices", "int[]", default=c.integers([0] * SIDE * SIDE), interpolation=c.name("vertex"))
    c.spec(c.path(zeta, "material:binding", True), RELATIONSHIP, targetPaths=c.target(hide))
    c.spec(alpha, PRIM, specifier=c.small("specifier", 0), typeName=c.name("Mesh"))
    c.attribute(alpha, "xformOp:transform", "matrix4d", default=c.single("matrix4d", "16d", [10, 0, 0, 0, 0, 10, 0, 0, 0, 0, 10, 0, 100, 0, 0, 1]))
    c.attribute(alpha, "xformOpOrder", "token[]", default=c.names(["xformOp:transform"]))
    c.attribute(alpha, "points", "point3f[]", default=c.array("vec3f", [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "<f4"))
    c.attribute(alpha, "faceVertexCounts", "int[]", default=c.word("int", c.put(c.count(4) + struct.pack("<4i", 3, 3, 3, 3)), ARRAY | PACKED))   # too few to be packed
    c.attribute(alpha, "faceVertexIndices", "int[]", default=c.array("int", [0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3], "<i4"))
    c.spec(hide, PRIM, specifier=c.small("specifier", 0), typeName=c.name("Material"), primChildren=c.listed(["shader"]))
    shader = c.path(hide, "shader")
    c.spec(shader, PRIM, specifier=c.small("specifier", 0), typeName=c.name("Shader"))
    c.attribute(shader, "inputs:diffuseColor", "color3f", default=c.bytes3("vec3f", [1, 0, 0]))
    c.attribute(shader, "inputs:roughness", "float", default=c.word("float", struct.unpack("<I", struct.pack("<f", 0.25))[0], INLINED))
    c.save(file)


def stage(file, how, asset, minor=8):
    """A layer that takes "group" from one of layer()'s, by references, payload, payloads (of a class that it inherits) or layers; 10 time codes
    later where there is room to say so."""
    c = Crate(minor)
    root = c.path(-1, "")
    group, own = c.path(root, "group"), c.path(root, "_class")
    there = {"references": 10, "layers": 10, "payloads": 10 if minor >= 8 else 0, "payload": 0}[how]
    more = {"subLayers": c.layers([asset]), "subLayerOffsets": c.offsets([(there, 1)])} if how == "layers" else {}
    c.spec(root, LAYER, metersPerUnit=c.number(0.01), upAxis=c.name("Z"), timeCodesPerSecond=c.number(24.0), primChildren=c.listed(["group", "_class"]), **more)
    arcs = {"references": lambda: {"references": c.arcs("references", {32: [(asset, group, there, 1)], 8: [("gone.usdc", group, 0, 1)]})},
            "payload": lambda: {"payload": c.payload(asset, group)}, "layers": dict,
            "payloads": lambda: {"inheritPaths": c.arcs("paths", {2: [("", own, 0, 1)]})}}[how]()
    c.spec(group, PRIM, specifier=c.small("specifier", 1 if how == "layers" else 0), typeName=c.name("Xform"), **arcs)
    c.spec(own, PRIM, specifier=c.small("specifier", 2), typeName=c.name("Xform"),
           **({"payload": c.arcs("payloads", {4: [(asset, group, there, 1)]})} if how == "payloads" else {}))
    c.save(file)
    return there


def package(path, files=None):
    """A .usdz: layers stored, each at a multiple of 64 bytes; layer()'s alone without files."""
    data = io.BytesIO()
    layer(data)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as out:
        for name, content in (files or {"layer.usdc": data.getvalue()}).items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            room = -(out.fp.tell() + 30 + len(name) + 4) % 64
            info.extra = struct.pack("<HH", 0x1986, room) + b"\0" * room
            out.writestr(info, content)
