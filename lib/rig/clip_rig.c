#include "rig/clip_rig.h"

#include "geometry/affine.h"
#include "rig/parameters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Bones are in the same place at the neutral pose to this, translations as a part of the character's size (as for
 * supple poses). */
#define SAME_NEUTRAL 1e-4
/* Bones carry the skin where they meet its points to this part of the diagonal: points are single precision. */
#define CARRIED 1e-4
/* And they have the parameters where those computed from them meet the clip's: rad, or what the parameter counts in. */
#define SAME_PARAMS 1e-3
/* A bone that keeps its place to another of the same name to this (rotation, or parts of the diagonal) is one node with
 * it. */
#define TWIN 1e-6

enum { CHECKED = 5 }; /* frames of each clip on which the bones are tried */

/* ---- names and places ---- */

static const char *text_of(const su_anim *a, const char *key, const char *fallback)
{
    const char *text = json_string_value(json_object_get(a->file.meta, key));
    return text ? text : fallback;
}

int64_t su_param_number(const su_file *file, int64_t s, const char *name)
{
    for (int64_t k = 0; k < s; k++) {
        const char *other = su_file_name(file, "param_names", k);
        if (other && strcmp(other, name) == 0) return k;
    }
    return -1;
}

static bool same_names(const su_file *a, const su_file *b, const char *key, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        const char *x = su_file_name(a, key, k), *y = su_file_name(b, key, k);
        if (!x || !y || strcmp(x, y) != 0) return false;
    }
    return true;
}

static bool same_matrices(int64_t count, const double *a, const double *b, double size)
{
    for (int64_t k = 0; k < 16 * count; k++)
        if (!(fabs(a[k] - b[k]) <= SAME_NEUTRAL * (k % 4 == 3 ? size : 1.0))) return false;
    return true;
}

const char *su_same_bones(int clips, const su_anim *const *clip, double diagonal)
{
    const su_anim *a = clip[0];
    for (int i = 0; i < clips; i++) {
        const su_anim *b = clip[i];
        if (!b->bones || !b->bone_rest || !b->bone_parent || !b->weights) return "a clip has no bones";
        if (b->B != a->B || b->K != a->K || !same_names(&a->file, &b->file, "bone_names", a->B) ||
            !same_names(&a->file, &b->file, "morph_names", a->K) ||
            !same_matrices(a->B, a->bone_rest, b->bone_rest, diagonal) ||
            memcmp(a->bone_parent, b->bone_parent, (size_t)a->B * sizeof *a->bone_parent) != 0)
            return "the clips have different skeletons, or bones without names";
        if (strcmp(text_of(a, "skinning", "lbs"), text_of(b, "skinning", "lbs")) != 0)
            return "the clips are skinned in different ways";
    }
    for (int64_t b = 0; b < a->B; b++)
        if (a->bone_parent[b] >= b) return "a bone stands before its parent";
    return NULL;
}

/* Does bone b keep its place to bone a in every frame? */
static bool fixed_to(int clips, const su_anim *const *clip, double diagonal, int64_t a, int64_t b)
{
    int64_t B = clip[0]->B;
    double rest[16], now[16];
    if (su_affine_inverse(clip[0]->bone_rest + 16 * a, rest) == 0.0) return false;
    su_affine_multiply(rest, clip[0]->bone_rest + 16 * b, rest);
    for (int i = 0; i < clips; i++)
        for (int64_t f = 0; f < clip[i]->F; f++) {
            const double *bones = clip[i]->bones + 16 * B * f;
            if (su_affine_inverse(bones + 16 * a, now) == 0.0) return false;
            su_affine_multiply(now, bones + 16 * b, now);
            for (int k = 0; k < 16; k++)
                if (fabs(now[k] - rest[k]) > TWIN * (k % 4 == 3 ? diagonal : 1.0)) return false;
        }
    return true;
}

/* ---- making ---- */

#define TAKE(c, out, count)                                                                                            \
    do {                                                                                                               \
        if (!((out) = su_arena_alloc(&(c)->arena, (count), sizeof *(out))))                                            \
            return su_fail(err, SU_AGAIN, "not enough memory for a rig of %lld bones", (long long)(c)->B);             \
    } while (0)

