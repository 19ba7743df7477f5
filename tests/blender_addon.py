"""Run by Blender: blender -b ... --python blender_addon.py -- SUPPLE ADDON FOLDER
Installs the add-on, makes a character of three meshes with modifiers before and behind their armature, bakes it through the operators, and holds
the evaluated meshes against what supple wrote; says `ok - ...` or `not ok - ...` a line."""
import json
import os
import subprocess
import sys
import time
import types

import bpy
import numpy as np

supple, path, folder = sys.argv[sys.argv.index("--") + 1:]
FIRST, LAST = 5, 16


def check(what, passed, detail=""):
    print(("ok - " if passed else "not ok - ") + what + (": %s" % (detail,) if detail != "" else ""), flush=True)


def refused(run, words):
    try:
        run()
    except RuntimeError as error:
        return words in str(error), str(error).strip().replace("\n", " ")
    return False, "not refused"


def grouped(object_, split):
    """Weights of two bones along z, blended about `split`."""
    for name in ("low", "tip"):
        group = object_.vertex_groups.new(name=name)
        for v in object_.data.vertices:
            weight = min(max(((object_.matrix_world @ v.co).z - split) / 0.5 + 0.5, 0), 1)
            group.add([v.index], weight if name == "tip" else 1 - weight, "REPLACE")


class Layout:
    """Stands for a panel's layout: properties, operators and lists that are drawn must exist."""
    drawn = []

    def prop(self, data, name, **more):
        data.bl_rna.properties[name]
        self.drawn.append(name)

    def operator(self, name, **more):
        getattr(getattr(bpy.ops, name.split(".")[0]), name.split(".")[1]).get_rna_type()
        self.drawn.append(name)
        return types.SimpleNamespace()

    def template_list(self, kind, id_, data, name, active, active_name, **more):
        data.bl_rna.properties[name], active.bl_rna.properties[active_name], getattr(bpy.types, kind)

    def label(self, text="", icon="NONE"):
        bpy.types.UILayout.bl_rna.functions["label"].parameters["icon"].enum_items[icon]
        self.drawn.append(text)

    def row(self, **more):
        return self
    column = row


def draw():
    Layout.drawn.clear()
    for panel in (supple_addon.SUPPLE_PT_panel, supple_addon.SUPPLE_PT_more):
        panel.draw(types.SimpleNamespace(layout=Layout()), bpy.context)
    for joint in settings.joints:
        supple_addon.SUPPLE_UL_joints.draw_item(None, bpy.context, Layout(), settings, joint, 0, settings, "joint")
    return Layout.drawn


