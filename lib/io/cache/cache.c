#include "io/cache/cache.h"

#include "core/file.h"
#include "core/memory.h"
#include "core/npy.h"
#include "io/alembic/alembic.h"
#include "io/cache/cache_parts.h"
#include "io/cache/cache_tree.h"
#include "io/cache/glb.h"
#include "io/cache/mdd.h"
#include "io/cache/obj.h"
#include "io/cache/pc2.h"
#include "io/cache/sequence_files.h"
#include "io/cache/usda.h"
#include "io/cache/usdc.h"
#include "io/cache/vat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

/* One format behind a writer. */
typedef struct cache_kind {
    const char *extension;
    su_status (*create)(su_cache_writer *w, su_error *err);
    su_status (*frame)(su_cache_writer *w, const float *points, const float *velocities, const float *normals,
                       su_error *err);
    su_status (*commit)(su_cache_writer *w, su_error *err);
    void (*abandon)(su_cache_writer *w);
} cache_kind;

struct su_cache_writer {
    const cache_kind *kind;
    char *path;
    su_cache_layout layout;
    int64_t written;
    su_cache_parts parts;
    float *gathered[3]; /* points, velocities, normals of one part */
    su_alembic_writer *alembic;
    su_cache_tree tree;
    int *mesh;      /* Alembic: (parts) number of each */
    double *worlds; /* Alembic: (parts,frames or 1,4,4) */
    su_usda_writer *usda;
    su_usdc_writer *usdc;
    su_vat_writer *vat;
    su_pc2_writer pc2;
    su_mdd_writer mdd;
    char *library, *library_path; /* obj: its materials, in a file beside it; NULL: it has none */
    su_output npy;
    su_output spool; /* glb: all frames, mapped at the end, never committed */
    su_glb_skin skin;
    double motion, unskinnable; /* glb: what errors are held against; what the skin cannot take anywhere, m^2 */
    su_cache_report report;
};

/* ---- Alembic ---- */

/* The sets of a part: its materials, of which a polygon has one, and others. */
static su_status abc_sets(const su_cache_part *p, su_alembic_set_in **out, char **names, su_error *err)
{
    enum { ROOM = 200 };
    SU_TRY(SU_ALLOC(out, p->groups, "face sets", err));
    SU_TRY(SU_ALLOC(names, ROOM * p->groups, "face sets", err));
    for (int i = 0; i < p->groups; i++) {
        char *name = *names + ROOM * i;
        snprintf(name, ROOM - 16, "%s", p->group[i].name);
        for (char *c = name; *c; c++)
            if (*c == '/' || (unsigned char)*c < 32) *c = '_';
        size_t length = strlen(name);
        for (int number = 1, k = 0; k < i; k++) {
            if (strcmp((*out)[k].name, name) != 0) continue;
            snprintf(name + length, ROOM - length, "_%d", number++);
            k = -1;
        }
        (*out)[i] = (su_alembic_set_in){name, p->group[i].faces, p->group[i].face, p->group[i].material >= 0};
    }
    return SU_OK;
}

static su_status abc_mesh(su_cache_writer *w, const su_cache_node *node, int parent, const double *world,
                          int64_t samples, su_error *err)
{
    const su_cache_layout *l = &w->layout;
    const su_cache_part *p = &w->parts.part[node->part];
    su_alembic_set_in *sets = NULL;
    char *names = NULL;
    int *index = &w->mesh[node->part];
    su_status status = abc_sets(p, &sets, &names, err);
    su_alembic_mesh_in mesh = {.name = node->name,
                               .placed = true,
                               .parent = parent,
                               .world = world,
                               .world_samples = samples,
                               .samples = l->samples,
                               .subdivision = l->subdivision,
                               .points = p->vertices,
                               .faces = p->faces,
                               .corners = p->corners,
                               .face_counts = p->face_counts,
                               .face_indices = p->face_indices,
                               .uvs = p->uvs,
                               .uv = p->uv,
                               .uv_indices = p->uv_indices,
                               .color = p->color,
                               .sets = p->groups,
                               .set = sets,
                               .velocities = l->velocities,
                               .normals = l->normals && !l->subdivision};
    if (status == SU_OK) status = su_alembic_add_mesh(w->alembic, &mesh, index, err);
    free(sets), free(names);
    return status;
}