/* A joint has parameters where it moves flesh; "name#2" is another node of the same name. */
static su_status find_joints(int clips, const su_anim *const *clip, su_clip_rig *rig, su_error *err)
{
    su_character *c = &rig->character;
    char *text;
    for (int64_t b = 0; b < c->B; b++) {
        const char *name = su_file_name(&clip[0]->file, "bone_names", b);
        int64_t room = (int64_t)strlen(name) + 24, earlier = 0;
        bool known = false;
        TAKE(c, text, room);
        c->bone_names[b] = name, c->bone_node[b] = (int32_t)b, rig->twin[b] = -1;
        for (int64_t i = 0; i < b; i++) earlier += c->bone_node[i] == i && strcmp(c->bone_names[i], name) == 0;
        snprintf(text, (size_t)room, earlier ? "%s#%d.rx" : "%s.rx", name, (int)earlier + 1);
        for (int i = 0; i < clips; i++) known |= su_param_number(&clip[i]->file, clip[i]->s, text) >= 0;
        for (int64_t i = 0; i < b && rig->twin[b] < 0 && !(earlier && known); i++)
            if (c->bone_node[i] == i && strcmp(c->bone_names[i], name) == 0 && fixed_to(clips, clip, c->diagonal, i, b))
                rig->twin[b] = (int32_t)i;
        if (rig->twin[b] >= 0) c->bone_node[b] = rig->twin[b];
        c->bone_deforms[b] = rig->twin[b] >= 0 ? c->bone_deforms[rig->twin[b]] : known;
    }
    return SU_OK;
}

static su_status make_skin(const su_anim *a, su_character *c, su_error *err)
{
    int64_t *start, count = 0;
    int32_t *bone;
    double *weight;
    for (int64_t k = 0; k < a->nbar * a->B; k++) count += a->weights[k] != 0.0f;
    TAKE(c, start, a->nbar + 1);
    TAKE(c, bone, count);
    TAKE(c, weight, count);
    count = 0;
    for (int64_t v = 0; v < a->nbar; v++) {
        double sum = 0.0;
        for (int64_t b = 0; b < a->B; b++) {
            double w = (double)a->weights[v * a->B + b];
            if (w != 0.0) bone[count] = (int32_t)b, weight[count++] = w, sum += w;
        }
        start[v + 1] = count;
        for (int64_t k = start[v]; k < count && sum > 0.5; k++)
            weight[k] /= sum; /* single precision has rounded them */
    }
    c->skin = (su_skin){a->nbar, start, bone, weight};
    return SU_OK;
}

static su_status make(int clips, const su_anim *const *clip, double diagonal, su_clip_rig *rig, su_error *err)
{
    const su_anim *a = clip[0];
    su_character *c = &rig->character;
    c->diagonal = diagonal, c->nbar = a->nbar, c->B = a->B, c->K = a->K;
    c->neutral = a->neutral, c->morphs = a->morphs, c->bone_rest = a->bone_rest, c->bone_parent = a->bone_parent;
    TAKE(c, rig->twin, a->B);
    TAKE(c, c->bone_names, a->B);
    TAKE(c, c->bone_node, a->B);
    TAKE(c, c->bone_deforms, a->B);
    TAKE(c, c->morph, a->K);
    for (int64_t k = 0; k < a->K; k++) c->morph[k].name = su_file_name(&a->file, "morph_names", k);
    rig->dual = strcmp(text_of(a, "skinning", "lbs"), "dqs") == 0;
    SU_TRY(find_joints(clips, clip, rig, err));
    return make_skin(a, c, err);
}

int64_t su_clip_rig_room(const su_clip_rig *rig) { return 3 * rig->character.nbar + 33 * rig->character.B; }

