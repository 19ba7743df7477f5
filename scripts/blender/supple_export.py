"""Evaluates a mesh in a .blend, whatever drives it, and writes what `supple import` reads.

    blender -b rig.blend --python supple_export.py -- --object Body --out body [--start 1 --end 48] [--groups soft,stiff]
    supple import body.pc2 --neutral body.obj --params body.params.csv --up z --rate FPS -o body.anim.npz

Writes body.obj (the mesh with all armatures at rest: the neutral pose), body.pc2 (world positions at every frame),
body.params.csv (of all pose bones that move: rotation vectors, rad, unwrapped in time, translations over the diagonal, logarithms of
scale; numeric custom properties of the object; shape keys; 0 at rest), body.GROUP.csv (vertex group weights); the active colour
attribute stands behind the positions of the .obj (`supple poses --young color.r`); body.poses (markers as CLIP:FRAME words for `supple poses --at`). Blender's axes (z up)
and units are kept. Modifiers that change the number of vertices must be off.
"""
import math
import os
import struct
import sys

import bpy


def arguments():
    words = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []
    options = {"object": None, "out": "shot", "start": None, "end": None, "groups": ""}
    while words:
        key = words.pop(0).lstrip("-")
        if key not in options or not words:
            sys.exit("supple_export: unknown or incomplete option --%s" % key)
        options[key] = words.pop(0)
    return options


def world_points(object_):
    graph = bpy.context.evaluated_depsgraph_get()
    evaluated = object_.evaluated_get(graph)
    mesh = evaluated.to_mesh()
    points = [tuple(evaluated.matrix_world @ v.co) for v in mesh.vertices]
    evaluated.to_mesh_clear()
    return points


def rest_points(object_):
    """With every armature at rest and shape keys at their basis."""
    armatures = [a for a in bpy.data.armatures]
    before = [a.pose_position for a in armatures]
    shown = object_.show_only_shape_key, object_.active_shape_key_index
    for a in armatures:
        a.pose_position = "REST"
    if object_.data.shape_keys:
        object_.show_only_shape_key, object_.active_shape_key_index = True, 0
    bpy.context.view_layer.update()
    points = world_points(object_)
    for a, position in zip(armatures, before):
        a.pose_position = position
    object_.show_only_shape_key, object_.active_shape_key_index = shown
    bpy.context.view_layer.update()
    return points


def vertex_colours(mesh):
    """Red, green, blue of each vertex of the active colour attribute, the mean over its corners; None without one."""
    layer = mesh.color_attributes.active_color
    if not layer or len(layer.data) == 0:
        return None
    sums, counts = [[0.0, 0.0, 0.0] for v in mesh.vertices], [0] * len(mesh.vertices)
    owners = range(len(mesh.vertices)) if layer.domain == "POINT" else [loop.vertex_index for loop in mesh.loops]
    for owner, corner in zip(owners, layer.data):
        counts[owner] += 1
        for k in range(3):
            sums[owner][k] += corner.color[k]
    return [tuple(c / max(n, 1) for c in colour) for colour, n in zip(sums, counts)]


def write_obj(path, object_, points):
    mesh = object_.data
    layer = mesh.uv_layers.active
    colours = vertex_colours(mesh)
    with open(path, "w") as out:
        out.write("o %s\n" % object_.name.replace(" ", "_"))
        for i, p in enumerate(points):
            out.write("v %.9g %.9g %.9g" % p + (" %.6g %.6g %.6g" % colours[i] if colours else "") + "\n")
        numbers, texture = {}, []   # corners of a vertex with equal coordinates share one: what is joined stays joined
        for loop, uv in zip(mesh.loops, layer.data if layer else []):
            key = (loop.vertex_index,) + tuple(uv.uv)
            if key not in numbers:
                numbers[key] = len(numbers) + 1
                out.write("vt %.9g %.9g\n" % key[1:])
            texture.append(numbers[key])
        for polygon in mesh.polygons:
            corners = ["%d/%d" % (mesh.loops[i].vertex_index + 1, texture[i]) if layer else str(mesh.loops[i].vertex_index + 1)
                       for i in polygon.loop_indices]
            out.write("f %s\n" % " ".join(corners))


def unwrapped(vector, before):
    """The rotation vector that means the same turn and lies nearest to the one before."""
    angle = math.sqrt(sum(x * x for x in vector))
    if not before or angle < 1e-9:
        if not before:
            return vector
        length = math.sqrt(sum(x * x for x in before))   # no turn at all: whole turns about the axis before
        turns = round(length / (2 * math.pi))
        return [x / length * turns * 2 * math.pi for x in before] if turns else vector
    axis = [x / angle for x in vector]
    turns = round((sum(a * b for a, b in zip(axis, before)) - angle) / (2 * math.pi))
    return [a * (angle + turns * 2 * math.pi) for a in axis]