def make():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end, scene.render.fps = FIRST, LAST, 24
    bpy.ops.object.armature_add(location=(0.2, 0, 0))
    rig = bpy.context.object
    rig.name = "Rig"
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    bones[0].name, bones[0].head, bones[0].tail = "low", (0, 0, 0), (0, 0, 1)
    tip = bones.new("tip")
    tip.head, tip.tail, tip.parent = (0, 0, 1), (0, 0.1, 2), bones["low"]
    handle = bones.new("handle")
    handle.head, handle.tail, handle.use_deform = (0, 0, 2), (0, 0, 2.2), False
    bpy.ops.object.mode_set(mode="POSE")
    for name, turns in (("low", ((0, 0, 0), (0.2, 0, 0.3))), ("tip", ((0, 0, 0), (0.9, 0.2, 0)))):
        bone = rig.pose.bones[name]
        bone.rotation_mode = "XYZ"
        for frame, turn in zip((FIRST, 9, LAST), turns + turns[:1]):
            bone.rotation_euler = turn
            bone.keyframe_insert("rotation_euler", frame=frame)
    bpy.ops.object.mode_set(mode="OBJECT")
    for frame, x in ((FIRST, 0.2), (9, 1.0), (LAST, 0.3)):
        rig.location.x = x
        rig.keyframe_insert("location", frame=frame)
    scene.frame_set(FIRST)

    bpy.ops.mesh.primitive_cylinder_add(vertices=16, radius=0.4, depth=2, location=(0.2, 0, 1), end_fill_type="TRIFAN")
    body = bpy.context.object
    body.name = "Body"
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.subdivide(number_cuts=3)
    bpy.ops.object.mode_set(mode="OBJECT")
    grouped(body, 1.0)
    body.vertex_groups.new(name="hard").add([v.index for v in body.data.vertices if v.co.z < -0.5], 1.0, "REPLACE")
    body.modifiers.new("Armature", "ARMATURE").object = rig
    body.modifiers["Armature"].use_deform_preserve_volume = True
    smooth = body.modifiers.new("Correct", "CORRECTIVE_SMOOTH")
    smooth.iterations = 3
    body.modifiers.new("Subdivision", "SUBSURF").levels = 1

    bpy.ops.mesh.primitive_uv_sphere_add(segments=12, ring_count=8, radius=1, location=(0.2, 0.1, 2.2))
    head = bpy.context.object     # below the armature, turned and mirrored by its scale, with a shape key
    head.name = "Head of it"
    head.scale, head.rotation_euler = (-0.3, 0.25, 0.35), (0.3, 0, 0.2)
    bpy.context.view_layer.update()
    grouped(head, 1.5)
    head.shape_key_add(name="Basis")
    fat = head.shape_key_add(name="fat")
    for v in fat.data:
        v.co.x *= 1.3
    for frame, value in ((FIRST, 0.0), (LAST, 1.0)):
        fat.value = value
        fat.keyframe_insert("value", frame=frame)
    keep = head.matrix_world.copy()
    head.parent, head.matrix_world = rig, keep
    head.modifiers.new("Armature", "ARMATURE").object = rig

    bpy.ops.mesh.primitive_cube_add(size=0.4, location=(0.2 + 0.45, 0, 0.6))
    arm = bpy.context.object      # one half and its mirror; loose vertices without faces stay what they are
    arm.name = "Arm"
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.subdivide(number_cuts=2)
    bpy.ops.object.mode_set(mode="OBJECT")
    arm.data.vertices.add(1)
    arm.data.vertices[-1].co = (0.1, 0.2, 0.3)
    grouped(arm, 1.0)
    mirror = arm.modifiers.new("Mirror", "MIRROR")
    mirror.mirror_object, mirror.use_mirror_merge = rig, False
    arm.modifiers.new("Armature", "ARMATURE").object = rig
    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.objects.active = rig
    rig.select_set(True)
    return scene, rig, [arm, body, head]


def world(object_, without=()):
    """World positions of the evaluated mesh, with some modifiers off."""
    states = [(m, m.show_viewport) for m in object_.modifiers if m.name in without]
    for m, _ in states:
        m.show_viewport = False
    evaluated = object_.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    points = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", points)
    matrix = np.array(evaluated.matrix_world, float)
    evaluated.to_mesh_clear()
    for m, shown in states:
        m.show_viewport = shown
    return points.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]


def everything(without=("Subdivision",)):
    out = []
    for frame in range(FIRST, LAST + 1):
        scene.frame_set(frame)
        out.append(np.vstack([world(o, without) for o in objects]))
    return np.array(out)


def z_up(points):
    return np.stack([points[..., 0], -points[..., 2], points[..., 1]], -1)


def states():
    return [[(m.name, m.show_viewport, m.show_render) for m in o.modifiers] for o in objects]


scene, rig, objects = make()
bpy.ops.preferences.addon_install(filepath=path)
bpy.ops.preferences.addon_enable(module="supple_addon")
import supple_addon
settings = scene.supple
settings.folder, settings.program = folder, supple
settings.look, settings.bound, settings.tets, settings.more, settings.also = "jelly", 0, 800, "--poses 2 --modes 8 --linear 4 --substeps 1", "pc2, obj"
joint = settings.joints.add()
joint.name, joint.kind, joint.factor = "tip*", "SOFT", 2.0
joint = settings.joints.add()
joint.name, joint.kind = "low", "FREE"
before, rigged = states(), everything()
size = np.linalg.norm(np.ptp(rigged[0], axis=0))