static su_status abc_tree(su_cache_writer *w, su_error *err)
{
    const su_cache_layout *l = &w->layout;
    su_cache_tree *tree = &w->tree;
    double *local = NULL;
    int *number = NULL; /* (nodes) of transforms */
    int64_t frames = l->frames / (l->samples ? l->samples : 1), meshes = 0;
    SU_TRY(su_cache_tree_create(l, &w->parts, false, tree, err));
    su_status status;
    int64_t kept = l->object_frames ? frames : 1;
    SU_GO(SU_ALLOC(&local, 16 * kept, "transforms", err));
    SU_GO(SU_ALLOC(&number, tree->count, "transforms", err));
    SU_GO(SU_ALLOC(&w->mesh, w->parts.count, "meshes", err));
    SU_GO(SU_ALLOC(&w->worlds, 16 * kept * w->parts.count, "transforms", err));
    for (int64_t i = 0; i < tree->count; i++) {
        const su_cache_node *node = &tree->node[i];
        int parent = node->parent < 0 ? -1 : number[node->parent];
        if (node->part >= 0) {
            double *world = w->worlds + 16 * kept * meshes++;
            for (int64_t f = 0; f < kept; f++) su_cache_tree_world(tree, node->parent, f, world + 16 * f);
            SU_GO(abc_mesh(w, node, parent, world, kept, err));
            continue;
        }
        su_alembic_xform_in xform = {.name = node->name,
                                     .parent = parent,
                                     .samples = node->moves ? frames : 1,
                                     .xforms = local,
                                     .start = l->frame_start / l->fps,
                                     .step = l->frame_step / l->fps};
        for (int64_t f = 0; f < xform.samples; f++) su_cache_tree_local(tree, i, f, local + 16 * f);
        SU_GO(su_alembic_add_xform(w->alembic, &xform, &number[i], err));
    }
done:
    free(local), free(number);
    return status;
}

static su_status abc_create(su_cache_writer *w, su_error *err)
{
    const su_cache_layout *l = &w->layout;
    SU_TRY(su_cache_parts_create(l, &w->parts, err));
    for (int i = 0; i < 3; i++) SU_TRY(SU_ALLOC(&w->gathered[i], 3 * w->parts.largest, "a frame", err));
    double times[SU_ALEMBIC_TIMES_MAX];
    int samples = l->samples ? l->samples : 1;
    if (samples > SU_ALEMBIC_TIMES_MAX)
        return su_fail(err, SU_USAGE, "%s: at most %d samples a frame", w->path, SU_ALEMBIC_TIMES_MAX);
    for (int i = 0; i < samples; i++) times[i] = su_cache_frame_number(l, i) / l->fps;
    SU_TRY(su_alembic_create(w->path, samples, times, l->frame_step / l->fps, &w->alembic, err));
    return abc_tree(w, err);
}

static su_status abc_frame(su_cache_writer *w, const float *points, const float *velocities, const float *normals,
                           su_error *err)
{
    for (int i = 0; i < w->parts.count; i++) {
        const su_cache_part *p = &w->parts.part[i];
        su_cache_part_gather(p, points, w->gathered[0]);
        if (w->layout.velocities) su_cache_part_gather(p, velocities, w->gathered[1]);
        if (w->layout.normals) su_cache_part_gather(p, normals, w->gathered[2]);
        SU_TRY(su_alembic_frame(w->alembic, w->mesh[i], w->gathered[0], w->gathered[1], w->gathered[2], err));
    }
    return SU_OK;
}

