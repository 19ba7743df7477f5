"""Flesh in Blender's viewport while the timeline plays: the run-time library stepped by whatever the rig does now.

    blender fox.blend --python blender_live.py -- --mesh Body --model out/fox.model.npz --anim out/Run.anim.npz

The file holds the character as it was given to `supple bake` (File > Import > glTF of the baked .glb will do). ANIM is any shot of that
bake: it names the joints and the vertices; how they move comes from Blender. A copy of the mesh, "supple live", shows the flesh; panel
*supple live* in the sidebar of the 3D view (N) sets stiffness, damping and wind while it plays. A jump in time starts anew. Needs numpy,
libsupple-runtime ($SUPPLE_RUNTIME names it where the system does not find it) and supple_live.py beside this file.
"""
import json
import math
import os
import sys
import zipfile

import bpy
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import supple_live  # noqa: E402

Z_UP = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])   # supple's axes (y up) to Blender's
DRAG = 1.2                                              # kg/(m^2 s), about that of air on a flat plate at 1 m/s


def rotation_vector(turn):
    """Of a rotation matrix; its angle is at most half a turn."""
    axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    sine, cosine = np.linalg.norm(axis) / 2, (np.trace(turn) - 1) / 2
    return axis / 2 if sine < 1e-9 else axis * (math.atan2(sine, cosine) / (2 * sine))


def rigid(matrix):
    """Without scale."""
    u, _, v = np.linalg.svd(matrix[:3, :3])
    out = matrix.copy()
    out[:3, :3] = u @ np.diag([1, 1, np.linalg.det(u @ v)]) @ v
    return out


class Rig:
    """What the armature says at this frame, in the words of supple import (docs/import.md): root frame, parameters, points."""

    def __init__(self, mesh, anim, flesh):
        armatures = [m.object for m in mesh.modifiers if m.type == "ARMATURE" and m.object]
        if not armatures:
            raise ValueError("%s has no armature" % mesh.name)
        with zipfile.ZipFile(anim) as archive:
            meta = json.loads(archive.read("meta.json"))
        arrays = np.load(anim)
        self.mesh, self.armature, self.flesh = mesh, armatures[0], flesh
        self.bones, self.rest, self.parent = meta["bone_names"], arrays["bone_rest"], arrays["bone_parent"]
        # The root frame is that of the joint that stands still in it.
        self.root_bone = int(np.argmin(np.abs(arrays["bones"] - self.rest).max(axis=(0, 2, 3))))
        source = arrays["source_vertex"]
        if len(source) != len(mesh.data.vertices):
            raise ValueError("%s has %d vertices, the character %d" % (mesh.name, len(mesh.data.vertices), len(source)))
        self.welded = np.empty(flesh._library.supple_skin_vertices(flesh._self), np.int64)
        self.welded[source] = np.arange(len(source))
        self.source, self.before = source, {}
        missing = [b for b in self.bones if b not in self.armature.pose.bones]
        if missing:
            raise ValueError("%s has no bone %s" % (self.armature.name, missing[0]))

    def skin(self):
        """(source vertices,3) in supple's axes, in the world, as the rig has them."""
        evaluated = self.mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())
        shape = evaluated.to_mesh()
        flat = np.empty(3 * len(shape.vertices), np.float32)
        shape.vertices.foreach_get("co", flat)
        evaluated.to_mesh_clear()
        world = np.array(evaluated.matrix_world)
        return (flat.reshape(-1, 3).astype(float) @ world[:3, :3].T + world[:3, 3]) @ Z_UP

    def bone_motion(self):
        """(bones,4,4) from the neutral pose to now, in supple's axes."""
        axes = np.eye(4)
        axes[:3, :3] = Z_UP
        world = np.array(self.armature.matrix_world)
        out = []
        for name in self.bones:
            bone = self.armature.pose.bones[name]
            moved = np.array(bone.matrix) @ np.linalg.inv(np.array(bone.bone.matrix_local))
            out.append(axes.T @ world @ moved @ np.linalg.inv(world) @ axes)
        return np.array(out)

    def pose(self):
        """parameters, points, root for the flesh."""
        moved = self.bone_motion()
        root = rigid(moved[self.root_bone])
        now = moved @ self.rest
        values = {}
        for b, name in enumerate(self.bones):
            relative = [np.linalg.inv(m[self.parent[b]]) @ m[b] if self.parent[b] >= 0 else np.linalg.inv(r) @ m[b]
                        for m, r in ((now, root), (self.rest, np.eye(4)))]
            turn = rotation_vector(rigid(relative[1])[:3, :3].T @ rigid(relative[0])[:3, :3])
            values.update(zip((name + ".r" + c for c in "xyz"), self.unwrapped(name, turn)))
        points = (self.skin()[self.welded[self.flesh.needed]] - root[:3, 3]) @ root[:3, :3]
        return np.array([values.get(name, 0.0) for name in self.flesh.parameters]), points, root

    def unwrapped(self, name, turn):
        """The rotation vector of the same turn that is nearest to the frame before."""
        before, angle = self.before.get(name, turn), np.linalg.norm(turn)
        if angle > 1e-9:
            turn = turn + turn / angle * 2 * math.pi * round((before - turn) @ turn / angle / (2 * math.pi))
        self.before[name] = turn
        return turn


