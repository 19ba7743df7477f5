/* What supple export writes: which frames, when, in which units, on which mesh. */
#include "export.h"

#include "core/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "A", "A-B" or "A-BxS" in the shot's own frame numbers. */
static su_status choose_frames(su_tool *tool, job *j)
{
    double a = j->number, b = j->number + (double)(j->anim.F - 1);
    j->first = 0, j->last = j->anim.F - 1, j->step = 1;
    if (!j->set.frames) return SU_OK;
    char *end;
    const char *text = j->set.frames;
    double from = strtod(text, &end), to = from;
    long long step = 1;
    bool good = end != text;
    if (good && *end == '-') to = strtod(text = end + 1, &end), good = end != text;
    if (good && *end == 'x') step = strtoll(text = end + 1, &end, 10), good = end != text && step > 0;
    if (!good || *end || !(from <= to))
        return su_fail(&tool->err, SU_USAGE, "--frames %s: write 10, 10-20 or 10-20x2", j->set.frames);
    if (from < a - 0.5 || to > b + 0.5)
        return su_fail(&tool->err, SU_USAGE, "--frames %s: %s has frames %.9g-%.9g", j->set.frames, j->anim_path, a, b);
    j->first = llround(from - a), j->last = llround(to - a), j->step = step;
    j->last -= (j->last - j->first) % step;
    return SU_OK;
}

/* Samples for motion blur, spread over the time in which the shutter is open. */
static su_status choose_samples(su_tool *tool, job *j)
{
    if (j->set.samples < 2) {
        j->set.samples = 0;
        return j->set.shutter ? su_fail(&tool->err, SU_USAGE, "--shutter goes with --samples 2 or more") : SU_OK;
    }
    const char *text = j->set.shutter ? j->set.shutter : "-0.25,0.25";
    char *end;
    double open = strtod(text, &end), close = open;
    bool good = end != text && *end == ',';
    if (good) close = strtod(text = end + 1, &end), good = end != text && !*end;
    if (!good || !(open > -1.0 && close < 1.0 && open < close && close - open < 1.0))
        return su_fail(&tool->err, SU_USAGE,
                       "--shutter %s: write when it opens and closes, in frames less than one apart: -0.25,0.25",
                       j->set.shutter);
    SU_TRY(SU_ALLOC(&j->offsets, j->set.samples, "samples", &tool->err));
    for (int i = 0; i < j->set.samples; i++) j->offsets[i] = open + (close - open) * i / (j->set.samples - 1);
    return SU_OK;
}

/* The frames before which the run says the rig jumps. */
static su_status find_cuts(su_tool *tool, job *j)
{
    const json_t *list = j->has_sim ? json_object_get(j->sim.file.meta, "teleports") : NULL, *item;
    size_t index;
    if (!json_array_size(list)) return SU_OK;
    SU_TRY(SU_ALLOC(&j->cut, j->anim.F, "teleports", &tool->err));
    json_array_foreach(list, index, item)
    {
        json_int_t k = json_integer_value(item);
        if (k > 0 && k < j->anim.F) j->cut[k] = true;
    }
    return SU_OK;
}

static su_status object_names(su_tool *tool, job *j)
{
    SU_TRY(SU_ALLOC(&j->names, j->anim.objects ? j->anim.objects : 1, "names", &tool->err));
    for (int64_t o = 0; o < (j->anim.objects ? j->anim.objects : 1); o++) {
        const char *name = su_file_name(&j->anim.file, "object_names", o);
        j->names[o] = name ? name : "mesh";
    }
    return SU_OK;
}

/* Materials and sets of the animation. Names are borrowed. */
static su_status take_looks(su_tool *tool, job *j)
{
    const su_anim *anim = &j->anim;
    su_looks *looks = &j->looks;
    *looks = (su_looks){.color = anim->material_color,
                        .surface = anim->material_surface,
                        .material = anim->face_material,
                        .start = anim->face_set_start,
                        .face = anim->face_set_faces,
                        .materials = anim->face_material ? anim->materials : 0,
                        .sets = anim->face_set_start ? anim->sets1 - 1 : 0,
                        .set_faces = anim->set_faces};
    SU_TRY(SU_ALLOC(&looks->material_names, looks->materials, "names", &tool->err));
    SU_TRY(SU_ALLOC(&looks->set_names, looks->sets, "names", &tool->err));
    for (int64_t i = 0; i < looks->materials; i++) {
        const char *name = su_file_name(&anim->file, "material_names", i);
        looks->material_names[i] = (char *)(name ? name : "material");
    }
    for (int64_t i = 0; i < looks->sets; i++) {
        const char *name = su_file_name(&anim->file, "face_set_names", i);
        looks->set_names[i] = (char *)(name ? name : "set");
    }
    return SU_OK;
}

