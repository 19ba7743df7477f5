#!/usr/bin/python3
"""Writes PLY files from the format's description: write(path, points, polygons, kind, colours, uv), kind ascii | little | big."""
import struct


def write(path, points, polygons, kind="ascii", colours=None, uv=None):
    order = {"ascii": None, "little": "<", "big": ">"}[kind]
    head = ["ply", "format %s 1.0" % {"ascii": "ascii", "little": "binary_little_endian", "big": "binary_big_endian"}[kind],
            "comment made for a test", "element vertex %d" % len(points), "property double x", "property double y", "property double z"]
    head += ["property uchar red", "property uchar green", "property uchar blue"] if colours is not None else []
    head += ["property float s", "property float t"] if uv is not None else []
    head += ["property short quality", "element face %d" % len(polygons), "property list uchar float weights",
             "property list ushort int vertex_indices", "element edge 1", "property int vertex1", "end_header"]
    with open(path, "wb") as out:
        out.write(("\n".join(head) + "\n").encode())

        def row(form, values):
            if order is None:
                out.write((" ".join("%.17g" % v for v in values) + "\n").encode())
            else:
                out.write(struct.pack(order + form, *values))
        for i, p in enumerate(points):
            values, form = list(p), "ddd"
            if colours is not None:
                values, form = values + list(colours[i]), form + "BBB"
            if uv is not None:
                values, form = values + list(uv[i]), form + "ff"
            row(form + "h", values + [-7])
        for f in polygons:
            row("BffH%di" % len(f), [2, 0.5, 1.5, len(f)] + list(f))
        row("i", [0])
