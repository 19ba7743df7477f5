#include "import.h"

#include "core/file.h"
#include "core/threads.h"
#include "io/cache/sequence.h"
#include "io/cache/sequence_files.h"
#include "io/scene/scene_load.h"
#include "io/table.h"
#include "rig/borrowed_clip.h"
#include "rig/character.h"
#include "rig/joint_curves.h"
#include "rig/take.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length > tail && strcasecmp(text + length - tail, ending) == 0;
}

/* --clip hand.csv: joint curves instead of a clip of the file. */
static su_status curves_clip(su_tool *tool, const options *o, su_scene *scene, su_scene_clip *clip)
{
    su_table table;
    char name[256];
    SU_TRY(su_table_load(o->clip, &table, &tool->err));
    snprintf(name, sizeof name, "%.*s", (int)strlen(su_base_name(o->clip)) - 4, su_base_name(o->clip));
    su_status status = su_joint_curves(scene, &table, o->clip, name, o->rate > 0.0 ? o->rate : 24.0,
                                       o->degrees ? M_PI / 180.0 : 1.0, clip, &tool->err);
    su_table_free(&table);
    return status;
}

/* The end of the file name in "walk.fbx" and "walk.fbx:NAME"; NULL: it names no file of a rig. */
static const char *file_end(const char *text)
{
    static const char *const endings[] = {".fbx",     ".glb", ".gltf", ".dae",  ".vrm",  ".vrma", ".x",
                                          ".md5anim", ".bvh", ".usd",  ".usda", ".usdc", ".usdz"};
    for (const char *dot = strchr(text, '.'); dot; dot = strchr(dot + 1, '.'))
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
            const char *end = dot + strlen(endings[i]);
            if (strncasecmp(dot, endings[i], strlen(endings[i])) == 0 && (*end == '\0' || *end == ':')) return end;
        }
    return NULL;
}

