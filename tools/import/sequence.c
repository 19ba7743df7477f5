#include "import.h"

#include "core/file.h"
#include "core/threads.h"
#include "io/cache/sequence.h"
#include "io/cache/sequence_files.h"
#include "io/scene/usd_skel.h"
#include "rig/sequence_take.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

su_status find_kind(const char *path, bool *sequence, su_error *err)
{
    static const char *const endings[] = {".obj", ".ply", ".pc2", ".mdd", ".abc", ".usd", ".usda", ".usdc", ".usdz"};
    size_t length = strlen(path);
    bool usd = false, rig = false;
    *sequence = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t own = strlen(endings[i]);
        if (length <= own || strcasecmp(path + length - own, endings[i]) != 0) continue;
        *sequence = true, usd = strncmp(endings[i], ".usd", 4) == 0;
    }
    if (usd) SU_TRY(su_usd_is_skinned(path, &rig, err));
    *sequence &= !rig;
    return SU_OK;
}

static void list_sequence(const su_sequence *s)
{
    printf("frames: %lld, first number %.6g", (long long)s->frames, s->frame_start);
    if (s->timed)
        printf(", from %.4f to %.4f s at %.6g fps\n", s->times[0], s->times[s->frames - 1], s->fps);
    else
        printf(", no times (--rate)\n");
    printf("mesh: %lld vertices, %lld polygons%s\n", (long long)s->vertices, (long long)s->faces, s->uv ? ", uv" : "");
    printf("objects: %lld\n", (long long)s->objects);
    for (int64_t i = 0; i < s->objects && s->object_names; i++)
        printf("  '%s'%s%s%s\n", s->object_names[i], s->object_paths ? ", " : "",
               s->object_paths ? s->object_paths[i] : "",
               !s->object_hidden                             ? ""
               : s->object_hidden[i] == SU_SEQUENCE_HIDDEN   ? ", hidden"
               : s->object_hidden[i] == SU_SEQUENCE_CHANGING ? ", hidden at times"
                                                             : "");
    if (s->looks.materials) printf("materials: %lld\n", (long long)s->looks.materials);
    for (int64_t i = 0; i < s->looks.materials; i++) printf("  '%s'\n", s->looks.material_names[i]);
    if (s->looks.sets) printf("face sets: %lld\n", (long long)s->looks.sets);
    for (int64_t i = 0; i < s->looks.sets; i++)
        printf("  '%s': %d polygons\n", s->looks.set_names[i], s->looks.start[i + 1] - s->looks.start[i]);
    if (s->files) printf("files: %lld\n", (long long)s->files);
    for (int64_t i = 0; i < s->files; i++) printf("  '%s'\n", s->file[i]);
}

/* Names of the objects of that visibility, as far as a line holds them; how many there are. */
static int64_t name_objects(const su_sequence *s, uint8_t visibility, char out[400])
{
    int64_t count = 0;
    size_t at = 0;
    for (int64_t i = 0; i < s->objects && s->object_hidden; i++) {
        if (s->object_hidden[i] != visibility) continue;
        if (at < 300) at += (size_t)snprintf(out + at, 400 - at, "%s%.60s", count ? ", " : "", s->object_names[i]);
        count++;
    }
    if (at >= 300) snprintf(out + at, 400 - at, " ...");
    return count;
}

/* Before objects are chosen: what of the file is not taken. */
static void say_left_out(su_tool *tool, const options *o, const su_sequence *s)
{
    char names[400];
    int64_t count = name_objects(s, SU_SEQUENCE_HIDDEN, names);
    if (count && !o->objects.count)
        su_warn(tool, "%lld objects are hidden and were left out (--object takes them in): %s", (long long)count,
                names);
    count = name_objects(s, SU_SEQUENCE_CHANGING, names);
    if (count) su_warn(tool, "%lld objects are hidden at times and are taken at all: %s", (long long)count, names);
    if (s->skinned)
        su_warn(tool, "%lld objects are moved by skeletons that are not there: they stand still",
                (long long)s->skinned);
    import_say_missing(tool, s->missing);
    if (s->unread.count) import_say_unread(tool, &s->unread);
    if (s->parameters.count) su_note(tool, "further values of the meshes are not read: %s", s->parameters.text);
    if (s->others)
        su_note(tool, "%lld objects that are no meshes (curves, points, patches) were not read", (long long)s->others);
}

/* Stored times that lie on no frame, and stretches without any. */
static void say_times(su_tool *tool, const su_sequence_take *t)
{
    const su_sequence *s = t->sequence;
    int64_t between = 0, gaps = 0, longest = 0;
    for (int64_t k = 0; k < s->frames && s->timed && s->frames > 1; k++) {
        double frame = s->times[k] * t->fps;
        between += fabs(frame - round(frame)) > 1e-2;
        if (k == 0 || (s->times[k] - s->times[k - 1]) * t->fps < 1.5) continue;
        if (gaps++ == 0 || s->times[k] - s->times[k - 1] > s->times[longest] - s->times[longest - 1]) longest = k;
    }
    if (gaps)
        su_warn(tool,
                "%lld stretches are without a sample, the longest from frame %.6g to %.6g: positions there are "
                "interpolated",
                (long long)gaps, s->times[longest - 1] * t->fps, s->times[longest] * t->fps);
    if (between)
        su_note(tool, "%lld of %lld samples lie between frames (--fps chooses others)", (long long)between,
                (long long)s->frames);
}

/* walk.0007.obj where walk.0008.obj stands beside it: was the whole meant? */
static su_status say_neighbours(su_tool *tool, const char *path)
{
    char *pattern = NULL;
    int64_t files;
    SU_TRY(su_numbered_neighbours(path, &pattern, &files, &tool->err));
    if (files > 1)
        su_warn(tool, "%s is one of %lld numbered files and is taken alone; all of them are '%s'", path,
                (long long)files, pattern);
    free(pattern);
    return SU_OK;
}