/* Where the source has its meshes, below --under; NULL where it has no hierarchy or none is wanted. */
static su_status object_paths(su_tool *tool, job *j)
{
    int64_t objects = j->anim.objects ? j->anim.objects : 1;
    const char *under = j->set.under ? j->set.under : "";
    bool known = su_file_name(&j->anim.file, "object_paths", 0) != NULL;
    if (j->set.under && (under[0] != '/' || under[1] == 0 || under[strlen(under) - 1] == '/'))
        return su_fail(&tool->err, SU_USAGE, "--under %s: write /group or /group/group", under);
    if (j->set.flat && j->set.over)
        return su_fail(&tool->err, SU_USAGE, "--over needs the paths of the asset: it does not go with --flat");
    if (j->set.over && !known && !j->set.under)
        return su_fail(&tool->err, SU_USAGE,
                       "--over: %s holds no hierarchy; --under /asset/geo says where its objects stand", j->anim_path);
    if (j->set.flat || (!known && !j->set.under)) return SU_OK;
    SU_TRY(SU_ALLOC(&j->paths, objects, "paths", &tool->err));
    for (int64_t o = 0; o < objects; o++) {
        const char *path = su_file_name(&j->anim.file, "object_paths", o);
        int printed = path ? asprintf(&j->paths[o], "%s%s", under, path)
                           : asprintf(&j->paths[o], "%s/%s/%sShape", under, j->names[o], j->names[o]);
        if (printed < 0) {
            j->paths[o] = NULL;
            return su_fail(&tool->err, SU_AGAIN, "out of memory for paths");
        }
    }
    return SU_OK;
}

/* Transforms of the objects at the frames that are written. */
static su_status object_frames(su_tool *tool, job *j, int64_t frames)
{
    int64_t row = 16 * j->anim.objects;
    if (!j->expand.object_frames) return SU_OK;
    SU_TRY(SU_ALLOC(&j->object_frames, frames * row, "transforms", &tool->err));
    for (int64_t k = 0; k < frames; k++)
        memcpy(j->object_frames + k * row, j->expand.object_frames + (j->first + k * j->step) * row,
               (size_t)row * sizeof *j->object_frames);
    return SU_OK;
}

/* glTF is in metres with y up, and its morph targets would have to follow the root's turns: a node carries these. */
static su_status prepare_glb(su_tool *tool, job *j)
{
    if (j->set.space == SU_SPACE_OBJECT) return su_fail(&tool->err, SU_USAGE, "glb: --space world or root");
    int64_t frames = (j->last - j->first) / j->step + 1;
    j->set.unit = 1.0, j->set.up = 2;
    if (j->set.space == SU_SPACE_WORLD) SU_TRY(SU_ALLOC(&j->root, 16 * frames, "root motion", &tool->err));
    for (int64_t k = 0; k < frames && j->root; k++)
        memcpy(j->root + 16 * k, j->anim.root + 16 * (j->first + k * j->step), 16 * sizeof *j->root);
    j->set.space = SU_SPACE_ROOT;
    return SU_OK;
}

/* The most targets where only the error is asked for. */
enum { MORPHS_MOST = 1000, MORPHS_WHOLE = 8 };
/* What targets may leave of the flesh's motion where a skin is kept. */
#define MORPH_ERROR 0.02

