#!/usr/bin/env python3
"""Files as users have them: broken, cut off, half supported, or odd and good. odd_files.py ARM.glb: writes them into the working folder, and `cases`, a line each:
file, tab, what the message must say (a regular expression; empty: the file is good), tab, further options of import."""
import base64, copy, json, struct, sys

cases = []


def case(name, says="", more="", text=None, data=None):
    if text is not None or data is not None:
        with open(name, "wb") as out:
            out.write(data if data is not None else text.encode())
    cases.append(f"{name}\t{says}\t{more}")


# ---- glTF: the arm, and what exporters and editors make of it ----

with open(sys.argv[1], "rb") as file:
    glb = file.read()
length = struct.unpack_from("<I", glb, 12)[0]
arm, blob = json.loads(glb[20:20 + length]), glb[28 + length:]
with open("arm.bin", "wb") as file:
    file.write(blob)


def gltf(name, says="", edit=None, uri=None, raw=None, more=""):
    root = copy.deepcopy(arm)
    root["buffers"][0]["uri"] = uri if uri is not None else "data:application/octet-stream;base64," + base64.b64encode(blob).decode()
    if edit:
        edit(root)
    text = json.dumps(root).encode()
    case(name, says, more, data=raw(text) if raw else text)


def setting(*path):
    """edit that sets root[path...] to the last of path."""
    def edit(root):
        at = root
        for key in path[:-2]:
            at = at[key]
        at[path[-2]] = path[-1]
    return edit


primitive = arm["meshes"][0]["primitives"][0]
position, skin, sampler = primitive["attributes"]["POSITION"], arm["skins"][0], arm["animations"][0]["samplers"][0]
joints, view = primitive["attributes"]["JOINTS_0"], arm["accessors"][position]["bufferView"]
gltf("uri.gltf", uri="arm.bin")
gltf("latin1.gltf", raw=lambda t: t.replace(b'"nodes": [{"name": "', b'"nodes": [{"name": "\xe4\xdf ', 1))
gltf("lost-buffer.gltf", "buffer 0 has no data|cannot be read", uri="gone.bin")
gltf("no-buffer.gltf", "it has no buffer 7", setting("bufferViews", view, "buffer", 7))
gltf("no-view.gltf", "it has no buffer view 99", setting("accessors", position, "bufferView", 99))
gltf("no-accessor.gltf", "it has no accessor 99", setting("skins", 0, "inverseBindMatrices", 99))
gltf("cut-off.gltf", "reaches beyond buffer view", setting("accessors", position, "count", 10 ** 6))
gltf("components.gltf", "components where", setting("accessors", position, "type", "VEC2"))
gltf("few-matrices.gltf", "more joints than bind matrices", setting("accessors", skin["inverseBindMatrices"], "count", 1))
gltf("few-values.gltf", "keys and", setting("accessors", sampler["output"], "count", 3))
gltf("joint.gltf", "joint 0 of skin 0 is not in the scene", setting("skins", 0, "joints", [999] * len(skin["joints"])))
gltf("node.gltf", "the transform of node 0 is broken", setting("nodes", 0, "matrix", [1, 2, 3]))
gltf("extension.gltf", "it requires the extension ACME_flesh", setting("extensionsRequired", ["ACME_flesh"]))
gltf("old.gltf", "it is glTF 1.0", setting("asset", {"version": "1.0"}))
gltf("no-version.gltf", "does not say which version", setting("asset", {}))
gltf("list.gltf", "its JSON is no glTF", raw=lambda t: b"[" + t + b"]")
gltf("comma.gltf", "its JSON is broken at line 1", raw=lambda t: t.replace(b'"nodes": [', b'"nodes": [,', 1))
gltf("no-scene.gltf", edit=lambda root: (root.pop("scene", None), root.pop("scenes", None)))
gltf("sparse.gltf", "a sparse accessor is broken", setting("accessors", position, "sparse", {"count": 3}))
case("old.glb", "it is glTF 1; export it as glTF 2.0", data=glb[:4] + struct.pack("<I", 1) + glb[8:])


def behind_joints(root):
    root["skins"][0]["joints"] = root["skins"][0]["joints"][:1]


gltf("far-joint.gltf", "follows a joint that its skin does not have", behind_joints)


def whole_numbers(root):
    """Joints as 32-bit numbers, which some exporters write against the rules, weights as signed bytes in the buffer's place."""
    accessor = root["accessors"][joints]
    start, count = root["bufferViews"][accessor["bufferView"]].get("byteOffset", 0), accessor["count"]
    wide = struct.pack(f"<{4 * count}I", *blob[start:start + 4 * count])
    root["buffers"].append({"byteLength": len(wide), "uri": "data:application/octet-stream;base64," + base64.b64encode(wide).decode()})
    root["bufferViews"].append({"buffer": len(root["buffers"]) - 1, "byteOffset": 0, "byteLength": len(wide)})
    accessor.update(bufferView=len(root["bufferViews"]) - 1, componentType=5125, byteOffset=0)


gltf("wide-joints.gltf", edit=whole_numbers)

# ---- PLY ----

TETRA = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
body = "".join(f"{x} {y} {z}\n" for x, y, z in TETRA) + "".join(f"3 {a} {b} {c}\n" for a, b, c in FACES)


def ply(format="ascii 1.0", vertex="property float x\nproperty float y\nproperty float z\n", face="property list uchar int vertex_indices\n", end="end_header\n", extra=""):
    return f"ply\nformat {format}\ncomment made by hand\n{extra}element vertex 4\n{vertex}element face 4\n{face}{end}"