def between(before, a, b, share):
    """From pose a to pose b along the parabola through these and the one before; straight where there is none. The root's rotation is made
    one again."""
    bend = share * (share - 1) / 2
    mixed = [(1 - share) * v + share * w + (bend * (u - 2 * v + w) if before else 0) for u, v, w in zip(before or a, a, b)]
    return mixed[0], mixed[1], rigid(mixed[2])


class Preview:
    def __init__(self, mesh, model, anim):
        self.flesh = supple_live.Flesh(model, contact_count=300)
        self.rig = Rig(mesh, anim, self.flesh)
        shape = bpy.data.meshes.new_from_object(mesh)   # without shape keys, whose blocks would hold the vertices
        self.shown = bpy.data.objects.new("supple live", shape)
        mesh.users_collection[0].objects.link(self.shown)
        mesh.hide_set(True)
        self.frame, self.last, self.older = None, None, None   # the frame shown; its pose, and that of the frame before
        self.update(bpy.context.scene)

    def settings(self, scene):
        s = scene.supple_live
        self.flesh.set_flesh(s.stiffness, s.damping)
        self.flesh.set_wind(np.array(s.wind) @ Z_UP, DRAG)

    def update(self, scene):
        """To the scene's frame: by steps from the frame before, anew from anywhere else."""
        pose = self.rig.pose()
        self.settings(scene)
        if self.last is None or scene.frame_current != self.frame + 1:
            self.older = None
            self.flesh.restart()
            self.flesh.set_pose(*pose)
        else:
            rate = scene.render.fps / scene.render.fps_base
            steps = math.ceil(supple_live.STEPS_A_SECOND / rate - 1e-6)
            for k in range(1, steps + 1):
                at = between(self.older, self.last, pose, k / steps)
                if k == 1 and not self.older:   # now it is known how fast the rig was at the first frame
                    self.flesh.start_moving(*at, 1 / (rate * steps))
                self.flesh.set_pose(*at)
                self.flesh.step(1 / (rate * steps))
            self.older = self.last
        self.frame, self.last = scene.frame_current, pose
        world = (self.flesh.positions() @ pose[2][:3, :3].T + pose[2][:3, 3]) @ Z_UP.T
        self.shown.data.vertices.foreach_set("co", world[self.rig.source].astype(np.float32).ravel())
        self.shown.data.update()

    def close(self):
        self.rig.mesh.hide_set(False)
        bpy.data.objects.remove(self.shown)
        self.flesh.close()


preview = None


def on_frame(scene, graph=None):
    if preview:
        preview.update(scene)


class Settings(bpy.types.PropertyGroup):
    stiffness: bpy.props.FloatProperty(name="Stiffness", default=1, min=0.05, max=20, description="Factor on the model's")
    damping: bpy.props.FloatProperty(name="Damping", default=0.1, min=0.01, max=1, description="Ratio at the lowest frequency")
    wind: bpy.props.FloatVectorProperty(name="Wind", subtype="VELOCITY", description="m/s, Blender's axes")


class SUPPLE_PT_live(bpy.types.Panel):
    bl_label, bl_category, bl_space_type, bl_region_type = "supple live", "supple", "VIEW_3D", "UI"

    def draw(self, context):
        for name in ("stiffness", "damping", "wind"):
            self.layout.prop(context.scene.supple_live, name)


def start(mesh, model, anim):
    """Shows the flesh of an object from now on. Returns the Preview; stop() ends it."""
    global preview
    stop()
    preview = Preview(mesh, model, anim)
    if on_frame not in bpy.app.handlers.frame_change_post:
        bpy.app.handlers.frame_change_post.append(on_frame)
    return preview


def stop():
    global preview
    if preview:
        preview.close()
    preview = None


def register():
    bpy.utils.register_class(Settings)
    bpy.utils.register_class(SUPPLE_PT_live)
    bpy.types.Scene.supple_live = bpy.props.PointerProperty(type=Settings)


def main():
    words = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []
    options = dict(zip(words[::2], words[1::2]))
    register()
    if not options:
        return   # imported or run from the text editor: start(...) from the console
    mesh = bpy.data.objects.get(options.get("--mesh", "")) or next((o for o in bpy.data.objects if o.type == "MESH"), None)
    if not mesh or "--model" not in options or "--anim" not in options:
        sys.exit("blender_live: --model MODEL --anim ANIM and a mesh in the file are wanted")
    start(mesh, options["--model"], options["--anim"])


if __name__ == "__main__":
    main()