void su_clip_rig_points(const su_clip_rig *rig, const double *bones, const double *shape_weights, int threads,
                        double *room, double *points)
{
    const su_character *c = &rig->character;
    const double *neutral = c->neutral;
    double *matrices = room + 3 * c->nbar;
    for (int64_t b = 0; b < c->B; b++) {
        su_affine_inverse(c->bone_rest + 16 * b, matrices + 16 * b);
        su_affine_multiply(bones + 16 * b, matrices + 16 * b, matrices + 16 * b);
    }
    for (int64_t k = 0; k < c->K; k++) {
        const double *offset = c->morphs + 3 * c->nbar * k;
        if (shape_weights[k] == 0.0) continue;
        for (int64_t i = 0; i < 3 * c->nbar; i++) room[i] = neutral[i] + shape_weights[k] * offset[i];
        neutral = room;
    }
    if (rig->dual)
        su_skin_points_dual(&c->skin, c->B, neutral, matrices, threads, matrices + 16 * c->B, points);
    else
        su_skin_points(&c->skin, neutral, matrices, threads, points);
}

void su_clip_rig_shape_weights(const su_clip_rig *rig, const su_file *file, int64_t rows, int64_t s,
                               const double *params, double *out)
{
    int64_t K = rig->character.K;
    for (int64_t k = 0; k < K; k++) {
        int64_t from = su_param_number(file, s, rig->character.morph[k].name);
        for (int64_t f = 0; f < rows; f++) out[f * K + k] = from >= 0 ? params[f * s + from] : 0.0;
    }
}

/* ---- trying ---- */

static bool carries(const su_clip_rig *rig, const su_anim *a, const double *shape_weights, double *room, double *points)
{
    for (int i = 0; i < CHECKED; i++) {
        int64_t f = i * (a->F - 1) / (CHECKED - 1);
        const float *meant = a->points + 3 * a->nbar * f;
        su_clip_rig_points(rig, a->bones + 16 * a->B * f, shape_weights + a->K * f, 1, room, points);
        for (int64_t k = 0; k < 3 * a->nbar; k++)
            if (!(fabs(points[k] - (double)meant[k]) <= CARRIED * rig->character.diagonal)) return false;
    }
    return true;
}

static bool has_parameters(const su_parameters *p, const su_anim *a)
{
    for (int64_t k = 0; k < a->s; k++) {
        const char *name = su_file_name(&a->file, "param_names", k);
        int64_t own = -1;
        for (int64_t i = 0; i < p->s && own < 0 && name; i++)
            if (strcmp(p->names[i], name) == 0) own = i;
        for (int64_t f = 0; f < a->F; f++)
            if (!(fabs(a->params[f * a->s + k] - (own >= 0 ? p->values[f * p->s + own] : 0.0)) <= SAME_PARAMS))
                return false;
    }
    return true;
}

static su_status try_clip(const su_clip_rig *rig, const su_anim *a, const char **why, su_error *err)
{
    su_arena arena = {0};
    su_parameters p = {0};
    su_status status = SU_OK;
    double *points = su_arena_alloc(&arena, 3 * a->nbar, sizeof *points);
    double *room = su_arena_alloc(&arena, su_clip_rig_room(rig), sizeof *room);
    double *shape_weights = su_arena_alloc(&arena, a->F * a->K, sizeof *shape_weights);
    if (!points || !room || !shape_weights) {
        status = su_fail(err, SU_AGAIN, "not enough memory for a frame of %lld vertices", (long long)a->nbar);
        goto done;
    }
    su_clip_rig_shape_weights(rig, &a->file, a->F, a->s, a->params, shape_weights);
    if (!carries(rig, a, shape_weights, room, points)) {
        *why = "its bones do not carry the skin";
        goto done;
    }
    SU_GO(su_rig_parameters(&rig->character, a->F, a->bones, shape_weights, &p, err));
    if (!has_parameters(&p, a)) *why = "its parameters are not those of its bones";
done:
    su_parameters_free(&p);
    su_arena_free(&arena);
    return status;
}

su_status su_clip_rig_create(int clips, const su_anim *const *clip, double diagonal, su_clip_rig *rig, const char **why,
                             su_error *err)
{
    memset(rig, 0, sizeof *rig);
    *why = su_same_bones(clips, clip, diagonal);
    if (*why) return SU_OK;
    SU_TRY(make(clips, clip, diagonal, rig, err));
    for (int i = 0; i < clips && !*why; i++) SU_TRY(try_clip(rig, clip[i], why, err));
    return SU_OK;
}

void su_clip_rig_free(su_clip_rig *rig)
{
    su_arena_free(&rig->character.arena);
    memset(rig, 0, sizeof *rig);
}