static su_status abc_commit(su_cache_writer *w, su_error *err)
{
    char fps[64];
    snprintf(fps, sizeof fps, "%.9g", w->layout.fps);
    const char *const metadata[][2] = {{"_ai_Application", w->layout.application ? w->layout.application : ""},
                                       {"_ai_DCC_FPS", fps},
                                       {"_ai_Description", w->layout.provenance ? w->layout.provenance : ""}};
    su_alembic_writer *writer = w->alembic;
    w->alembic = NULL;
    return su_alembic_commit(writer, 3, metadata, err);
}

static void abc_abandon(su_cache_writer *w) { su_alembic_abandon(w->alembic); }

/* ---- USD ---- */

static su_status usda_create(su_cache_writer *w, su_error *err)
{
    SU_TRY(su_cache_parts_create(&w->layout, &w->parts, err));
    return su_usda_create(w->path, &w->layout, &w->parts, &w->usda, err);
}

static su_status usda_frame(su_cache_writer *w, const float *points, const float *velocities, const float *normals,
                            su_error *err)
{
    return su_usda_frame(w->usda, points, velocities, normals, err);
}

static su_status usda_commit(su_cache_writer *w, su_error *err)
{
    su_usda_writer *writer = w->usda;
    w->usda = NULL;
    return su_usda_commit(writer, err);
}

static void usda_abandon(su_cache_writer *w) { su_usda_abandon(w->usda); }

static su_status usdc_create(su_cache_writer *w, su_error *err)
{
    SU_TRY(su_cache_parts_create(&w->layout, &w->parts, err));
    return su_usdc_writer_create(w->path, &w->layout, &w->parts, &w->usdc, err);
}

static su_status usdc_frame(su_cache_writer *w, const float *points, const float *velocities, const float *normals,
                            su_error *err)
{
    return su_usdc_writer_frame(w->usdc, points, velocities, normals, err);
}

static su_status usdc_commit(su_cache_writer *w, su_error *err)
{
    su_usdc_writer *writer = w->usdc;
    w->usdc = NULL;
    return su_usdc_writer_commit(writer, err);
}

static void usdc_abandon(su_cache_writer *w) { su_usdc_writer_abandon(w->usdc); }

/* ---- PC2, MDD ---- */

static su_status pc2_create(su_cache_writer *w, su_error *err)
{
    return su_pc2_create(&w->pc2, w->path, w->layout.vertices, w->layout.frames, w->layout.frame_start,
                         w->layout.frame_step, err);
}

static su_status pc2_frame(su_cache_writer *w, const float *points, const float *velocities, const float *normals,
                           su_error *err)
{
    (void)velocities, (void)normals;
    return su_pc2_frame(&w->pc2, points, err);
}

static su_status pc2_commit(su_cache_writer *w, su_error *err) { return su_pc2_commit(&w->pc2, err); }
static void pc2_abandon(su_cache_writer *w) { su_pc2_abandon(&w->pc2); }

static su_status mdd_create(su_cache_writer *w, su_error *err)
{
    double *times = NULL;
    SU_TRY(SU_ALLOC(&times, w->layout.frames, "times", err));
    for (int64_t k = 0; k < w->layout.frames; k++) times[k] = su_cache_frame_number(&w->layout, k) / w->layout.fps;
    su_status status = su_mdd_create(&w->mdd, w->path, w->layout.vertices, w->layout.frames, times, err);
    free(times);
    return status;
}

static su_status mdd_frame(su_cache_writer *w, const float *points, const float *velocities, const float *normals,
                           su_error *err)
{
    (void)velocities, (void)normals;
    return su_mdd_frame(&w->mdd, points, err);
}

static su_status mdd_commit(su_cache_writer *w, su_error *err) { return su_mdd_commit(&w->mdd, err); }
static void mdd_abandon(su_cache_writer *w) { su_mdd_abandon(&w->mdd); }

/* ---- OBJ: every file appears when it is whole; an abandoned sequence takes its files away again ---- */

