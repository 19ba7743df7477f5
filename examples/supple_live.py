#!/usr/bin/env python3
"""The run time of supple from Python: the shared library through ctypes, arrays by numpy.

    supple_live.py MODEL ANIM [-o POSITIONS.npy] [--stiffness F] [--damping RATIO] [--wind X,Y,Z] [--library FILE]

plays a clip as `supple sim` does and writes the skin at every frame, (frames, vertices, 3) in the world. As a module:

    flesh = Flesh("fox.model.npz")
    flesh.set_pose(parameters, points, root)        # where it starts
    flesh.set_pose(...); flesh.step(1 / 90)         # and so on
    skin = flesh.positions()

supple_runtime.h says what the arrays are.
"""
import argparse
import ctypes
import ctypes.util
import math
import os
import sys

import numpy as np

MAJOR = 1   # of supple_runtime.h, which this file was written for


class Options(ctypes.Structure):
    """struct supple_options; zeros are defaults."""
    _fields_ = [("gravity", ctypes.c_double * 3), ("gravity_mode", ctypes.c_int), ("damping", ctypes.c_double),
                ("stiffness", ctypes.c_double), ("newton", ctypes.c_int), ("corrected", ctypes.c_int),
                ("vertices", ctypes.c_void_p), ("vertex_count", ctypes.c_int64), ("contact_count", ctypes.c_int64),
                ("contacts", ctypes.c_void_p), ("collider_count", ctypes.c_int64), ("contact_stiffness", ctypes.c_double),
                ("self_contact", ctypes.c_char_p)]


def load(path=None):
    """The library, from $SUPPLE_RUNTIME where path is None, else as the system finds it."""
    path = path or os.environ.get("SUPPLE_RUNTIME") or "libsupple-runtime.so.%d" % MAJOR
    library = ctypes.CDLL(path)
    if library.supple_runtime_version() // 1000 != MAJOR:
        raise OSError("%s: its interface is version %.3f, wanted is %d" % (path, library.supple_runtime_version() / 1000, MAJOR))
    pointer, doubles, integer = ctypes.c_void_p, np.ctypeslib.ndpointer(np.float64, flags="C"), ctypes.c_int64
    for name, result, arguments in (
            ("open", pointer, [ctypes.c_char_p, ctypes.POINTER(Options), ctypes.c_char_p, ctypes.c_size_t]),
            ("close", None, [pointer]), ("parameters", integer, [pointer]),
            ("parameter_name", ctypes.c_char_p, [pointer, integer]), ("skin_vertices", integer, [pointer]),
            ("needed", integer, [pointer, ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))]),
            ("output_vertices", integer, [pointer, ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))]),
            ("set_pose", None, [pointer, doubles, doubles, doubles]),
            ("start_moving", None, [pointer, doubles, doubles, doubles, ctypes.c_double]),
            ("set_flesh", None, [pointer, ctypes.c_double, ctypes.c_double]),
            ("set_gravity", None, [pointer, doubles, ctypes.c_int]), ("set_wind", None, [pointer, doubles, ctypes.c_double]),
            ("restart", None, [pointer]), ("step", ctypes.c_int, [pointer, ctypes.c_double]),
            ("positions", None, [pointer, doubles]),
            ("clip_open", pointer, [ctypes.c_char_p, pointer, ctypes.c_char_p, ctypes.c_size_t]),
            ("clip_close", None, [pointer]), ("clip_seconds", ctypes.c_double, [pointer]),
            ("clip_rate", ctypes.c_double, [pointer]),
            ("clip_pose", None, [pointer, ctypes.c_double, doubles, doubles, doubles])):
        function = getattr(library, "supple_" + name)
        function.restype, function.argtypes = result, arguments
    return library