drawn = draw()
check("the panel names the character and has all settings", "Rig: Arm, Body, Head of it" in drawn and {"look", "amount", "supple.bake", "kind", "factor", "more"} <= set(drawn))
began = time.time()
check("a bake ends well", bpy.ops.supple.bake() == {"FINISHED"}, "%.0f s" % (time.time() - began))
about = json.load(open(os.path.join(folder, "blender.json")))
shot = about["shot"]
makefile = open(os.path.join(folder, "Makefile")).read()
check("what the panel says arrives", all(w in makefile for w in ("--soft 'tip*=2'", "--free 'low'", "--frequency 2.5", "--skinning 'dqs'")))
subprocess.run([os.path.join(os.path.dirname(supple), "supple-export"), "-q", "--rig", os.path.join(folder, shot + ".anim.npz"), "-o", os.path.join(folder, "rig.npy")], check=True)
away = abs(z_up(np.load(os.path.join(folder, "rig.npy"))) - rigged).max() / size
check("supple has the rig as Blender shows it, correctives, shape key, mirror and scale included", away < 1e-6, "%.2g of the diagonal" % away)
shown = everything()
flesh = np.linalg.norm(shown - rigged, axis=2).max() / size
check("the flesh moves", flesh > 0.005, "%.3f of the diagonal" % flesh)

npy = z_up(np.load(os.path.join(folder, shot + ".npy")))
raw = open(os.path.join(folder, shot + ".pc2"), "rb").read()
cache = z_up(np.frombuffer(raw, "<f4", offset=32).reshape(npy.shape))
obj = np.array([z_up(np.array([[float(x) for x in line.split()[1:4]] for line in open(os.path.join(folder, "%s.%04d.obj" % (shot, k))) if line.startswith("v ")]))
                for k in range(FIRST, LAST + 1)])
for name, want in (("NPY", npy), ("PC2", cache), ("OBJ", obj)):
    away = abs(shown - want).max() / size
    check("evaluated vertices are those of supple's %s" % name, away < 1e-5, "%.2g of the diagonal over %d frames" % (away, len(want)))
check("the rig is muted, what stands before and behind is not", states() == [
    [("Mirror", True, True), ("Armature", False, False), ("supple", True, True)],
    [("Armature", False, False), ("Correct", False, False), ("supple", True, True), ("Subdivision", True, True)],
    [("Armature", False, False), ("supple", True, True)]], states())

# subdivision behind it: as on a plain mesh with supple's points
scene.frame_set(9)
start = sum(o["vertices"] for o in about["objects"][:1])
count = about["objects"][1]["vertices"]
plain = bpy.data.objects.new("plain", objects[1].data.copy())
scene.collection.objects.link(plain)
plain.data.vertices.foreach_set("co", np.ascontiguousarray(npy[9 - FIRST, start:start + count], np.float32).ravel())
plain.modifiers.new("Subdivision", "SUBSURF").levels = 1
fine = world(objects[1])
away = abs(fine - world(plain)).max() / size
check("subdivision works on the flesh", len(fine) > 2 * count and away < 1e-5, "%d vertices, %.2g of the diagonal" % (len(fine), away))
bpy.data.objects.remove(plain)

bpy.ops.supple.take_off()
check("taken off, everything is as it was", states() == before and "supple_muted" not in objects[1] and (everything() == rigged).all())
bpy.ops.supple.apply()
check("put on again", abs(everything() - shown).max() == 0.0)

anim = os.stat(os.path.join(folder, shot + ".anim.npz")).st_mtime_ns
settings.amount = 1.5
bpy.ops.supple.bake()
more = np.linalg.norm(everything() - rigged, axis=2).max() / size
check("a bake over the flesh that is on: tuned, and what did not change is not made again",
      more > 1.1 * flesh and os.stat(os.path.join(folder, shot + ".anim.npz")).st_mtime_ns == anim, "%.3f of the diagonal" % more)
settings.paint, settings.paint_factor = "hard", 5.0
check("paint and bones at once", *refused(bpy.ops.supple.bake, "one of both says how stiff the flesh is"))
settings.joints.remove(0)
bpy.ops.supple.bake()
check("what is painted arrives", "--young-high '5'" in open(os.path.join(folder, "Makefile")).read() and abs(everything() - rigged).max() > 0)
bpy.ops.wm.save_as_mainfile(filepath=os.path.join(folder, "scene.blend"))
kept = everything()
bpy.ops.wm.open_mainfile(filepath=os.path.join(folder, "scene.blend"))
scene, objects = bpy.context.scene, [bpy.data.objects[o["name"]] for o in about["objects"]]
settings = scene.supple
check("a saved file has it", (everything() == kept).all())