static void say(su_tool *tool, const su_sequence_take *t, const options *o)
{
    const su_anim *a = &t->anim;
    su_note(tool, "%lld vertices (%lld in the file), %lld triangles; %.3g x %.3g x %.3g m", (long long)a->nbar,
            (long long)a->N, (long long)a->T, t->size[0], t->size[1], t->size[2]);
    double extent = fmax(t->size[0], fmax(t->size[1], t->size[2]));
    if (t->unit_guessed)
        su_warn(tool, "in metres the mesh would be %.3g m large; taking its unit as %.4g m (--unit says otherwise)",
                extent / t->unit, t->unit);
    else if (extent < 0.1 || extent > 50.0)
        su_warn(tool, "the mesh is %.3g m large; if that is wrong, give --unit or --scale", extent);
    if (a->F == 1)
        su_warn(tool, "the sequence has one frame; nothing will move: %s",
                t->sequence->timed ? "export it with its motion"
                                   : "a sequence of files goes by its pattern (walk.%04d.obj)");
    if (!t->sequence->timed && o->rate <= 0.0 && t->sequence->frames > 1)
        su_note(tool, "the files carry no times; taking 24 frames per second (--rate)");
    say_times(tool, t);
    if (t->moved_apart)
        su_warn(tool,
                "%lld vertices share a place with others in the neutral pose and part later; the skin opens there",
                (long long)t->moved_apart);
    if (t->degenerate) su_note(tool, "%lld triangles without area were left out", (long long)t->degenerate);
    su_note(tool, "%lld frames at %.6g fps from frame %.6g, %lld rig parameters", (long long)a->F, t->fps,
            t->frame_start, (long long)a->s);
    su_stats_integer(tool, "frames", a->F);
    su_stats_integer(tool, "vertices", a->nbar);
    su_stats_integer(tool, "source_vertices", a->N);
    su_stats_integer(tool, "triangles", a->T);
    su_stats_number(tool, "diagonal", t->diagonal);
}

/* Digests of a cache that is one file, and of the (first) neutral mesh. */
static json_t *make_meta(su_tool *tool, const options *o, const char *path)
{
    const char *inputs[3];
    su_file_list neutral = {0};
    json_t *meta = NULL;
    int count = 0;
    if (o->neutral && su_file_list_find(o->neutral, &neutral, &tool->err) != SU_OK) goto done;
    if (!su_is_pattern(path)) inputs[count++] = path;
    if (o->neutral) inputs[count++] = neutral.paths[0];
    if (o->params) inputs[count++] = o->params;
    meta = su_tool_meta(tool, "supple.anim", 1, inputs, count);
    if (meta) json_object_set_new(meta, "source", json_string(su_base_name(path)));
done:
    su_file_list_free(&neutral);
    return meta;
}

su_status import_sequence(su_tool *tool, const options *o, const char *path)
{
    su_sequence *sequence = NULL;
    su_sequence_take take = {0};
    su_parameters own = {0};
    su_status status = SU_OK;
    json_t *meta = NULL;
    char clip[256];
    double began = su_seconds();
    if (o->points)
        return su_fail(&tool->err, SU_USAGE, "--points: goes with a rigged character; %s is a sequence itself", path);
    SU_GO(su_sequence_open(path, o->neutral, &sequence, &tool->err));
    if (o->list) {
        list_sequence(sequence);
        goto done;
    }
    say_left_out(tool, o, sequence);
    if (sequence->frames == 1) SU_GO(say_neighbours(tool, path));
    if (!o->objects.count) SU_GO(su_sequence_keep_shown(sequence, path, &tool->err));
    if (o->objects.count) SU_GO(su_sequence_keep(sequence, path, o->objects.count, o->objects.items, &tool->err));
    su_sequence_options wanted = {.unit = import_unit(o),
                                  .scale = o->scale,
                                  .up = o->up > 0           ? o->up - 1
                                        : sequence->up >= 0 ? sequence->up
                                                            : 1,
                                  .rate = o->rate,
                                  .fps = o->fps,
                                  .first = o->start,
                                  .last = o->end,
                                  .number = o->number,
                                  .neutral_frame = o->neutral_frame,
                                  .rigid = o->rigid.items,
                                  .rigid_count = o->rigid.count};
    su_progress_stage(&tool->progress, 0.0, 0.5);
    SU_GO(su_sequence_take_create(sequence, path, &wanted, &tool->progress, &take, &tool->err));
    SU_GO(user_parameters(tool, o, take.anim.F, &own));
    if (own.s) take.anim.s = own.s, take.anim.params = own.values, take.param_names = own.names;
    say(tool, &take, o);
    su_stats_stage(tool, "read", su_seconds() - began);
    if (tool->dry_run) goto done;
    if (!(meta = make_meta(tool, o, path))) {
        status = tool->err.status;
        goto done;
    }
    snprintf(clip, sizeof clip, "%s", o->clip ? o->clip : su_base_name(path));
    if (!o->clip) clip[strcspn(clip, ".%*?[#$")] = '\0';
    began = su_seconds();
    su_progress_stage(&tool->progress, 0.5, 1.0);
    SU_GO(su_sequence_take_save(&take, tool->output, clip, meta, &tool->progress, &tool->err));
    su_stats_stage(tool, "write", su_seconds() - began);
done:
    json_decref(meta);
    su_sequence_take_free(&take);
    su_parameters_free(&own);
    su_sequence_close(sequence);
    return status;
}