static su_status find_clip(su_tool *tool, const char *name, const char *path, const su_scene *scene,
                           const su_scene_clip **clip)
{
    int matches = 0;
    for (int64_t i = 0; i < scene->clips; i++)
        if (strcmp(scene->clip[i].name, name) == 0 && matches++ == 0) *clip = &scene->clip[i];
    if (matches > 1) su_warn(tool, "%s: several clips are called '%s'; taking the first", path, name);
    if (matches) return SU_OK;
    char known[400] = "";
    for (int64_t i = 0; i < scene->clips && strlen(known) < sizeof known - 80; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s'%.60s'", i ? ", " : "", scene->clip[i].name);
    return su_fail(&tool->err, SU_INPUT, "%s: no clip is called '%s'; it has %s", path, name, known);
}

/* Tracks of `more` behind those of clip; none may move what clip moves already. */
static su_status add_tracks(su_tool *tool, const char *path, su_scene *scene, const su_scene_clip *more,
                            su_scene_clip *clip)
{
    int64_t n = clip->channels + more->channels, k = clip->morph_channels + more->morph_channels;
    su_scene_channel *channel = su_arena_alloc(&scene->arena, n, sizeof *channel);
    su_scene_morph_channel *morph = su_arena_alloc(&scene->arena, k, sizeof *morph);
    if (!channel || !morph) return su_fail(&tool->err, SU_AGAIN, "not enough memory for the clip");
    for (int64_t i = 0; i < n; i++)
        channel[i] = i < clip->channels ? clip->channel[i] : more->channel[i - clip->channels];
    for (int64_t i = 0; i < k; i++)
        morph[i] = i < clip->morph_channels ? clip->morph_channel[i] : more->morph_channel[i - clip->morph_channels];
    for (int64_t i = clip->channels; i < n; i++)
        for (int64_t j = 0; j < clip->channels; j++)
            if (channel[i].node == channel[j].node)
                return su_fail(&tool->err, SU_INPUT, "%s: clips '%s' and '%s' both move '%s' and cannot play together",
                               path, clip->name, more->name, scene->node[channel[i].node].name);
    clip->channel = channel, clip->channels = n, clip->morph_channel = morph, clip->morph_channels = k;
    clip->start = fmin(clip->start, more->start), clip->end = fmax(clip->end, more->end);
    clip->key_rate = fmax(clip->key_rate, more->key_rate);
    return SU_OK;
}

/* --clip walk.fbx or walk.fbx:NAME: a clip of another file, joint by joint. */
static su_status other_clip(su_tool *tool, const options *o, const char *path, const su_child_limits *limits,
                            su_scene *scene, su_scene_clip *made)
{
    const char *end = file_end(o->clip);
    if (o->clips.count > 1)
        return su_fail(&tool->err, SU_USAGE, "--clip %s: a clip of another file plays alone", o->clip);
    char *file = strndup(o->clip, (size_t)(end - o->clip));
    su_scene other = {0};
    const su_scene_clip *clip = NULL;
    su_borrowed found;
    su_status status = file ? SU_OK : su_fail(&tool->err, SU_AGAIN, "not enough memory");
    if (status != SU_OK) goto done;
    SU_GO(su_scene_load(file, limits, &other, &tool->err));
    if (other.clips == 0) {
        status = su_fail(&tool->err, SU_INPUT, "%s: the file has no animation", file);
        goto done;
    }
    clip = &other.clip[0];
    if (*end) SU_GO(find_clip(tool, end + 1, file, &other, &clip));
    if (!*end && other.clips > 1)
        su_note(tool, "%s has %lld clips; taking the first, '%s' (%s:NAME takes another)", file, (long long)other.clips,
                clip->name, su_base_name(file));
    if ((status = su_borrow_clip(&other, clip, scene, made, &found, &tool->err)) != SU_OK) {
        su_error_context(&tool->err, "%s: ", file);
        goto done;
    }
    su_note(tool, "'%s' of %s moves %lld joints of %s", clip->name, su_base_name(file), (long long)found.joints,
            su_base_name(path));
    if (found.human)
        su_warn(
            tool,
            "%s: another skeleton; bones of a human were taken for the same ('%s' for '%s', and so the others), turn "
            "in the world as they do there, and ways are taken %.3g times as long: look at the result",
            file, found.called ? found.called : "", found.called ? found.here : "", found.size);
    else if (found.called)
        su_warn(tool, "%s: its nodes have other names than those of %s; '%s' was taken for '%s', and so the others",
                file, su_base_name(path), found.called, found.here);
    if (found.turned && !found.human)
        su_warn(tool,
                "%s: a skeleton with other axes; joints turn in the world as they do there, and ways are taken %.3g "
                "times as long: look at the result",
                file, found.size);
    if (found.missing)
        su_warn(tool, "%s: %lld of the nodes that it moves are not in %s and were left out, '%s' first", file,
                (long long)found.missing, su_base_name(path), found.one ? found.one : "");
    if (found.fitted)
        su_note(tool,
                "%s: fitted to other proportions: %lld joints keep their own places ('%s' differs most), and ways are "
                "taken %.3g times as long",
                file, (long long)found.fitted, found.farthest, found.size);
    else if (found.elsewhere)
        su_warn(
            tool,
            "%s: %lld joints stand in another place than in %s ('%s' most of all), and go where the clip moves them",
            file, (long long)found.elsewhere, su_base_name(path), found.farthest);
done:
    free(file);
    su_scene_free(&other);
    return status;
}

static bool has_clip(const su_scene *scene, const char *name)
{
    for (int64_t i = 0; i < scene->clips; i++)
        if (strcmp(scene->clip[i].name, name) == 0) return true;
    return false;
}

static bool share_tracks(const su_scene_clip *a, const su_scene_clip *b)
{
    for (int64_t i = 0; i < a->channels; i++)
        for (int64_t j = 0; j < b->channels; j++)
            if (a->channel[i].node == b->channel[j].node) return true;
    for (int64_t i = 0; i < a->morph_channels; i++)
        for (int64_t j = 0; j < b->morph_channels; j++)
            if (a->morph_channel[i].node == b->morph_channel[j].node) return true;
    return false;
}

/* Exporters write one motion as several clips where bones, shapes and groups have actions of their own. */
static void say_halves(su_tool *tool, const char *path, const su_scene *scene, const su_scene_clip *clip)
{
    const double same = 0.01; /* s: less than half a frame of any rate */
    for (int64_t i = 0; i < scene->clips; i++) {
        const su_scene_clip *other = &scene->clip[i];
        if (other == clip || fabs(other->start - clip->start) > same || fabs(other->end - clip->end) > same ||
            share_tracks(other, clip) || other->channels + other->morph_channels == 0)
            continue;
        su_warn(tool,
                "%s: '%s' moves other parts than '%s', and as long: it is left out; where both are one motion --clip "
                "'%s+%s' plays them together",
                su_base_name(path), other->name, clip->name, clip->name, other->name);
        return;
    }
}

/* Adds to made what --clip NAME means, a clip or several, "A+B"; the first replaces what made has. */
static su_status add_clip(su_tool *tool, const char *path, const char *names, su_scene *scene, bool *first,
                          su_scene_clip *made)
{
    bool whole = has_clip(scene, names);
    for (const char *at = names; at;) {
        const char *plus = whole ? NULL : strchr(at, '+');
        char *name = plus ? strndup(at, (size_t)(plus - at)) : strdup(at);
        const su_scene_clip *clip = NULL;
        if (!name) return su_fail(&tool->err, SU_AGAIN, "not enough memory for the clip");
        su_status status = find_clip(tool, plus || at != names ? name : names, path, scene, &clip);
        free(name);
        if (status != SU_OK) return status;
        if (*first)
            *made = *clip;
        else
            SU_TRY(add_tracks(tool, path, scene, clip, made));
        *first = false;
        at = plus ? plus + 1 : NULL;
    }
    return SU_OK;
}

/* The named clip or clips; else the only one or the first, with a note. made: room for what no clip of the file is. */
static su_status choose_clip(su_tool *tool, const options *o, const char *path, const su_child_limits *limits,
                             su_scene *scene, su_scene_clip *made, const su_scene_clip **clip)
{
    if (o->clip && ends_in(o->clip, ".csv")) {
        *clip = made;
        return curves_clip(tool, o, scene, made);
    }
    if (o->clip && file_end(o->clip) && !has_clip(scene, o->clip)) {
        *clip = made;
        return other_clip(tool, o, path, limits, scene, made);
    }
    if (scene->clips == 0)
        return su_fail(
            &tool->err, SU_INPUT,
            "%s: the file has no animation; give one by --clip FILE: joint curves (.csv), or a file that has one",
            path);
    *clip = &scene->clip[0];
    if (!o->clip && scene->clips > 1)
        su_note(tool, "%s has %lld clips; taking the first, '%s' (--clip chooses, --list shows them)", path,
                (long long)scene->clips, scene->clip[0].name);
    if (o->clips.count == 1 && has_clip(scene, o->clip)) SU_TRY(find_clip(tool, o->clip, path, scene, clip));
    if (o->clips.count == 0 || (o->clips.count == 1 && has_clip(scene, o->clip))) {
        say_halves(tool, path, scene, *clip);
        return SU_OK;
    }
    bool first = true;
    *clip = made;
    for (int i = 0; i < o->clips.count; i++) SU_TRY(add_clip(tool, path, o->clips.items[i], scene, &first, made));
    return SU_OK;
}

/* m: a character taller or smaller than that is asked about, where nobody said its unit. */
static const double TALL = 4, SMALL = 0.3;

static void say_size(su_tool *tool, const options *o, const su_scene *scene, const su_character *c)
{
    double extent = fmax(c->size[0], fmax(c->size[1], c->size[2]));
    su_note(tool,
            "%lld vertices (%lld in the file), %lld triangles, %lld bones, %lld blend shapes; %.3g x %.3g x %.3g m",
            (long long)c->nbar, (long long)c->N, (long long)c->T, (long long)c->B, (long long)c->K, c->size[0],
            c->size[1], c->size[2]);
    if (c->unit_guessed)
        su_warn(tool,
                "in the file's own unit (%.4g m) the character would be %.3g m large; taking its unit as %.4g m "
                "(--unit says otherwise)",
                scene->unit > 0.0 ? scene->unit : 1.0, extent / c->unit * (scene->unit > 0.0 ? scene->unit : 1.0),
                c->unit);
    else if (o->unit == 0 ? c->size[1] > TALL || extent < SMALL || extent > 50.0 : extent < 0.1 || extent > 50.0)
        su_warn(tool,
                "the character is %.3g m tall and %.3g m at its largest; is the unit right? --unit%s says otherwise",
                c->size[1], extent, o->unit == 0 ? "" : " or --scale");
    if (c->up != 1) su_note(tool, "turned from %c up to y up", 'x' + c->up);
}

/* The longest stretch (s) between two keys of a track whose values differ. */
static double longest_gap(int64_t count, int width, const double *times, const double *values)
{
    double gap = 0.0;
    for (int64_t i = 0; i + 1 < count; i++)
        for (int k = 0; k < width; k++)
            if (fabs(values[width * (i + 1) + k] - values[width * i + k]) > 1e-6)
                gap = fmax(gap, times[i + 1] - times[i]);
    return gap;
}

/* assimp drops the tangents of Collada; of glTF and FBX we read them ourselves. */
static void say_sparse_keys(su_tool *tool, const su_scene *scene, const su_scene_clip *clip, double fps)
{
    double gap = 0.0;
    int64_t node = -1;
    if (scene->exact) return;
    for (int64_t i = 0; i < clip->channels; i++) {
        const su_scene_channel *c = &clip->channel[i];
        double own = fmax(longest_gap(c->rotations, 4, c->rotation_times, c->rotation),
                          fmax(longest_gap(c->translations, 3, c->translation_times, c->translation),
                               longest_gap(c->scales, 3, c->scale_times, c->scale)));
        if (own > gap) gap = own, node = c->node;
    }
    for (int64_t i = 0; i < clip->morph_channels; i++) {
        const su_scene_morph_channel *c = &clip->morph_channel[i];
        double own = longest_gap(c->keys, (int)c->shapes, c->times, c->weights);
        if (own > gap) gap = own, node = c->node;
    }
    if (gap * fps <= 1.5) return;
    const char *name = scene->node[node].name, *end = strstr(name, "_$AssimpFbx$_"); /* one of several of a joint */
    su_warn(tool,
            "keys lie up to %.3g frames apart ('%.*s'); between them joints and shapes move along straight lines, "
            "whatever the curves of the file: bake the animation to a key a frame where that matters",
            gap * fps, (int)(end ? end - name : (int64_t)strlen(name)), name);
}

/* Objects on joints of their own that the clip does not move while it moves others: eyes, a hat, held in their scene by
 * a constraint that the file does not keep. */
static su_status say_left_behind(su_tool *tool, const su_scene *scene, const su_scene_clip *clip)
{
    bool *moves = calloc((size_t)scene->nodes, sizeof *moves);
    const char *behind = NULL, *joint = NULL;
    bool any = false;
    if (!moves) return su_fail(&tool->err, SU_AGAIN, "not enough memory");
    for (int64_t i = 0; i < clip->channels; i++) moves[clip->channel[i].node] = true;
    for (int64_t i = 0; i < scene->nodes; i++)
        if (scene->node[i].parent >= 0) moves[i] |= moves[scene->node[i].parent];
    for (int64_t i = 0; i < scene->instances; i++) {
        const su_scene_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        bool moved = false;
        for (int64_t b = 0; b < mesh->bones; b++) moved |= moves[mesh->bone[b].node];
        any |= moved;
        if (moved || mesh->bones == 0 || behind) continue;
        behind = scene->node[scene->instance[i].node].name, joint = scene->node[mesh->bone[0].node].name;
    }
    if (behind && any)
        su_warn(
            tool,
            "'%s' hangs on a joint that the clip does not move ('%s') and stays behind; was it held by a constraint "
            "that the file does not keep?",
            behind, joint);
    free(moves);
    return SU_OK;
}

/* Names as far as a line holds them. */
static void list_names(int64_t count, const char *const *name, char out[600])
{
    size_t at = 0, room = 600;
    for (int64_t i = 0; i < count && at + 80 < room; i++)
        at += (size_t)snprintf(out + at, room - at, "%s%.60s", i ? ", " : "", name[i]);
    if (at + 80 >= room) snprintf(out + at, room - at, " ...");
}

/* What Blender's glTF export calls the joint that it gives to vertices without weights; it stands still. */
static const char NEUTRAL_BONE[] = "neutral_bone";

static int64_t follow_neutral_bone(const su_character *c)
{
    int64_t count = 0;
    for (int64_t v = 0; v < c->nbar; v++)
        for (int64_t i = c->skin.start[v]; i < c->skin.start[v + 1]; i++)
            count += c->skin.weight[i] > 0 && strcmp(c->bone_names[c->skin.bone[i]], NEUTRAL_BONE) == 0;
    return count;
}

static void say_findings(su_tool *tool, const su_character *c)
{
    int64_t neutral = follow_neutral_bone(c);
    if (neutral)
        su_warn(tool,
                "%lld vertices follow '%s', as those do that have no weights in Blender: they stay behind where "
                "the character moves; weight them there, and export again",
                (long long)neutral, NEUTRAL_BONE);
    if (c->normalized)
        su_note(tool, "skinning weights of %lld vertices did not sum to 1 and were normalized",
                (long long)c->normalized);
    if (c->negative) su_warn(tool, "negative skinning weights of %lld vertices were dropped", (long long)c->negative);
    if (c->unweighted)
        su_warn(tool, "%lld vertices have no skinning weight; they follow the top joint of their mesh",
                (long long)c->unweighted);
    if (c->degenerate) su_note(tool, "%lld triangles without area were left out", (long long)c->degenerate);
    char names[600];
    list_names(c->carried, c->carried_names, names);
    if (c->carried)
        su_note(tool, "%lld objects without skin follow their joints and get no flesh: %s", (long long)c->carried,
                names);
    if (c->hung)
        su_note(tool, "most of the body is %lld objects that hang on joints without skin: they get flesh",
                (long long)c->hung);
    list_names(c->props, c->prop_names, names);
    if (c->props)
        su_note(tool, "%lld objects skinned to one joint follow it and get no flesh: %s", (long long)c->props, names);
    list_names(c->left_out, c->left_out_names, names);
    if (c->left_out)
        su_warn(tool, "%lld objects that do not move with the skeleton were left out (--object takes them in): %s",
                (long long)c->left_out, names);
}

static bool skinned(const su_scene *scene)
{
    for (int64_t m = 0; m < scene->meshes; m++)
        if (scene->mesh[m].bones > 0) return true;
    return false;
}

static void say_take(su_tool *tool, const su_scene *scene, const su_character *c, const su_scene_clip *clip,
                     const su_take *take)
{
    const su_take_range *range = &take->range;
    su_note(tool, "clip '%s': %lld frames at %.6g fps from frame %.6g, %lld rig parameters", clip->name,
            (long long)range->frames, range->fps, range->frame_start, (long long)take->parameters.s);
    if (range->frames == 1)
        su_warn(tool, "the clip has one frame; nothing will move");
    else if (!take->shown && su_take_is_still(take))
        su_warn(tool, "nothing will move: clip '%s' moves no joint that skin follows%s", clip->name,
                skinned(scene) ? ""
                               : "; no mesh of this file is bound to joints, which converters drop at times: "
                                 "export the character again with its skinning");
    su_stats_integer(tool, "frames", range->frames);
    su_stats_integer(tool, "vertices", c->nbar);
    su_stats_integer(tool, "source_vertices", c->N);
    su_stats_integer(tool, "triangles", c->T);
    su_stats_integer(tool, "bones", c->B);
    su_stats_integer(tool, "parameters", take->parameters.s);
    su_stats_number(tool, "diagonal", c->diagonal);
}

/* Provenance: the character's file, and those that the clip, parameters and points come from. */
static su_status make_meta(su_tool *tool, const options *o, const char *path, bool curves, bool borrowed, json_t **meta)
{
    const char *inputs[5] = {path};
    char *other = NULL; /* the file that the clip is of */
    int count = 1;
    if (curves) inputs[count++] = o->clip;
    if (borrowed && !curves && file_end(o->clip)) {
        if (!(other = strndup(o->clip, (size_t)(file_end(o->clip) - o->clip))))
            return su_fail(&tool->err, SU_AGAIN, "not enough memory");
        inputs[count++] = other;
    }
    if (o->params) inputs[count++] = o->params;
    if (o->points && !su_is_pattern(o->points)) inputs[count++] = o->points;
    *meta = su_tool_meta(tool, "supple.anim", 1, inputs, count);
    free(other);
    if (!*meta) return tool->err.status;
    json_object_set_new(*meta, "source", json_string(su_base_name(path)));
    return SU_OK;
}

/* Of SU_SKINNING_NAMES: what was asked for, else what all skins of the file are. */
static int skinning_of(su_tool *tool, const options *o, const su_scene *scene)
{
    int64_t skins = 0, dual = 0, mixed = 0;
    if (o->skinning >= 0) return o->skinning;
    for (int64_t m = 0; m < scene->meshes; m++) {
        if (scene->mesh[m].bones == 0) continue;
        skins++, dual += scene->mesh[m].skinning == SU_SCENE_DUAL, mixed += scene->mesh[m].skinning == SU_SCENE_MIXED;
    }
    if (dual > 0 && dual == skins) {
        su_note(tool, "the file's skins blend dual quaternions, and so it is here (--skinning lbs: linearly)");
        return 1;
    }
    if (dual + mixed > 0)
        su_warn(tool,
                "%lld of %lld skins blend dual quaternions%s, by the file; all are blended linearly here (--skinning "
                "dqs: all by dual quaternions)",
                (long long)(dual + mixed), (long long)skins, mixed ? ", some at some of their vertices" : "");
    return 0;
}

su_status import_scene(su_tool *tool, const options *o, const char *path)
{
    su_status status = SU_OK;
    su_scene scene = {0};
    su_character character = {0};
    su_take take = {0};
    su_take_range range;
    const su_scene_clip *clip = NULL;
    su_scene_clip made;
    json_t *meta = NULL;
    bool curves = o->clip && ends_in(o->clip, ".csv");
    su_sequence *shown = NULL;
    double began = su_seconds();
    su_child_limits limits = {.seconds = 300.0, .memory_bytes = (int64_t)16 << 30, .progress = &tool->progress};
    SU_GO(su_scene_load(path, &limits, &scene, &tool->err));
    su_stats_stage(tool, "read", su_seconds() - began);
    if (o->list) {
        print_scene(stdout, &scene);
        goto done;
    }
    SU_GO(choose_clip(tool, o, path, &limits, &scene, &made, &clip));
    SU_GO(su_take_frames(&scene, clip, o->fps, o->start, o->end, o->number, &range, &tool->err));
    su_character_options wanted = {.unit = import_unit(o),
                                   .up = o->up - 1,
                                   .objects = o->objects.items,
                                   .object_count = o->objects.count,
                                   .rigid = o->rigid.items,
                                   .rigid_count = o->rigid.count,
                                   .scale = o->scale};
    if ((status = su_character_create(&scene, &wanted, &character, &tool->err)) != SU_OK) {
        su_error_context(&tool->err, "%s: ", path);
        goto done;
    }
    say_size(tool, o, &scene, &character);
    say_findings(tool, &character);
    import_say_missing(tool, scene.missing);
    if (scene.unread.count) import_say_unread(tool, &scene.unread);
    if ((status = su_take_create(&character, clip, &range, &take, &tool->err)) != SU_OK) {
        su_error_context(&tool->err, "%s: ", path);
        goto done;
    }
    take.dual = skinning_of(tool, o, &scene);
    if (o->points) {
        SU_GO(su_sequence_open(o->points, NULL, &shown, &tool->err));
        SU_GO(su_take_show(&take, shown, o->points, &tool->err));
    }
    if (!curves) say_sparse_keys(tool, &scene, clip, range.fps);
    if (!curves && clip->layered)
        su_warn(tool,
                "'%s' moves joints or shapes on several animation layers, which are not put together: one of them is "
                "taken; merge the layers, or bake them, in the program that made the file",
                clip->name);
    SU_GO(say_left_behind(tool, &scene, clip));
    SU_GO(user_parameters(tool, o, range.frames, &take.parameters));
    say_take(tool, &scene, &character, clip, &take);
    if (tool->dry_run) goto done;
    SU_GO(make_meta(tool, o, path, curves, clip == &made, &meta));
    began = su_seconds();
    SU_GO(su_take_save(&take, tool->output, clip, meta, tool->threads, &tool->progress, &tool->err));
    su_stats_stage(tool, "write", su_seconds() - began);
done:
    json_decref(meta);
    su_take_free(&take);
    su_sequence_close(shown);
    su_character_free(&character);
    su_scene_free(&scene);
    return status;
}