/* The source's skeleton and skin, where they can be kept, and how many targets then. */
static su_status keep_skin(su_tool *tool, job *j)
{
    const su_anim *anim = &j->anim;
    su_cache_layout *l = &j->layout;
    bool keep = j->set.what == WHAT_POINTS && !j->set.bind && !j->set.no_skin && anim->weights;
    if (keep && !anim->node_keys)
        su_note(tool, "%s: holds no node tree, so the targets get the whole motion; importing it again keeps the skin",
                j->anim_path);
    if (keep && anim->node_keys && !j->root)
        su_note(tool, "without the motion of the root frame there is no skeleton; the targets get the whole motion");
    keep = keep && anim->node_keys && j->root;
    l->morph_error = j->set.morph_error > 0.0 ? j->set.morph_error : keep && !j->set.morphs ? MORPH_ERROR : 0.0;
    l->morphs = j->set.morphs ? j->set.morphs : l->morph_error > 0.0 ? MORPHS_MOST : MORPHS_WHOLE;
    if (!keep) return SU_OK;
    int64_t row = 10 * anim->nodes;
    SU_TRY(SU_ALLOC(&j->node_names, anim->nodes, "names", &tool->err));
    for (int64_t n = 0; n < anim->nodes; n++) {
        const char *name = su_file_name(&anim->file, "node_names", n);
        j->node_names[n] = name ? name : "node";
    }
    if (j->step > 1) SU_TRY(SU_ALLOC(&j->node_keys, l->frames * row, "keys", &tool->err));
    for (int64_t k = 0; k < l->frames && j->node_keys; k++)
        memcpy(j->node_keys + k * row, anim->node_keys + (j->first + k * j->step) * row,
               (size_t)row * sizeof *j->node_keys);
    j->skin = (su_cache_skin){.frames = l->frames,
                              .nodes = anim->nodes,
                              .joints = anim->joints,
                              .weighted = anim->B,
                              .vertices = anim->nbar,
                              .node_names = j->node_names,
                              .node_parent = anim->node_parent,
                              .node_rest = anim->node_rest,
                              .node_keys = j->node_keys ? j->node_keys : anim->node_keys + j->first * row,
                              .joint_node = anim->joint_node,
                              .joint_bind = anim->joint_bind,
                              .object_node = anim->object_node,
                              .skin_vertex = anim->source_vertex,
                              .neutral = anim->neutral,
                              .weights = anim->weights,
                              .most_joints = j->set.joints};
    l->skin = &j->skin;
    return SU_OK;
}

/* Games think as glTF does; a mesh that is lit wants normals. */
static su_status prepare_vat(su_tool *tool, job *j)
{
    if (j->set.space == SU_SPACE_OBJECT) return su_fail(&tool->err, SU_USAGE, "textures: --space world or root");
    if (!(j->set.unit > 0.0)) j->set.unit = 1.0;
    if (!j->set.up) j->set.up = 2;
    j->set.normals = j->set.what == WHAT_POINTS;
    return SU_OK;
}

/* The other mesh stands in the source's world at the neutral pose; its topology takes the place of the source's. */
static su_status bind_mesh(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    su_obj *obj = &j->carried;
    if (j->set.space == SU_SPACE_OBJECT || j->set.what == WHAT_DISPLACEMENT)
        return su_fail(err, SU_USAGE, "--bind goes with neither --space object nor --what displacement");
    SU_TRY(su_obj_load(j->set.bind, obj, err));
    if (obj->faces < 1) return su_fail(err, SU_INPUT, "%s: has no faces", j->set.bind);
    SU_TRY(SU_ALLOC(&j->carried_points, 3 * obj->vertices, "a bound mesh", err));
    for (int64_t v = 0; v < obj->vertices; v++)
        su_expand_back(&j->expand, obj->points + 3 * v, j->carried_points + 3 * v);
    SU_TRY(su_bind_create(obj->vertices, j->carried_points, j->anim.nbar, j->anim.neutral, j->anim.T, j->anim.triangles,
                          &j->bind, err));
    su_note(tool, "%s: %lld vertices, at most %.4g m from the skin", j->set.bind, (long long)obj->vertices,
            j->bind.farthest);
    su_cache_layout *l = &j->layout;
    l->vertices = obj->vertices, l->faces = obj->faces, l->corners = obj->corners, l->uvs = obj->uvs,
    l->objects = obj->objects;
    l->face_counts = obj->face_counts, l->face_indices = obj->face_indices, l->uv = obj->uv,
    l->uv_indices = obj->uv_indices;
    l->object_ids = obj->object_ids, l->object_names = (const char *const *)obj->object_names, l->object_xform = NULL;
    l->object_paths = NULL, l->looks = &obj->looks, l->color = obj->color;
    return SU_OK;
}