static su_status obj_path(const su_cache_writer *w, int64_t k, char **path, su_error *err)
{
    double number = su_cache_frame_number(&w->layout, k);
    return su_pattern_path(w->path, (int64_t)(number < 0 ? number - 0.5 : number + 0.5), path, err);
}

/* run.%04d.obj has its materials in run.mtl: what stands before the frame number. */
static su_status name_library(su_cache_writer *w, su_error *err)
{
    const char *name = su_base_name(w->path);
    size_t folder = (size_t)(name - w->path), stem = strcspn(name, "%#$");
    if (!name[stem]) stem = (size_t)(strrchr(name, '.') ? strrchr(name, '.') - name : (long)strlen(name));
    while (stem > 0 && strchr("._-", name[stem - 1])) stem--;
    if (asprintf(&w->library_path, "%.*s%.*s.mtl", (int)folder, w->path, (int)(stem ? stem : 9),
                 stem ? name : "materials") < 0) {
        w->library_path = NULL;
        return su_fail(err, SU_AGAIN, "%s: out of memory", w->path);
    }
    w->library = w->library_path + folder;
    return SU_OK;
}

static su_status obj_create(su_cache_writer *w, su_error *err)
{
    char *path;
    if (w->layout.looks && w->layout.looks->materials) SU_TRY(name_library(w, err));
    if (w->layout.frames == 1 && !su_is_pattern(w->path)) return SU_OK; /* one frame, one file */
    SU_TRY(obj_path(w, 0, &path, err));
    free(path);
    return SU_OK;
}

static su_status obj_frame(su_cache_writer *w, const float *points, const float *velocities, const float *normals,
                           su_error *err)
{
    (void)velocities, (void)normals;
    const su_cache_layout *l = &w->layout;
    su_obj obj = {.vertices = l->vertices,
                  .faces = l->faces,
                  .corners = l->corners,
                  .uvs = l->uv ? l->uvs : 0,
                  .objects = l->object_names ? l->objects : 0,
                  .face_counts = (int32_t *)l->face_counts,
                  .face_indices = (int32_t *)l->face_indices,
                  .uv = (float *)l->uv,
                  .uv_indices = (int32_t *)l->uv_indices,
                  .object_ids = (int32_t *)l->object_ids,
                  .object_names = (char **)l->object_names,
                  .color = (float *)l->color,
                  .library = w->library};
    if (l->looks) obj.looks = *l->looks;
    char *path = NULL, comment[256];
    if (su_is_pattern(w->path)) SU_TRY(obj_path(w, w->written, &path, err));
    snprintf(comment, sizeof comment, "%s, frame %.9g", l->application ? l->application : "",
             su_cache_frame_number(l, w->written));
    su_status status = su_obj_save(path ? path : w->path, &obj, points, comment, err);
    free(path);
    return status;
}

static su_status obj_commit(su_cache_writer *w, su_error *err)
{
    return w->library ? su_mtl_save(w->library_path, w->layout.looks, w->layout.application, err) : SU_OK;
}

static void obj_abandon(su_cache_writer *w)
{
    for (int64_t k = 0; k < w->written; k++) {
        char *path = NULL;
        su_error unused;
        if (su_is_pattern(w->path) && obj_path(w, k, &path, &unused) != SU_OK) continue;
        unlink(path ? path : w->path);
        free(path);
    }
}

/* ---- NPY ---- */

static su_status npy_create(su_cache_writer *w, su_error *err)
{
    char head[SU_NPY_HEADER_MAX];
    const int64_t shape[3] = {w->layout.frames, w->layout.vertices, 3};
    size_t size = su_npy_format(head, SU_F32, 3, shape);
    SU_TRY(su_output_open(&w->npy, w->path, err));
    return su_output_write(&w->npy, head, size, err);
}

static su_status npy_frame(su_cache_writer *w, const float *points, const float *velocities, const float *normals,
                           su_error *err)
{
    (void)velocities, (void)normals;
    return su_output_write(&w->npy, points, (size_t)w->layout.vertices * 3 * sizeof *points, err);
}