class Flesh:
    """A character's flesh. Keyword arguments are the fields of supple_options."""

    def __init__(self, model, library=None, **options):
        self._library = library or load()
        message = ctypes.create_string_buffer(500)
        settings = Options()
        for name, value in options.items():
            setattr(settings, name, (ctypes.c_double * 3)(*value) if name == "gravity" else os.fsencode(value) if name == "self_contact" else value)
        self._self = self._library.supple_open(os.fsencode(model), ctypes.byref(settings), message, len(message))
        if not self._self:
            raise OSError(message.value.decode())
        self.parameters = [(self._library.supple_parameter_name(self._self, k) or b"").decode()
                           for k in range(self._library.supple_parameters(self._self))]
        self.needed = self._list("needed")            # skin vertices whose places a pose wants
        self.output = self._list("output_vertices")   # skin vertices that positions() has

    def _list(self, name):
        numbers = ctypes.POINTER(ctypes.c_int32)()
        count = getattr(self._library, "supple_" + name)(self._self, ctypes.byref(numbers))
        return np.ctypeslib.as_array(numbers, (count,)).copy() if count else np.empty(0, np.int32)

    def close(self):
        if self._self:
            self._library.supple_close(self._self)
        self._self = None

    def _call(self, name, *arguments):
        return getattr(self._library, "supple_" + name)(self._self, *arguments)

    def _pose(self, parameters, points, root):
        for array, shape in ((parameters, (len(self.parameters),)), (points, (len(self.needed), 3)), (root, (4, 4))):
            if np.shape(array) != shape:
                raise ValueError("a pose wants an array of shape %s, not %s" % (shape, np.shape(array)))
        return [np.ascontiguousarray(a, np.float64) for a in (parameters, points, root)]

    def set_pose(self, parameters, points, root):
        self._call("set_pose", *self._pose(parameters, points, root))

    def start_moving(self, parameters, points, root, seconds):
        self._call("start_moving", *self._pose(parameters, points, root), seconds)

    def step(self, seconds):
        return self._call("step", seconds)

    def restart(self):
        self._call("restart")

    def set_flesh(self, stiffness=1.0, damping=0.0):
        self._call("set_flesh", stiffness, damping)

    def set_wind(self, velocity, drag=1.2):
        self._call("set_wind", np.array(velocity, np.float64), drag)

    def positions(self):
        """(output,3) in the root frame."""
        out = np.empty((len(self.output), 3))
        self._call("positions", out)
        return out


class Clip:
    """A shot of `supple import` in place of a rig."""

    def __init__(self, anim, flesh):
        message = ctypes.create_string_buffer(500)
        self._library, self._flesh = flesh._library, flesh
        self._self = self._library.supple_clip_open(os.fsencode(anim), flesh._self, message, len(message))
        if not self._self:
            raise OSError(message.value.decode())
        self.seconds = self._library.supple_clip_seconds(self._self)
        self.rate = self._library.supple_clip_rate(self._self)

    def close(self):
        if self._self:
            self._library.supple_clip_close(self._self)
        self._self = None

    def pose(self, seconds):
        """parameters, points, root for Flesh.set_pose."""
        p, x, root = np.empty(len(self._flesh.parameters)), np.empty((len(self._flesh.needed), 3)), np.empty((4, 4))
        self._library.supple_clip_pose(self._self, seconds, p, x, root)
        return p, x, root


STEPS_A_SECOND = 90   # at least, as supple sim has it


def play(flesh, clip):
    """Yields the skin in the world, frame by frame."""
    substeps = math.ceil(STEPS_A_SECOND / clip.rate - 1e-6)
    h = 1 / (clip.rate * substeps)
    pose = clip.pose(0)
    flesh.set_pose(*pose)
    flesh.start_moving(*clip.pose(h), h)
    yield flesh.positions() @ pose[2][:3, :3].T + pose[2][:3, 3]
    for k in range(1, round(clip.seconds * clip.rate) * substeps + 1):
        pose = clip.pose(k * h)
        flesh.set_pose(*pose)
        flesh.step(h)
        if k % substeps == 0:
            yield flesh.positions() @ pose[2][:3, :3].T + pose[2][:3, 3]


def main():
    parser = argparse.ArgumentParser(description="plays a clip on a model of supple, by its run-time library")
    parser.add_argument("model")
    parser.add_argument("anim")
    parser.add_argument("-o", "--output", help="positions, .npy")
    parser.add_argument("--stiffness", type=float, default=0)
    parser.add_argument("--damping", type=float, default=0)
    parser.add_argument("--wind", help="X,Y,Z in m/s")
    parser.add_argument("--library", help="libsupple-runtime.so (default: $SUPPLE_RUNTIME, else as the system finds it)")
    words = parser.parse_args()
    try:
        flesh = Flesh(words.model, load(words.library), stiffness=words.stiffness, damping=words.damping,
                      contact_count=300 if words.wind else 0)
        clip = Clip(words.anim, flesh)
        if words.wind:
            flesh.set_wind([float(x) for x in words.wind.split(",")])
        frames = np.array(list(play(flesh, clip)))
        if words.output:
            np.save(words.output, frames)
    except (OSError, ValueError) as trouble:
        print("supple_live: %s" % trouble, file=sys.stderr)
        return 1
    print("%d frames of %d vertices, %.3g to %.3g m" % (frames.shape[0], frames.shape[1], frames.min(), frames.max()))
    clip.close()
    flesh.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