def parameters(object_, size, before):
    """Numbers that define the pose, by name; 0 at rest. before: those of the frame before."""
    out = {}
    for modifier in object_.modifiers:
        if modifier.type != "ARMATURE" or not modifier.object:
            continue
        graph = bpy.context.evaluated_depsgraph_get()
        for bone in modifier.object.evaluated_get(graph).pose.bones:
            if not bone.bone.use_deform:
                continue
            rest, now = bone.bone.matrix_local, bone.matrix   # both in the armature's space; constraints included
            if bone.parent:
                rest = bone.parent.bone.matrix_local.inverted() @ rest
                now = bone.parent.matrix.inverted() @ now
            turn = rest.to_quaternion().inverted() @ now.to_quaternion()
            axis, angle = turn.to_axis_angle()
            name = bone.name.replace(",", "_")
            names = ["%s.r%s" % (name, letter) for letter in "xyz"]
            vector = unwrapped([a * angle for a in axis], [before[n] for n in names] if before else None)
            out.update(zip(names, vector))
            move = now.to_translation() - rest.to_translation()
            scale = [n / r if r > 0 and n > 0 else 1.0 for n, r in zip(now.to_scale(), rest.to_scale())]
            for letter, t, s in zip("xyz", move, scale):
                out["%s.t%s" % (name, letter)], out["%s.s%s" % (name, letter)] = t / size, math.log(s)
    for key in object_.keys():
        if isinstance(object_[key], (int, float)):
            out["prop_" + key.replace(",", "_")] = float(object_[key])
    for key in object_.data.shape_keys.key_blocks[1:] if object_.data.shape_keys else []:
        out["shape_" + key.name.replace(",", "_")] = key.value
    return out


def main():
    options = arguments()
    object_ = bpy.data.objects.get(options["object"]) if options["object"] else bpy.context.object
    if not object_ or object_.type != "MESH":
        sys.exit("supple_export: no mesh object %s" % (options["object"] or "is active"))
    scene, out = bpy.context.scene, options["out"]
    start = int(options["start"]) if options["start"] else scene.frame_start
    end = int(options["end"]) if options["end"] else scene.frame_end
    scene.frame_set(start)
    neutral = rest_points(object_)
    if len(neutral) != len(object_.data.vertices):
        sys.exit("supple_export: a modifier changes the number of vertices (%d to %d); turn it off" %
                 (len(object_.data.vertices), len(neutral)))
    write_obj(out + ".obj", object_, neutral)
    size = math.sqrt(sum((max(p[k] for p in neutral) - min(p[k] for p in neutral)) ** 2 for k in range(3))) or 1.0
    rows = []
    with open(out + ".pc2", "wb") as cache:
        cache.write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, len(neutral), start, 1.0, end - start + 1))
        for frame in range(start, end + 1):
            scene.frame_set(frame)
            points = world_points(object_)
            if len(points) != len(neutral):
                sys.exit("supple_export: frame %d has %d vertices, not %d" % (frame, len(points), len(neutral)))
            for p in points:
                cache.write(struct.pack("<3f", *p))
            rows.append(parameters(object_, size, rows[-1] if rows else None))
    names = [n for n in (rows[0] if rows else {}) if max(abs(r[n]) for r in rows) > 1e-5]
    if names:
        with open(out + ".params.csv", "w") as table:
            table.write(",".join(names) + "\n")
            for row in rows:
                table.write(",".join("%.9g" % row[n] for n in names) + "\n")
    for name in filter(None, options["groups"].split(",")):
        group = object_.vertex_groups.get(name)
        if not group:
            sys.exit("supple_export: no vertex group %s" % name)
        with open("%s.%s.csv" % (out, name), "w") as table:
            table.write(name + "\n")
            for v in object_.data.vertices:
                table.write("%.9g\n" % next((g.weight for g in v.groups if g.group == group.index), 0.0))
    markers = sorted(m.frame for m in scene.timeline_markers if start <= m.frame <= end)
    for m in scene.timeline_markers:
        if not start <= m.frame <= end:
            print("supple_export: marker %s at frame %d lies outside frames %d to %d; widen --start or --end to take it" %
                  (m.name, m.frame, start, end))
    if markers:
        with open(out + ".poses", "w") as words:
            words.write(" ".join("%s:%d" % (os.path.basename(out), f) for f in markers) + "\n")
    print("supple_export: %s, %d vertices, frames %d to %d, %d parameters, %g fps" %
          (object_.name, len(neutral), start, end, len(names), scene.render.fps / scene.render.fps_base))


main()