static su_status npy_commit(su_cache_writer *w, su_error *err) { return su_output_commit(&w->npy, err); }
static void npy_abandon(su_cache_writer *w) { su_output_abandon(&w->npy); }

/* ---- glTF: all frames must be known before the first shape is; they wait in a file beside the output, with a skin as
 * what it does not do ---- */

static su_status glb_create(su_cache_writer *w, su_error *err)
{
    SU_TRY(su_cache_parts_create(&w->layout, &w->parts, err));
    if (w->layout.skin) {
        SU_TRY(su_glb_skin_create(w->layout.skin, &w->skin, err));
        SU_TRY(SU_ALLOC(&w->gathered[0], 3 * w->layout.vertices, "a frame", err));
    }
    return su_output_open_scratch(&w->spool, w->path, err);
}

static su_status glb_frame(su_cache_writer *w, const float *points, const float *velocities, const float *normals,
                           su_error *err)
{
    (void)velocities, (void)normals;
    if (w->layout.skin) {
        su_glb_skin_pose(&w->skin, w->written);
        su_glb_unskin(&w->layout, &w->skin, w->written, points, w->gathered[0], &w->unskinnable);
        points = w->gathered[0];
    }
    return su_output_write(&w->spool, points, (size_t)w->layout.vertices * 3 * sizeof *points, err);
}

static su_status glb_commit(su_cache_writer *w, su_error *err)
{
    const su_cache_layout *l = &w->layout;
    su_glb_skin *skin = l->skin ? &w->skin : NULL;
    su_glb_targets targets = {0};
    size_t bytes = (size_t)l->frames * (size_t)l->vertices * 3 * sizeof(float);
    if (fflush(w->spool.stream) != 0) return su_fail(err, SU_AGAIN, "%s: cannot write", w->path);
    void *map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fileno(w->spool.stream), 0);
    if (map == MAP_FAILED) return su_fail(err, SU_AGAIN, "%s: cannot map %zu bytes", w->path, bytes);
    su_status status = su_glb_targets_fit(l, skin, map, w->motion, w->unskinnable, &targets, err);
    munmap(map, bytes);
    if (status == SU_OK) {
        const su_glb glb = {.frames = l->frames,
                            .vertices = l->vertices,
                            .fps = l->fps / l->frame_step,
                            .targets = &targets,
                            .skin = skin,
                            .looks = l->looks,
                            .root = l->root,
                            .name = l->clip,
                            .application = l->application,
                            .provenance = l->provenance,
                            .frame_start = l->frame_start};
        status = su_glb_save(w->path, &glb, &w->parts, err);
        w->report = (su_cache_report){.approximated = true,
                                      .targets = targets.count,
                                      .rms = targets.rms,
                                      .largest = targets.largest,
                                      .motion = targets.motion,
                                      .bound = targets.bound,
                                      .joints = skin ? l->skin->joints : 0,
                                      .reduced = w->skin.reduced,
                                      .cut = w->skin.cut};
    }
    su_glb_targets_free(&targets);
    su_output_abandon(&w->spool);
    return status;
}

static void glb_abandon(su_cache_writer *w) { su_output_abandon(&w->spool); }

/* ---- vertex-animation textures ---- */

static su_status vat_create(su_cache_writer *w, su_error *err)
{
    SU_TRY(su_cache_parts_create(&w->layout, &w->parts, err));
    return su_vat_create(w->path, &w->layout, &w->parts, &w->vat, err);
}

static su_status vat_frame(su_cache_writer *w, const float *points, const float *velocities, const float *normals,
                           su_error *err)
{
    (void)velocities;
    return su_vat_frame(w->vat, points, normals, err);
}

static su_status vat_commit(su_cache_writer *w, su_error *err)
{
    su_vat_writer *writer = w->vat;
    w->vat = NULL;
    return su_vat_commit(writer, err);
}