/* Polygons whose vertices are all kept; new_vertex (N), -1 of those that go. */
static su_status keep_polygons(su_tool *tool, job *j, const int32_t *new_vertex)
{
    su_cache_layout *l = &j->layout;
    chosen *c = &j->chosen;
    int32_t *new_face = NULL;
    int64_t faces = 0, corners = 0;
    su_status status;
    SU_GO(SU_ALLOC(&new_face, l->faces, "polygons", &tool->err));
    SU_GO(SU_ALLOC(&c->counts, l->faces, "polygons", &tool->err));
    SU_GO(SU_ALLOC(&c->indices, l->corners, "polygons", &tool->err));
    if (l->uv_indices) SU_GO(SU_ALLOC(&c->uv_indices, l->corners, "polygons", &tool->err));
    for (int64_t f = 0, at = 0; f < l->faces; at += l->face_counts[f], f++) {
        bool all = l->face_counts[f] > 0;
        for (int32_t k = 0; k < l->face_counts[f]; k++) all &= new_vertex[l->face_indices[at + k]] >= 0;
        new_face[f] = all ? (int32_t)faces : -1;
        if (!all) continue;
        c->counts[faces++] = l->face_counts[f];
        for (int32_t k = 0; k < l->face_counts[f]; k++, corners++) {
            c->indices[corners] = new_vertex[l->face_indices[at + k]];
            if (c->uv_indices) c->uv_indices[corners] = l->uv_indices[at + k];
        }
    }
    SU_GO(su_looks_copy(l->looks, l->faces, &c->looks, &tool->err));
    SU_GO(su_looks_keep(&c->looks, l->faces, new_face, &tool->err));
    l->faces = faces, l->corners = corners;
    l->face_counts = c->counts, l->face_indices = c->indices, l->uv_indices = c->uv_indices, l->looks = &c->looks;
done:
    free(new_face);
    return status;
}

/* Leaves the objects that --object names. */
static su_status choose_objects(su_tool *tool, job *j, su_cache_format format)
{
    su_cache_layout *l = &j->layout;
    chosen *c = &j->chosen;
    int32_t *new_vertex = NULL, *number = NULL;
    bool *wanted = NULL;
    int64_t count = 0, joined = 0;
    su_status status;
    if (j->set.objects.count == 0) return SU_OK;
    if (j->set.bind || format == SU_CACHE_GLB || format == SU_CACHE_VAT)
        return su_fail(&tool->err, SU_USAGE, "--object goes with neither --bind nor glTF nor textures");
    if (!l->object_ids)
        return su_fail(&tool->err, SU_INPUT, "%s: does not say which object a vertex is of", j->anim_path);
    SU_GO(SU_ALLOC(&wanted, l->objects, "objects", &tool->err));
    for (int i = 0; i < j->set.objects.count; i++) {
        bool found = false;
        for (int64_t o = 0; o < l->objects; o++)
            if (strcmp(l->object_names[o], j->set.objects.items[i]) == 0) wanted[o] = found = true;
        if (!found) {
            status =
                su_fail(&tool->err, SU_INPUT, "%s: no object is called '%s'", j->anim_path, j->set.objects.items[i]);
            goto done;
        }
    }
    SU_GO(SU_ALLOC(&new_vertex, l->vertices, "vertices", &tool->err));
    SU_GO(SU_ALLOC(&number, j->anim.nbar, "vertices", &tool->err));
    SU_GO(SU_ALLOC(&c->kept, l->vertices, "vertices", &tool->err));
    SU_GO(SU_ALLOC(&c->ids, l->vertices, "vertices", &tool->err));
    SU_GO(SU_ALLOC(&c->joined, l->vertices, "vertices", &tool->err));
    if (l->color) SU_GO(SU_ALLOC(&c->color, 4 * l->vertices, "colours", &tool->err));
    for (int64_t v = 0; v < l->vertices; v++) {
        new_vertex[v] = wanted[l->object_ids[v]] ? (int32_t)count : -1;
        if (new_vertex[v] < 0) continue;
        int32_t *seam = &number[l->joined[v]]; /* numbers of seams, too, begin at 0 */
        if (*seam == 0) *seam = (int32_t)++joined;
        c->joined[count] = *seam - 1, c->ids[count] = l->object_ids[v];
        if (c->color) memcpy(c->color + 4 * count, l->color + 4 * v, 4 * sizeof *c->color);
        c->kept[count++] = (int32_t)v;
    }
    if (count == 0) {
        status = su_fail(&tool->err, SU_INPUT, "%s: these objects have no vertices", j->anim_path);
        goto done;
    }
    SU_GO(keep_polygons(tool, j, new_vertex));
    l->vertices = count, l->object_ids = c->ids, l->joined = c->joined, l->color = c->color;
    for (int i = 0; i < 3; i++) SU_GO(SU_ALLOC(&c->frame[i], 3 * count, "a frame", &tool->err));
done:
    free(wanted), free(new_vertex), free(number);
    return status;
}

