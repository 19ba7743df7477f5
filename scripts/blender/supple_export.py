"""Evaluates a mesh in a .blend, whatever drives it, and writes what `supple import` reads.

    blender -b rig.blend --python supple_export.py -- --object Body --out body [--start 1 --end 48] [--groups soft,stiff]
    supple import body.pc2 --neutral body.obj --params body.params.csv --up z --rate FPS -o body.anim.npz

Writes body.obj (the mesh with all armatures at rest: the neutral pose), body.pc2 (world positions at every frame),
body.params.csv (rotation vectors of all pose bones that move, rad, and numeric custom properties of the object; 0 at rest),
body.GROUP.csv (vertex group weights), body.poses (markers as CLIP:FRAME words for `supple poses --at`). Blender's axes (z up)
and units are kept. Modifiers that change the number of vertices must be off.
"""
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


def write_obj(path, object_, points):
    mesh = object_.data
    layer = mesh.uv_layers.active
    with open(path, "w") as out:
        out.write("o %s\n" % object_.name.replace(" ", "_"))
        for p in points:
            out.write("v %.9g %.9g %.9g\n" % p)
        for uv in layer.data if layer else []:
            out.write("vt %.9g %.9g\n" % tuple(uv.uv))
        for polygon in mesh.polygons:
            corners = ["%d/%d" % (mesh.loops[i].vertex_index + 1, i + 1) if layer else str(mesh.loops[i].vertex_index + 1)
                       for i in polygon.loop_indices]
            out.write("f %s\n" % " ".join(corners))


def parameters(object_):
    """Numbers that define the pose, by name; 0 at rest."""
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
            if angle > 3.141592653589793:
                angle -= 2 * 3.141592653589793
            for letter, value in zip("xyz", axis):
                out["%s.r%s" % (bone.name.replace(",", "_"), letter)] = value * angle
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
            rows.append(parameters(object_))
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
    if markers:
        with open(out + ".poses", "w") as words:
            words.write(" ".join("%s:%d" % (os.path.basename(out), f) for f in markers) + "\n")
    print("supple_export: %s, %d vertices, frames %d to %d, %d parameters, %g fps" %
          (object_.name, len(neutral), start, end, len(names), scene.render.fps / scene.render.fps_base))


main()