# the other roads
for road in ("FAST", "FULL"):
    settings.road, settings.folder, settings.more, settings.paint = road, os.path.join(folder, road), "", ""
    bpy.ops.supple.bake()
    moved = np.linalg.norm(everything() - rigged, axis=2).max() / size
    made = open(os.path.join(folder, road, "Makefile")).read()
    check("the %s road" % road.lower(), moved > 0.005 and "BASIS := %s" % {"FAST": "skinning", "FULL": "none"}[road] in made, "%.3f of the diagonal" % moved)
settings.road = "MODEL"

# an action on the finished model
action = bpy.data.objects["Rig"].animation_data.action.copy()
action.name = "again"
settings.action, settings.model = action, os.path.join(folder, "Rig.model.npz")
settings.folder, settings.more, settings.also = os.path.join(folder, "again"), "--substeps 1", ""
bpy.ops.supple.bake()
away = abs(everything() - kept).max() / size
check("an action baked on the finished model", os.path.exists(os.path.join(folder, "again", "again.npy")) and away < 0.01 * more, "%.2g of the diagonal from the first bake" % away)
settings.model, settings.folder, settings.action = "", folder, None

# what goes wrong is said in supple's words, and leaves what was on
on = states()
settings.more = "--poses 2 --density heavy"
check("supple's sentence reaches the user", *refused(bpy.ops.supple.bake, "--density: 'heavy'"))
check("and stands in the panel", any("--density: 'heavy'" in line for line in draw()))
settings.more = ""
settings.program = "/nowhere/supple"
check("a program that is not there", *refused(bpy.ops.supple.bake, "/nowhere/supple cannot be run; say where the program supple is"))
settings.program = supple
settings.folder = os.path.join(folder, "empty")
check("no bake to put on", *refused(bpy.ops.supple.apply, "there is no finished bake"))
settings.folder = folder
scene.frame_end = FIRST + 1
check("too few frames", *refused(bpy.ops.supple.bake, "three frames at least"))
scene.frame_end = LAST
check("nothing of that took the flesh off", states() == on)
settings.amount = 0.7
bake = supple_addon.begin(bpy.context)
said = []
operator = types.SimpleNamespace(bake=bake, timer=None, report=lambda kind, text: said.append((kind, text)))     # as with a window
operator.finish = lambda context, b: supple_addon.SUPPLE_OT_bake.finish(operator, context, b)
window = types.SimpleNamespace(window_manager=types.SimpleNamespace(event_timer_remove=lambda timer: None), screen=None)
step = lambda: supple_addon.SUPPLE_OT_bake.modal(operator, window, types.SimpleNamespace(type="TIMER"))
time.sleep(1.0)
check("the panel shows how far it is", step() == {"PASS_THROUGH"} and any(line.startswith("%s: " % shot) and line.endswith(" %") for line in draw()) and "supple.cancel" in draw())
check("a second bake is refused meanwhile", *refused(bpy.ops.supple.bake, "a bake is running"))
bpy.ops.supple.cancel()
until = time.time() + 20
while bake.ended is None and time.time() < until:
    time.sleep(0.05)
    ended = step()
check("the operator ends with it", ended == {"CANCELLED"} and said[-1][0] == {"WARNING"}, said)
check("a bake can be stopped", bake.ended == 75 and "stopped by a signal" in bake.sentence(), bake.sentence())
count = len(settings.joints)
bpy.ops.supple.joint()
added = len(settings.joints), settings.joint
bpy.ops.supple.joint(remove=True)
check("lines of joints come and go", added == (count + 1, count) and len(settings.joints) == count)
for o in bpy.context.selected_objects:
    o.select_set(False)
bpy.context.view_layer.objects.active = None
check("nothing selected", *refused(bpy.ops.supple.bake, "select a rigged character"))
bpy.ops.preferences.addon_disable(module="supple_addon")
check("disabled, nothing of it is left", not hasattr(bpy.types.Scene, "supple"))