su_status export_describe(su_tool *tool, job *j)
{
    const su_anim *anim = &j->anim;
    const json_t *meta = anim->file.meta;
    static const char axes[] = {0, 'x', 'y', 'z'};
    double step = anim->F > 1 ? (anim->times[anim->F - 1] - anim->times[0]) / (double)(anim->F - 1) : 1.0 / 24.0;
    j->fps = su_meta_number(meta, "fps", 1.0 / step);
    if (!(j->fps > 0.0)) return su_fail(&tool->err, SU_INPUT, "%s: %g frames a second", j->anim_path, j->fps);
    j->number = su_meta_number(meta, "frame_start", anim->times[0] * j->fps);
    SU_TRY(choose_frames(tool, j));
    bool skin = j->set.format == FORMAT_SKIN_NUMBER; /* thinks of units as textures do */
    su_cache_format format = skin ? SU_CACHE_VAT : su_cache_format_of(tool->output, (su_cache_format)j->set.format);
    if (j->set.space == SU_SPACE_OBJECT + 1) j->set.space = SU_SPACE_OBJECT; /* "local", the older word */
    if ((j->set.over || j->set.asset) && !su_cache_is_usd(format))
        return su_fail(&tool->err, SU_USAGE,
                       "only USD has layers of opinions: --over and --asset go with .usda and .usdc");
    if (j->set.over && (j->set.bind || j->set.what == WHAT_DISPLACEMENT))
        return su_fail(&tool->err, SU_USAGE, "--over goes with neither --bind nor --what displacement");
    if (j->set.over && j->set.space == SU_SPACE_WORLD && j->anim.object_xform) j->set.space = SU_SPACE_OBJECT;
    if (format == SU_CACHE_GLB) SU_TRY(prepare_glb(tool, j));
    if (format == SU_CACHE_VAT) SU_TRY(prepare_vat(tool, j));
    if (skin) j->set.normals = false;
    if (j->set.what == WHAT_DISPLACEMENT && j->set.normals)
        return su_fail(&tool->err, SU_USAGE, "displacements have no normals");
    double unit = j->set.unit > 0.0 ? j->set.unit : su_meta_number(meta, "source_unit", 1.0);
    char up = j->set.up ? axes[j->set.up] : (char)tolower((unsigned char)su_meta_text(meta, "source_up", "y")[0]);
    if (!(unit > 0.0) || !isfinite(unit))
        return su_fail(&tool->err, SU_INPUT, "%s: source_unit %g", j->anim_path, unit);
    SU_TRY(su_expand_create(anim, (su_space)j->set.space, unit, up, &j->expand, &tool->err));
    SU_TRY(object_names(tool, j));
    SU_TRY(object_paths(tool, j));
    SU_TRY(take_looks(tool, j));
    SU_TRY(choose_samples(tool, j));
    SU_TRY(find_cuts(tool, j));
    int64_t frames = (j->last - j->first) / j->step + 1;
    SU_TRY(object_frames(tool, j, frames));
    j->layout = (su_cache_layout){.frames = frames * (j->set.samples ? j->set.samples : 1),
                                  .vertices = anim->N,
                                  .faces = anim->P,
                                  .corners = anim->corners,
                                  .uvs = anim->uv && anim->uv_indices ? anim->uvs : 0,
                                  .objects = anim->objects ? anim->objects : 1,
                                  .face_counts = anim->face_counts,
                                  .face_indices = anim->face_indices,
                                  .uv = anim->uv_indices ? anim->uv : NULL,
                                  .uv_indices = anim->uv ? anim->uv_indices : NULL,
                                  .object_ids = anim->objects ? anim->object_ids : NULL,
                                  .object_names = j->names,
                                  .object_xform = j->expand.object_xform,
                                  .object_frames = j->object_frames,
                                  .object_paths = (const char *const *)j->paths,
                                  .looks = &j->looks,
                                  .color = anim->color,
                                  .subdivision = j->set.subdivision,
                                  .over = j->set.over,
                                  .unskin = json_is_true(json_object_get(meta, "usd_skinned")),
                                  .asset = j->set.asset,
                                  .fps = j->fps,
                                  .frame_start = j->number + (double)j->first + j->set.offset,
                                  .frame_step = (double)j->step,
                                  .samples = j->set.samples,
                                  .shutter = j->offsets,
                                  .velocities = j->set.velocities,
                                  .normals = j->set.normals,
                                  .unit = unit,
                                  .up = up,
                                  .root = j->root,
                                  .joined = j->set.bind ? NULL : anim->source_vertex,
                                  .texture = j->set.texture,
                                  .displacement = j->set.what == WHAT_DISPLACEMENT,
                                  .clip = su_meta_text(meta, "clip", NULL),
                                  .application = "supple " SU_VERSION};
    if (format == SU_CACHE_GLB) SU_TRY(keep_skin(tool, j));
    SU_TRY(choose_objects(tool, j, skin ? SU_CACHE_AUTO : format));
    return j->set.bind ? bind_mesh(tool, j) : SU_OK;
}