static void vat_abandon(su_cache_writer *w) { su_vat_abandon(w->vat); }

/* ---- all ---- */

static const cache_kind kinds[] = {
    /* in the order of su_cache_format, from SU_CACHE_ABC on */
    {".abc", abc_create, abc_frame, abc_commit, abc_abandon},
    {".usda", usda_create, usda_frame, usda_commit, usda_abandon},
    {".pc2", pc2_create, pc2_frame, pc2_commit, pc2_abandon},
    {".mdd", mdd_create, mdd_frame, mdd_commit, mdd_abandon},
    {".obj", obj_create, obj_frame, obj_commit, obj_abandon},
    {".npy", npy_create, npy_frame, npy_commit, npy_abandon},
    {".glb", glb_create, glb_frame, glb_commit, glb_abandon},
    {".json", vat_create, vat_frame, vat_commit, vat_abandon},
    {".usdc", usdc_create, usdc_frame, usdc_commit, usdc_abandon},
    {".usd", usdc_create, usdc_frame, usdc_commit, usdc_abandon},
};

su_cache_format su_cache_format_of(const char *path, su_cache_format wanted)
{
    const char *dot = strrchr(su_base_name(path), '.');
    if (wanted != SU_CACHE_AUTO) return wanted;
    for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
        if (strcasecmp(dot, kinds[i].extension) == 0) return (su_cache_format)(SU_CACHE_ABC + i);
    return SU_CACHE_AUTO;
}

static void writer_free(su_cache_writer *w)
{
    su_cache_parts_free(&w->parts);
    su_cache_tree_free(&w->tree);
    free(w->mesh), free(w->worlds), free(w->library_path);
    su_glb_skin_free(&w->skin);
    for (int i = 0; i < 3; i++) free(w->gathered[i]);
    free(w->path);
    free(w);
}

su_status su_cache_create(const char *path, su_cache_format format, const su_cache_layout *layout,
                          su_cache_writer **out, su_error *err)
{
    su_cache_writer *w = NULL;
    format = su_cache_format_of(path, format);
    if (format == SU_CACHE_AUTO)
        return su_fail(
            err, SU_USAGE,
            "%s: end the name in .abc, .usda, .usdc, .usd, .pc2, .mdd, .obj, .npy, .glb or .json, or give --format",
            path);
    if (layout->samples && format != SU_CACHE_ABC && !su_cache_is_usd(format))
        return su_fail(err, SU_USAGE, "%s: only Alembic and USD hold samples between frames", path);
    SU_TRY(SU_ALLOC(&w, 1, "a cache", err));
    w->kind = &kinds[format - SU_CACHE_ABC];
    w->layout = *layout;
    w->path = strdup(path);
    su_status status = w->path ? w->kind->create(w, err) : su_fail(err, SU_AGAIN, "%s: out of memory", path);
    if (status != SU_OK)
        su_cache_abandon(w);
    else
        *out = w;
    return status;
}

su_status su_cache_frame(su_cache_writer *w, const float *points, const float *velocities, const float *normals,
                         su_error *err)
{
    SU_TRY(w->kind->frame(w, points, velocities, normals, err));
    w->written++;
    return SU_OK;
}

void su_cache_motion(su_cache_writer *w, double rms) { w->motion = rms; }

su_status su_cache_commit(su_cache_writer *w, su_cache_report *report, su_error *err)
{
    su_status status = SU_OK;
    if (w->written != w->layout.frames)
        status = su_fail(err, SU_FAILED, "%s: %lld of %lld frames were written", w->path, (long long)w->written,
                         (long long)w->layout.frames);
    if (status == SU_OK) status = w->kind->commit(w, err);
    if (status != SU_OK)
        w->kind->abandon(w);
    else if (report)
        *report = w->report;
    writer_free(w);
    return status;
}

void su_cache_abandon(su_cache_writer *w)
{
    if (!w) return;
    w->kind->abandon(w);
    writer_free(w);
}
