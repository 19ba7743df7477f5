#include "io/cache/glb_internal.h"

#include "core/json_text.h"
#include "core/memory.h"

#include <math.h>
#include <stdlib.h>

/* Nodes that none has as a child. New reference; NULL: no memory. */
static json_t *roots_of(su_glb_writer *w)
{
    size_t count = json_array_size(w->file.nodes), i, k;
    json_t *roots = json_array(), *node, *child;
    uint8_t *below = su_calloc((int64_t)count, 1);
    json_array_foreach(w->file.nodes, i, node)
        json_array_foreach(json_object_get(node, "children"), k, child) if (below) below[json_integer_value(child)] = 1;
    for (i = 0; i < count && below; i++)
        if (!below[i]) w->file.bad |= json_array_append_new(roots, json_integer((json_int_t)i));
    w->file.bad |= !below;
    free(below);
    return roots;
}

/* New reference. */
static json_t *materials_of(su_glb_writer *w)
{
    const su_looks *looks = w->glb->looks;
    json_t *list = json_array();
    for (int64_t i = 0; looks && i < looks->materials; i++) {
        double color[4], surface[2];
        for (int k = 0; k < 4; k++) color[k] = fmin(fmax((double)looks->color[4 * i + k], 0.0), 1.0);
        for (int k = 0; k < 2; k++) surface[k] = fmin(fmax((double)looks->surface[2 * i + k], 0.0), 1.0);
        json_t *material =
            json_pack("{s:o, s:{s:[f,f,f,f], s:f, s:f}}", "name", su_json_text(looks->material_names[i], "material"),
                      "pbrMetallicRoughness", "baseColorFactor", color[0], color[1], color[2], color[3],
                      "metallicFactor", surface[0], "roughnessFactor", surface[1]);
        if (material && color[3] < 1.0) w->file.bad |= json_object_set_new(material, "alphaMode", json_string("BLEND"));
        w->file.bad |= json_array_append_new(list, material);
    }
    return list;
}

static json_t *document(su_glb_writer *w)
{
    const su_glb *g = w->glb;
    json_t *document =
        json_pack("{s:{s:s, s:o, s:{s:o, s:f, s:f}}, s:i, s:[{s:o}], s:O, s:O, s:O, s:O, s:[{s:I}]}", "asset",
                  "version", "2.0", "generator", su_json_text(g->application, ""), "extras", "provenance",
                  su_json_text(g->provenance, ""), "frame_start", g->frame_start, "fps", g->fps, "scene", 0, "scenes",
                  "nodes", roots_of(w), "nodes", w->file.nodes, "meshes", w->file.meshes, "accessors",
                  w->file.accessors, "bufferViews", w->file.views, "buffers", "byteLength", (json_int_t)w->file.count);
    if (document && json_array_size(w->file.skins)) w->file.bad |= json_object_set(document, "skins", w->file.skins);
    json_t *materials = materials_of(w);
    if (document && json_array_size(materials)) w->file.bad |= json_object_set(document, "materials", materials);
    json_decref(materials);
    if (document && json_array_size(w->file.channels))
        w->file.bad |= json_object_set_new(document, "animations",
                                           json_pack("[{s:o, s:O, s:O}]", "name", su_json_text(g->name, "bake"),
                                                     "channels", w->file.channels, "samplers", w->file.samplers));
    return document;
}

su_status su_glb_save(const char *path, const su_glb *glb, const su_cache_parts *parts, su_error *err)
{
    su_glb_writer w = {.glb = glb, .parts = parts, .err = err};
    int64_t joints = glb->skin ? glb->skin->source->joints : 0;
    json_t *json = NULL;
    su_status status;
    su_glb_file_begin(&w.file, err);
    SU_GO(SU_ALLOC(&w.place, parts->count, "a glTF file", err));
    SU_GO(SU_ALLOC(&w.slot, joints, "a glTF file", err));
    SU_GO(SU_ALLOC(&w.joint_node, joints, "a glTF file", err));
    SU_GO(glb->skin ? su_glb_place_on_tree(&w) : su_glb_place_on_root(&w));
    for (int i = 0; i < parts->count; i++) SU_GO(su_glb_put_part(&w, i));
    if (glb->skin) SU_GO(su_glb_put_skin(&w));
    if (glb->frames > 0) SU_GO(su_glb_put_clip(&w));
    json = document(&w);
    status = su_glb_write(&w.file, path, json);
done:
    json_decref(json);
    su_glb_file_free(&w.file);
    free(w.place), free(w.slot), free(w.joint_node);
    return status;
}