rate = "--rate 24"
case("good.%04d.ply", more=rate)
for frame in (1, 2, 3):
    with open(f"good.{frame:04d}.ply", "w") as out:
        out.write(ply() + body)
signed = ply("binary_little_endian 1.0", "property int8 x\nproperty uint32 y\nproperty short z\n")
for frame in (1, 2):
    with open(f"types.{frame:04d}.ply", "wb") as out:
        out.write(signed.encode() + b"".join(struct.pack("<bIh", x, y, z) for x, y, z in TETRA) + b"".join(struct.pack("<B3i", 3, *f) for f in FACES))
case("types.%04d.ply", more=rate)
for frame in (1, 2):
    with open(f"grows.{frame:04d}.ply", "w") as out:
        out.write((ply() + body).replace("element vertex 4", f"element vertex {3 + frame}").replace("0 0 1\n", "0 0 1\n" + "5 5 5\n" * (frame - 1)))
case("grows.%04d.ply", "topology must not change", rate)
for name, says, text in [
    ("format", "neither ASCII nor binary", ply("ebcdic 1.0") + body),
    ("list", "no whole-numbered count", ply(face="property list float int vertex_indices\n") + body),
    ("type", "property 'x' has an unknown type", ply(vertex="property quaternion x\nproperty float y\nproperty float z\n") + body),
    ("property", "a property that cannot be read", ply(vertex="property float\n") + body),
    ("element", "an element that cannot be read", ply(extra="element vertex\n") + body),
    ("line", "a line that is no part of PLY", ply(extra="elephant 4\n") + body),
    ("end", "its header does not end", ply(end="")),
    ("nan", "vertex 3 has values that are no finite numbers", ply() + body.replace("0 0 1", "0 nan 1")),
]:
    case(f"{name}.0001.ply", says, rate, text)

# ---- OBJ with its materials ----

MTL = "newmtl skin\nKd 0.8 0.5 0.4\nd 0.5\nPm 0.25\nPr 0.75\nnewmtl cloth\n  Kd 0 0 1\nTr 0.25\nnewmtl unused\nKd 1 1 1\n"
with open("looks.mtl", "w") as out:
    out.write(MTL)
for frame in (1, 2):
    with open(f"looks.{frame:04d}.obj", "w") as out:
        out.write("mtllib looks.mtl\no one\n" + "".join(f"v {x} {y} {z}\n" for x, y, z in TETRA) + "usemtl skin\ng a b\n" +
                  "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in FACES[:2]) + "usemtl cloth\no two\n" +
                  "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in FACES[2:3]) + "o one\n" + "f 2 3 4\n")
case("looks.%04d.obj", more=rate)
import os
os.mkdir("folder.0001.obj")
case("folder.0001.obj", "not a regular file", rate)

# ---- USD text ----

MESH = """#usda 1.0
(
    upAxis = "Y"
    timeCodesPerSecond = 24
)
%(before)s
def Xform "top" %(meta)s
{
    %(top)s
    def Mesh "body"
    {
        point3f[] points.timeSamples = { 1: [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], 3: [(0, 0, 0), (2, 0, 0), (0, 1, 0), (0, 0, %(last)s)] }
        int[] faceVertexCounts = [3, 3, 3, 3]
        int[] faceVertexIndices = %(indices)s
        %(more)s
    }
}
%(after)s
"""


def usda(name, says="", more_options="", **parts):
    words = dict(before="", meta="", top="", last="1", indices="[0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]", more="", after="")
    words.update(parts)
    case(name + ".usda", says, more_options, MESH % words)


usda("plain")
usda("turned", top='float xformOp:rotateZ = 90\n    double3 xformOp:translate = (1, 2, 3)\n    uniform token[] xformOpOrder = ["xformOp:translate", "!resetXformStack!", "xformOp:rotateZ"]')
usda("left", more='uniform token orientation = "leftHanded"\n        color3f[] primvars:displayColor = [' + ", ".join("(%.1f, 0, 1)" % (k / 12) for k in range(12)) + '] (interpolation = "faceVarying")')
usda("variants", meta='(\n    variants = { string look = "wet" }\n    prepend variantSets = "look"\n)', after='def "other"\n{\n    reorder nameChildren = ["b", "a"]\n    variantSet "look" = {\n        "wet" { }\n    }\n}')
usda("ordered", before='reorder rootPrims = ["top"]')
usda("seen", more='token visibility.timeSamples = { 1: "inherited", 2: "invisible" }')
usda("unreadable-turn", "its transform xformOp:shear cannot be read", top='float3 xformOp:shear = (1, 2, 3)\n    uniform token[] xformOpOrder = ["xformOp:shear"]')
usda("text", "a text does not end", after='def "x" ( doc = "no end )')
usda("bracket", "a bracket is not closed", after='def "x" { int[] a = [1, 2')
usda("metadata", "metadata cannot be read", after='def "x" ( doc = "a" ')
usda("mismatch", "brackets do not match", after='def "x" { int[] a = [1, (2], 3) }')
usda("junk", "something that is no prim", after="= 3 4")
usda("far-time", "its 3 samples reach from .* one of them lies far off", last="1)], -9e6: [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1")
usda("few-points", "points", last="1)], 4: [(0, 0, 0")
usda("far-face", "", indices="[0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 9]")
cases[-1] = cases[-1].replace("\t\t", "\tface|vertex|points\t", 1)
case("binary.usda", "is a binary layer of version 0.0, which is not read", data=b"PXR-USDC" + bytes(100))
case("other.usda", "is no USD layer", data=b"#sdf 1.4.32\n")
case("empty.usda", "is no USD layer", data=b"")

with open("cases", "w") as out:
    out.write("\n".join(cases) + "\n")
