#include "reduce/cubature/contact_training.h"

#include "core/memory.h"
#include "core/order.h"
#include "core/threads.h"
#include "geometry/kdtree.h"
#include "geometry/mat3.h"
#include "geometry/thickness.h"
#include "geometry/vector.h"
#include "linalg/principal.h"
#include "reduce/cubature/pair_selection.h"
#include "rig/pose_selection.h"
#include "runtime/forces/all_pairs.h"
#include "runtime/forces/trained_pairs.h"
#include "runtime/pack_model.h"
#include "runtime/reduced_step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Flesh comes to rest by implicit steps of so many seconds, in each of which velocities die to 1/e of themselves: long
 * beside its swing (a tenth to a quarter of a second), short enough that Newton's steps end. At most REST_STEPS, fewer
 * where q moves by less than SETTLED of itself. */
static const double REST_STEP = 0.1, SETTLED = 1e-4;
enum { REST_STEPS = 40, REST_SOLVES = 20 };
static const double REST_TOLERANCE = 1e-5; /* relative residual of a step */

/* Around a training pose the shot is played from so many frames before on, and the states of so many frames before and
 * behind it are trained on, too: without weight of its own flesh that the rig has overlapping (--self-contact new)
 * presses in motion only. */
enum { LEAD = 8, AROUND = 2, MOST_STATES = 2 * AROUND + 2 };
/* Forces of a state count relative to themselves, but not of less than this share of the largest state's. */
static const double FAINT = 0.1;

enum { PROBES = 12 }; /* vertices that say where a domain is */

/* The errors at which one set for all poses is measured (ASC section 4.2). */
static const double DIRECT[2] = {0.05, 0.01};

/* A pair that pressed at a pose. */
typedef struct met {
    int64_t key; /* domains a <= b: a D + b */
    int32_t vertex, triangle, pose, state;
    double size;   /* N */
    double weight; /* 0: not kept */
} met;

typedef struct training {
    const su_contact_plan *plan;
    su_contact_trained *report;
    su_runtime_model runtime;
    su_stepper stepper;
    su_pose pose, ahead;
    su_pose_work work;
    su_pose_input input;
    const su_contact *contact;
    su_contact_body body;
    int64_t n, r, T, D;
    su_contact_frame *frames; /* (T) */
    int32_t *domain;          /* (n) of surface vertices, -1 inside */
    int32_t *probe;           /* (D,PROBES) */
    double *probes;           /* (T,D,PROBES,3) where they were in the rest shapes */
    met *met;
    double *rows; /* (room,r) beside them; only those of the pose at hand unless all are wanted */
    int64_t count, room, row_room;
    double *half; /* (t) local half-thickness */
    double *k;    /* (n) N/m^3 */
    int64_t serial;
    int32_t *slot; /* (n) column of a vertex while a set is chosen, plus 1 */
} training;

static void training_free(training *t)
{
    su_pose_free(&t->pose);
    su_pose_free(&t->ahead);
    su_pose_work_free(&t->work);
    su_pose_input_free(&t->input);
    su_stepper_free(&t->stepper);
    su_runtime_model_free(&t->runtime);
    su_contact_body_free(&t->body);
    free(t->frames), free(t->domain), free(t->probe), free(t->probes), free(t->met), free(t->rows), free(t->half),
        free(t->k), free(t->slot);
}

/* ---- which poses ---- */

static su_status choose_frames(training *t, su_error *err)
{
    const su_contact_plan *plan = t->plan;
    int64_t s = plan->model->s, total = 0, at = 0;
    double *params = NULL, *distance = NULL;
    int64_t *picked = NULL;
    su_status status = SU_OK;
    for (int k = 0; k < plan->shots; k++) total += su_shot_frames(plan->shot[k]);
    int64_t most = plan->given ? plan->given : plan->poses + 1;
    SU_GO(SU_ALLOC(&t->frames, most, "training poses", err));
    if (plan->given) {
        memcpy(t->frames, plan->frame, (size_t)plan->given * sizeof *t->frames);
        t->T = plan->given;
        goto done;
    }
    SU_GO(SU_ALLOC(&params, total * s, "parameters", err));
    SU_GO(SU_ALLOC(&distance, most, "training poses", err));
    SU_GO(SU_ALLOC(&picked, most, "training poses", err));
    for (int k = 0; k < plan->shots; k++)
        for (int64_t f = 0; f < su_shot_frames(plan->shot[k]); f++)
            su_shot_sample(plan->shot[k], f, 0, 0, NULL, NULL, params + s * at++, NULL, NULL);
    int64_t m = 0;
    SU_GO(su_select_poses(total, s, params, plan->model->param_scale, 0, NULL, most, 0, picked, distance, &m, err));
    for (int64_t i = 0; i < m; i++) {
        int64_t frame = picked[i];
        int shot = 0;
        if (frame < 0) continue; /* the neutral pose, which no shot need have */
        while (frame >= su_shot_frames(plan->shot[shot])) frame -= su_shot_frames(plan->shot[shot++]);
        t->frames[t->T++] = (su_contact_frame){shot, frame};
    }
done:
    free(params), free(distance), free(picked);
    return status;
}

/* ---- domains ---- */

/* Surface vertices by the bone of the nearest vertex that a bone holds; all are one domain where none does. */
static su_status find_domains(training *t, su_error *err)
{
    const su_tet *tet = t->plan->tet;
    double *held = NULL;
    int32_t *bone = NULL, *number = NULL;
    su_kdtree *tree = NULL;
    int64_t count = 0, most = 0;
    su_status status = SU_OK;
    SU_GO(SU_ALLOC(&t->domain, t->n, "domains", err));
    SU_GO(SU_ALLOC(&held, 3 * tet->fixed_count, "domains", err));
    SU_GO(SU_ALLOC(&bone, tet->fixed_count, "domains", err));
    for (int64_t k = 0; k < tet->fixed_count && tet->fixed_bone; k++) {
        if (tet->fixed_bone[k] < 0) continue;
        memcpy(held + 3 * count, tet->vertices + 3 * (int64_t)tet->fixed[k], 3 * sizeof *held);
        bone[count++] = tet->fixed_bone[k];
        if (tet->fixed_bone[k] >= most) most = tet->fixed_bone[k] + 1;
    }
    for (int64_t v = 0; v < t->n; v++) t->domain[v] = -1;
    SU_GO(SU_ALLOC(&number, most, "domains", err));
    if (count > 0) SU_GO(su_kdtree_create(count, held, &tree, err));
    for (int64_t i = 0; i < t->body.surface_count; i++) {
        int32_t v = t->body.vertex[i], nearest = 0;
        if (tree) su_kdtree_nearest(tree, tet->vertices + 3 * (int64_t)v, 1, &nearest, NULL);
        t->domain[v] = tree ? bone[nearest] : 0;
        if (tree) number[bone[nearest]] = 1;
    }
    for (int64_t b = 0; b < most; b++)
        if (number[b]) number[b] = (int32_t)t->D++;
    for (int64_t v = 0; v < t->n && tree; v++)
        if (t->domain[v] >= 0) t->domain[v] = number[t->domain[v]];
    if (!tree) t->D = 1;
done:
    su_kdtree_free(tree);
    free(held), free(bone), free(number);
    return status;
}

/* Surface vertices of each domain far apart from each other: the farthest from those before, from the lowest on. */
static su_status choose_probes(training *t, su_error *err)
{
    double *far;
    SU_TRY(SU_ALLOC(&t->probe, t->D * PROBES, "domains", err));
    SU_TRY(SU_ALLOC(&far, t->n, "domains", err));
    for (int64_t v = 0; v < t->n; v++) far[v] = INFINITY;
    for (int64_t d = 0; d < t->D; d++)
        for (int64_t k = 0; k < PROBES; k++) {
            int64_t best = -1;
            for (int64_t v = 0; v < t->n; v++)
                if (t->domain[v] == d && (best < 0 || far[v] > far[best])) best = v;
            t->probe[d * PROBES + k] = (int32_t)best;
            for (int64_t v = 0; v < t->n; v++)
                if (t->domain[v] == d)
                    far[v] = fmin(far[v], su_distance3(t->body.neutral + 3 * v, t->body.neutral + 3 * best));
        }
    free(far);
    return SU_OK;
}

/* ---- the flesh at rest, with all pairs ---- */

static su_status open_stepper(training *t, su_error *err)
{
    const su_contact_plan *plan = t->plan;
    const su_step_settings step = {.stiffness = 1, .newton = REST_SOLVES, .tolerance = REST_TOLERANCE};
    int32_t *all;
    SU_TRY(SU_ALLOC(&all, t->n, "vertices", err));
    for (int64_t v = 0; v < t->n; v++) all[v] = (int32_t)v;
    su_status status = su_runtime_model_create_with(plan->model, SU_COROTATED, t->n, all, &t->runtime, err);
    free(all);
    SU_TRY(status);
    SU_TRY(su_stepper_create(&t->runtime, &step, &t->stepper, err));
    SU_TRY(su_pose_create(&t->runtime, &t->pose, err));
    SU_TRY(su_pose_create(&t->runtime, &t->ahead, err));
    SU_TRY(su_pose_work_create(&t->runtime, &t->work, err));
    SU_TRY(su_pose_input_create(&t->runtime, true, &t->input, err));
    su_all_pairs what = {.n = t->n,
                         .t = plan->tet->t,
                         .neutral = plan->model->vertices,
                         .tets = plan->model->tets,
                         .young = plan->fit->young,
                         .poisson = plan->fit->poisson,
                         .stiffness = 1,
                         .allow = plan->allow,
                         .threads = plan->threads,
                         .place = t->runtime.points.extra_place,
                         .point = t->runtime.points.extra_point};
    su_contact contact;
    SU_TRY(su_all_pairs_create(&what, &t->stepper.subspace, &contact, err));
    su_stepper_add_contact(&t->stepper, &contact);
    t->contact = t->stepper.contact;
    return SU_OK;
}

/* False where it does not come to rest; the state is the last one reached. */
static bool come_to_rest(training *t)
{
    const su_gravity none = {{0}, {0}};
    su_stepper_start(&t->stepper, &t->pose, NULL, NULL, NULL, REST_STEP);
    for (int k = 0; k < REST_STEPS; k++) {
        if (su_stepper_advance(&t->stepper, &t->pose, REST_STEP, &none, 1 / REST_STEP) != SU_STEP_OK) return k > 0;
        double moved = 0, size = 0;
        for (int64_t i = 0; i < t->r; i++) {
            double d = t->stepper.now->q[i] - t->stepper.before->q[i];
            moved += d * d, size += t->stepper.now->q[i] * t->stepper.now->q[i];
        }
        if (moved <= SETTLED * SETTLED * size) break;
    }
    return true;
}

static bool grow(training *t, int64_t rows)
{
    if (t->count == t->room) {
        met *more = realloc(t->met, (size_t)(2 * t->room + 1024) * sizeof *more);
        if (!more) return false;
        t->met = more, t->room = 2 * t->room + 1024;
    }
    if (rows < t->row_room) return true;
    double *more = realloc(t->rows, (size_t)((2 * t->row_room + 1024) * t->r) * sizeof *more);
    if (more) t->rows = more, t->row_room = 2 * t->row_room + 1024;
    return more;
}

static int64_t key_of(const training *t, int32_t vertex, int32_t triangle)
{
    int64_t a = t->domain[vertex], b = t->domain[t->body.surface[3 * (int64_t)triangle]];
    return a < b ? a * t->D + b : b * t->D + a;
}

/* The pairs of a state of a pose whose pairs begin at t->met + first, with their projected forces. */
static su_status collect(training *t, int64_t pose, int state, int64_t first, su_error *err)
{
    const su_contact_pair *pairs;
    su_contact_points *points;
    const double *x, *y;
    int64_t count = su_all_pairs_met(t->contact, &pairs, &points, &y, &x), kept = t->plan->direct ? 0 : first;
    double *row;
    SU_TRY(SU_ALLOC(&row, t->runtime.lead, "contact", err));
    for (int64_t k = 0; k < count; k++) {
        const su_contact_pair *pair = pairs + k;
        double size = pair->stiffness * (pair->depth - pair->allowed);
        if (!su_contact_pressed(pair) || pair->plane) continue; /* such a one looks at nothing that a set has */
        if (!grow(t, t->count - kept)) {
            free(row);
            return su_fail(err, SU_AGAIN, "no memory for %lld contact pairs", (long long)t->count);
        }
        su_contact_points_row(points, pair, row);
        for (int64_t i = 0; i < t->r; i++) t->rows[(t->count - kept) * t->r + i] = size * row[i];
        t->met[t->count++] = (met){.key = key_of(t, pair->vertex, pair->triangle),
                                   .vertex = pair->vertex,
                                   .triangle = pair->triangle,
                                   .pose = (int32_t)pose,
                                   .state = state,
                                   .size = size};
        if (state == 0) t->report->deepest = fmax(t->report->deepest, pair->depth - pair->allowed);
    }
    free(row);
    for (int64_t k = 0; k < t->D * PROBES && state == 0; k++)
        memcpy(t->probes + 3 * (pose * t->D * PROBES + k), x + 3 * (int64_t)t->probe[k], 3 * sizeof *x);
    return SU_OK;
}

/* ---- pair sets ---- */

/* Columns of the pairs of one pose and one key: a vertex's forces at all states, one below the other. at (.): the met
 * pair that stands for a column, the one that presses most. */
static int64_t columns_of(training *t, int64_t first, const double *rows, int64_t key, int64_t *at, double *a,
                          double *b)
{
    int64_t count = 0, r = t->r;
    double scale[MOST_STATES] = {0}, most = 0;
    for (int64_t k = first; k < t->count; k++) {
        const met *m = t->met + k;
        if (m->key != key) continue;
        int32_t *slot = t->slot + m->vertex;
        if (!*slot) at[count] = k, *slot = (int32_t)++count;
        if (m->size > t->met[at[*slot - 1]].size) at[*slot - 1] = k;
        for (int64_t i = 0; i < r; i++) {
            double f = rows[r * (k - first) + i];
            a[((*slot - 1) * MOST_STATES + m->state) * r + i] += f;
            b[m->state * r + i] += f;
        }
    }
    for (int64_t k = 0; k < count; k++) t->slot[t->met[at[k]].vertex] = 0;
    for (int s = 0; s < MOST_STATES; s++) most = fmax(most, scale[s] = su_norm(r, b + s * r));
    for (int s = 0; s < MOST_STATES; s++) scale[s] = most > 0 ? 1 / fmax(scale[s], FAINT * most) : 0;
    for (int64_t k = 0; k < (count + 1) * MOST_STATES * r; k++) {
        double *entry = k < MOST_STATES * r ? b + k : a + k - MOST_STATES * r;
        *entry *= scale[k / r % MOST_STATES];
    }
    return count;
}

/* Some of the pairs of one pose and one key get weights. */
static su_status select_key(training *t, int64_t first, const double *rows, int64_t key, su_error *err)
{
    int64_t count = 0, used, height = MOST_STATES * t->r, *at = NULL;
    double *a = NULL, *b = NULL, *weight = NULL, error;
    su_status status;
    for (int64_t k = first; k < t->count; k++) count += t->met[k].key == key;
    SU_GO(SU_ALLOC(&a, count * height, "contact pairs", err));
    SU_GO(SU_ALLOC(&b, height, "contact pairs", err));
    SU_GO(SU_ALLOC(&at, count, "contact pairs", err));
    SU_GO(SU_ALLOC(&weight, count, "contact pairs", err));
    count = columns_of(t, first, rows, key, at, a, b);
    SU_GO(su_pairs_select(height, count, a, b, t->plan->tolerance, weight, &used, &error, err));
    for (int64_t k = 0; k < count; k++) t->met[at[k]].weight = weight[k];
    t->report->kept += used, t->report->met += count;
    t->report->worst = fmax(t->report->worst, error);
done:
    free(a), free(b), free(at), free(weight);
    return status;
}

static su_status select_pose(training *t, int64_t first, const double *rows, su_error *err)
{
    double started = su_seconds();
    int64_t kept = t->report->kept, met_before = t->report->met;
    for (int64_t key = 0; key < t->D * t->D; key++) {
        bool any = false;
        for (int64_t k = first; k < t->count && !any; k++) any = t->met[k].key == key;
        if (any) SU_TRY(select_key(t, first, rows, key, err));
    }
    if (t->report->kept - kept > t->report->most_kept) t->report->most_kept = t->report->kept - kept;
    if (t->report->met - met_before > t->report->most_met) t->report->most_met = t->report->met - met_before;
    t->report->select_seconds += su_seconds() - started;
    return SU_OK;
}

static void evaluate_pose(training *t, const su_shot *shot, int64_t frame, double fraction, su_pose *pose)
{
    const su_blend *none[1][2] = {{NULL, NULL}};
    su_shot_sample(shot, frame, fraction, t->runtime.patch.skin_count, t->runtime.patch.skin, t->input.skin, t->input.p,
                   t->input.Q, t->input.c);
    su_blend_evaluate(&t->runtime, t->input.p, ++t->serial, &pose->blend);
    su_pose_evaluate(&t->runtime, 1, &t->input, none, &t->work, pose);
}

/* The frames around training pose i, in motion. */
static su_status play_around(training *t, int64_t i, int64_t first, su_error *err)
{
    const su_contact_frame *at = t->frames + i;
    const su_shot *shot = t->plan->shot[at->shot];
    const su_sim_settings *settings = t->plan->settings + at->shot;
    int64_t last = su_shot_frames(shot) - 1, from = at->frame - AROUND - LEAD, to = at->frame + AROUND;
    if (from < 0) from = 0;
    if (to > last) to = last;
    t->stepper.settings.alpha = settings->alpha, t->stepper.settings.beta = settings->beta;
    evaluate_pose(t, shot, from, 0, &t->pose);
    if (from < to) evaluate_pose(t, shot, from, 1.0 / settings->substeps, &t->ahead);
    su_stepper_start(&t->stepper, &t->pose, NULL, NULL, from < to ? &t->ahead : NULL, settings->step);
    for (int64_t frame = from; frame < to; frame++) {
        for (int k = 1; k <= settings->substeps; k++) {
            evaluate_pose(t, shot, frame, (double)k / settings->substeps, &t->pose);
            su_gravity gravity = su_sim_gravity(settings, t->pose.Q);
            if (su_stepper_advance(&t->stepper, &t->pose, settings->step, &gravity, 0) != SU_STEP_OK)
                su_stepper_follow(&t->stepper, &t->pose, settings->step);
        }
        int64_t state = frame + 1 - (at->frame - AROUND);
        if (state >= 0) SU_TRY(collect(t, i, (int)state + 1, first, err));
    }
    return SU_OK;
}

static su_status train_pose(training *t, int64_t i, su_error *err)
{
    double started = su_seconds();
    int64_t first = t->count;
    evaluate_pose(t, t->plan->shot[t->frames[i].shot], t->frames[i].frame, 0, &t->pose);
    t->report->failed += !come_to_rest(t);
    SU_TRY(collect(t, i, 0, first, err));
    SU_TRY(play_around(t, i, first, err));
    t->report->rest_seconds += su_seconds() - started;
    return select_pose(t, first, t->rows + (t->plan->direct ? first * t->r : 0), err);
}

/* ---- one set for all poses, for comparison ---- */

static int compare_met(const void *a, const void *b)
{
    const met *p = a, *q = b;
    if (p->vertex != q->vertex) return p->vertex < q->vertex ? -1 : 1;
    if (p->triangle != q->triangle) return p->triangle < q->triangle ? -1 : 1;
    return (p->pose > q->pose) - (p->pose < q->pose);
}

/* Columns of ASC eq. 12: a pair's forces at all poses, 0 where it does not press. */
static su_status try_direct(training *t, su_error *err)
{
    int64_t rows = t->r * t->T, count = 0, all = 0;
    double *a = NULL, *b = NULL, *weight = NULL;
    met *sorted = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&sorted, t->count, "contact pairs", err));
    for (int64_t k = 0; k < t->count; k++)
        if (t->met[k].state == 0) sorted[all] = t->met[k], sorted[all++].key = k;
    qsort(sorted, (size_t)all, sizeof *sorted, compare_met);
    for (int64_t k = 0; k < all; k++)
        count += k == 0 || sorted[k].vertex != sorted[k - 1].vertex || sorted[k].triangle != sorted[k - 1].triangle;
    SU_GO(SU_ALLOC(&a, count * rows, "contact pairs", err));
    SU_GO(SU_ALLOC(&b, rows, "contact pairs", err));
    SU_GO(SU_ALLOC(&weight, count, "contact pairs", err));
    t->report->direct_of = count, count = -1;
    for (int64_t k = 0; k < all; k++) {
        count += k == 0 || sorted[k].vertex != sorted[k - 1].vertex || sorted[k].triangle != sorted[k - 1].triangle;
        for (int64_t i = 0; i < t->r; i++) {
            double f = t->rows[sorted[k].key * t->r + i];
            a[count * rows + sorted[k].pose * t->r + i] += f;
            b[sorted[k].pose * t->r + i] += f;
        }
    }
    for (int k = 0; k < 2 && all > 0; k++)
        SU_GO(su_pairs_select(rows, count + 1, a, b, DIRECT[k], weight, &t->report->direct[k],
                              &t->report->direct_error[k], err));
done:
    free(a), free(b), free(weight), free(sorted);
    return status;
}

/* ---- the file ---- */

/* Growing lists of what is written. */
typedef struct lists {
    int64_t *key;            /* (s) */
    int32_t *local, *global; /* (n) number of a flesh vertex + 1, 0: none; (v) */
    int32_t *triangle;       /* (k) of the body */
    uint8_t *mark;           /* (b) scratch */
    int64_t room;
} lists;

static void lists_free(lists *l) { free(l->key), free(l->local), free(l->global), free(l->triangle), free(l->mark); }

/* Triangles of a set's pairs and rings around, ascending, behind l->triangle[*count]. */
static su_status add_triangles(training *t, lists *l, int64_t key, int64_t pose, int64_t *count, su_error *err)
{
    const su_contact_body *body = &t->body;
    memset(l->mark, 0, (size_t)body->b);
    for (int64_t k = 0; k < t->count; k++)
        if (t->met[k].key == key && t->met[k].pose == pose && t->met[k].weight > 0) l->mark[t->met[k].triangle] = 1;
    for (int ring = 1; ring <= t->plan->rings; ring++)
        for (int64_t f = 0; f < body->b; f++) {
            if (l->mark[f] != ring) continue;
            for (int i = 0; i < 3; i++) {
                int32_t v = body->surface[3 * f + i];
                for (int64_t j = body->around_start[v]; j < body->around_start[v + 1]; j++)
                    if (!l->mark[body->around[j]]) l->mark[body->around[j]] = (uint8_t)(ring + 1);
            }
        }
    for (int64_t f = 0; f < body->b; f++) {
        if (!l->mark[f]) continue;
        if (*count == l->room) {
            int32_t *more = realloc(l->triangle, (size_t)(2 * l->room + 1024) * sizeof *more);
            if (!more) return su_fail(err, SU_AGAIN, "no memory for contact triangles");
            l->triangle = more, l->room = 2 * l->room + 1024;
        }
        l->triangle[(*count)++] = (int32_t)f;
    }
    return SU_OK;
}

static su_status number_vertices(training *t, lists *l, int64_t triangles, su_pair_sets *out, su_error *err)
{
    for (int64_t k = 0; k < 3 * triangles; k++) l->local[t->body.surface[3 * (int64_t)l->triangle[k / 3] + k % 3]] = 1;
    for (int64_t k = 0; k < t->count; k++) {
        if (!(t->met[k].weight > 0)) continue;
        int64_t v = t->met[k].vertex;
        l->local[v] = 1;
        for (int64_t j = t->body.around_start[v]; j < t->body.around_start[v + 1]; j++)
            for (int i = 0; i < 3; i++) l->local[t->body.surface[3 * (int64_t)t->body.around[j] + i]] = 1;
    }
    for (int64_t k = 0; k < t->D * PROBES; k++) l->local[t->probe[k]] = 1;
    for (int64_t v = 0; v < t->n; v++)
        if (l->local[v]) l->global[out->v++] = (int32_t)v, l->local[v] = (int32_t)out->v;
    out->v1 = out->v + 1;
    for (int64_t i = 0; i < out->v; i++)
        for (int64_t j = t->body.ring_start[l->global[i]]; j < t->body.ring_start[l->global[i] + 1]; j++)
            out->e += l->local[t->body.ring[j]] > 0;
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->vertices, out->v, err));
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->stiffness, out->v, err));
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->area, out->v, err));
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->related_start, out->v1, err));
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->related, out->e, err));
    int32_t entries = 0;
    for (int64_t i = 0; i < out->v; i++) {
        int32_t v = l->global[i];
        out->vertices[i] = v, out->stiffness[i] = t->k[v], out->area[i] = t->body.area[v];
        for (int64_t j = t->body.ring_start[v]; j < t->body.ring_start[v + 1]; j++)
            if (l->local[t->body.ring[j]]) out->related[entries++] = l->local[t->body.ring[j]] - 1;
        out->related_start[i + 1] = entries;
    }
    return SU_OK;
}

/* Where the second domain was in the first one's frame, and its principal axes over the poses (ASC section 4.3). */
static su_status find_axes(training *t, int64_t s, su_pair_sets *out, su_error *err)
{
    int64_t c3 = out->c3, a = out->domain_pair[2 * s], b = out->domain_pair[2 * s + 1];
    int32_t number[2 * PROBES];
    double *mean = out->pose_mean + c3 * s, *axes = out->pose_axes + SU_PAIR_COORDINATES * c3 * s, *at = NULL;
    float *values = NULL;
    su_principal principal = {0};
    su_status status;
    SU_GO(SU_ALLOC(&at, c3 * t->T, "poses of domains", err));
    SU_GO(SU_ALLOC(&values, c3 * t->T, "poses of domains", err));
    for (int32_t k = 0; k < 2 * PROBES; k++) number[k] = (int32_t)((k < PROBES ? a : b) * PROBES) + k % PROBES;
    su_domain_pose pose = {out->c, number, number + PROBES, mean, axes};
    double *neutral;
    SU_GO(SU_ALLOC(&neutral, 3 * t->D * PROBES, "poses of domains", err));
    for (int64_t k = 0; k < t->D * PROBES; k++)
        memcpy(neutral + 3 * k, t->body.neutral + 3 * (int64_t)t->probe[k], 3 * sizeof *neutral);
    for (int64_t i = 0; i < t->T; i++) {
        su_domain_probes(&pose, neutral, t->probes + 3 * t->D * PROBES * i, at + c3 * i);
        for (int64_t k = 0; k < c3; k++) mean[k] += at[c3 * i + k] / (double)t->T;
    }
    free(neutral);
    for (int64_t k = 0; k < c3 * t->T; k++) values[k] = (float)(at[k] - mean[k % c3]);
    SU_GO(su_principal_shapes(t->T, c3, values, SU_PAIR_COORDINATES, 0, &principal, err));
    for (int64_t k = 0; k < principal.count; k++) {
        double size = 0;
        for (int64_t j = 0; j < c3; j++)
            size += (double)principal.shapes[k * c3 + j] * (double)principal.shapes[k * c3 + j];
        for (int64_t j = 0; j < c3 && size > 0; j++) axes[k * c3 + j] = principal.shapes[k * c3 + j] / sqrt(size);
    }
    for (int64_t i = 0; i < t->T; i++) {
        double *own = out->set_pose + SU_PAIR_COORDINATES * (s * t->T + i);
        su_domain_coordinates(&pose, at + c3 * i, own);
    }
    for (int64_t i = 0; i < t->T; i++) {
        double nearest = INFINITY;
        const double *p = out->set_pose + SU_PAIR_COORDINATES * (s * t->T + i);
        for (int64_t j = 0; j < t->T; j++) {
            const double *q = out->set_pose + SU_PAIR_COORDINATES * (s * t->T + j);
            double square = 0;
            for (int k = 0; k < SU_PAIR_COORDINATES; k++) square += (p[k] - q[k]) * (p[k] - q[k]);
            if (j != i) nearest = fmin(nearest, sqrt(square));
        }
        if (t->T > 1) out->reach[s] = fmax(out->reach[s], nearest);
    }
done:
    su_principal_free(&principal);
    free(at), free(values);
    return status;
}

/* The triangles around a vertex by their other corners; returns where the next begin. */
static int64_t add_fan(const training *t, const lists *l, int32_t v, int64_t at, int32_t *fan)
{
    for (int64_t j = t->body.around_start[v]; j < t->body.around_start[v + 1]; j++, at++) {
        const int32_t *c = t->body.surface + 3 * (int64_t)t->body.around[j];
        int own = c[0] == v ? 0 : c[1] == v ? 1 : 2;
        for (int i = 0; i < 2; i++) fan[2 * at + i] = l->local[c[(own + 1 + i) % 3]] - 1;
    }
    return at;
}

/* Of the flesh behind a triangle and those around it, whose tets may lie in a wrinkle: half of it, m. */
static double thickness_at(const training *t, int32_t triangle)
{
    const su_contact_body *body = &t->body;
    double most = 0;
    for (int i = 0; i < 3; i++) {
        int32_t v = body->surface[3 * (int64_t)triangle + i];
        for (int64_t j = body->around_start[v]; j < body->around_start[v + 1]; j++)
            most = fmax(most, t->half[body->owner[body->around[j]]]);
    }
    return most;
}

static su_status write_sets(training *t, lists *l, su_pair_sets *out, su_error *err)
{
    int64_t triangles = 0, pairs = 0, fans = 0;
    out->z = out->s * t->T, out->z1 = out->z + 1;
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->set_pair, out->z, err));
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->set_pose, SU_PAIR_COORDINATES * out->z, err));
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->set_start, out->z1, err));
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->triangle_start, out->z1, err));
    for (int64_t k = 0; k < t->count; k++) {
        if (!(t->met[k].weight > 0)) continue;
        out->p++;
        out->g += t->body.around_start[t->met[k].vertex + 1] - t->body.around_start[t->met[k].vertex];
    }
    out->p1 = out->p + 1;
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->fan_start, out->p1, err));
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->fan, 2 * out->g, err));
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->pair_vertex, out->p, err));
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->pair_triangle, out->p, err));
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->pair_weight, out->p, err));
    for (int64_t z = 0; z < out->z; z++) {
        int64_t key = l->key[z / t->T], pose = z % t->T;
        out->set_pair[z] = (int32_t)(z / t->T);
        SU_TRY(add_triangles(t, l, key, pose, &triangles, err));
        out->triangle_start[z + 1] = (int32_t)triangles;
    }
    out->k = triangles;
    SU_TRY(number_vertices(t, l, triangles, out, err));
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->triangles, 3 * triangles, err));
    SU_TRY(SU_FILE_ALLOC(&out->file, &out->thickness, triangles, err));
    for (int64_t k = 0; k < triangles; k++) {
        for (int i = 0; i < 3; i++)
            out->triangles[3 * k + i] = l->local[t->body.surface[3 * (int64_t)l->triangle[k] + i]] - 1;
        out->thickness[k] = thickness_at(t, l->triangle[k]);
    }
    for (int64_t z = 0; z < out->z; z++) {
        for (int64_t k = 0; k < t->count; k++) {
            const met *m = t->met + k;
            if (m->key != l->key[z / t->T] || m->pose != z % t->T || !(m->weight > 0)) continue;
            const int32_t *from = l->triangle + out->triangle_start[z];
            size_t size = (size_t)(out->triangle_start[z + 1] - out->triangle_start[z]);
            const int32_t *found = bsearch(&m->triangle, from, size, sizeof *from, su_order_int32);
            out->pair_vertex[pairs] = l->local[m->vertex] - 1;
            out->pair_triangle[pairs] = (int32_t)(found - l->triangle);
            out->pair_weight[pairs++] = m->weight;
            fans = add_fan(t, l, m->vertex, fans, out->fan);
            out->fan_start[pairs] = (int32_t)fans;
        }
        out->set_start[z + 1] = (int32_t)pairs;
    }
    return SU_OK;
}

static su_status write_file(training *t, su_pair_sets *out, su_error *err)
{
    lists l = {0};
    su_status status;
    SU_GO(SU_ALLOC(&l.key, t->D * t->D, "domains", err));
    SU_GO(SU_ALLOC(&l.local, t->n, "contact", err));
    SU_GO(SU_ALLOC(&l.global, t->n, "contact", err));
    SU_GO(SU_ALLOC(&l.mark, t->body.b, "contact", err));
    for (int64_t key = 0; key < t->D * t->D; key++) {
        bool any = false;
        for (int64_t k = 0; k < t->count && !any; k++) any = t->met[k].key == key && t->met[k].weight > 0;
        if (any) l.key[out->s++] = key;
    }
    out->d = t->D, out->c = PROBES, out->c3 = 3 * PROBES;
    SU_GO(write_sets(t, &l, out, err));
    SU_GO(SU_FILE_ALLOC(&out->file, &out->probe, out->d * out->c, err));
    SU_GO(SU_FILE_ALLOC(&out->file, &out->domain_pair, 2 * out->s, err));
    SU_GO(SU_FILE_ALLOC(&out->file, &out->pose_mean, out->s * out->c3, err));
    SU_GO(SU_FILE_ALLOC(&out->file, &out->pose_axes, out->s * SU_PAIR_COORDINATES * out->c3, err));
    SU_GO(SU_FILE_ALLOC(&out->file, &out->reach, out->s, err));
    for (int64_t k = 0; k < out->d * out->c; k++) out->probe[k] = l.local[t->probe[k]] - 1;
    for (int64_t s = 0; s < out->s; s++) {
        out->domain_pair[2 * s] = (int32_t)(l.key[s] / t->D), out->domain_pair[2 * s + 1] = (int32_t)(l.key[s] % t->D);
        SU_GO(find_axes(t, s, out, err));
    }
done:
    lists_free(&l);
    return status;
}

su_status su_contact_train(const su_contact_plan *plan, su_pair_sets *out, su_contact_trained *report, su_error *err)
{
    training t = {.plan = plan, .report = report, .n = plan->model->n, .r = plan->model->r};
    su_status status;
    *report = (su_contact_trained){0};
    SU_GO(su_contact_body_create(t.n, plan->model->vertices, plan->model->t, plan->model->tets, &t.body, err));
    SU_GO(SU_ALLOC(&t.k, t.n, "contact", err));
    su_contact_stiffness(&t.body, plan->fit->young, plan->fit->poisson, t.k);
    SU_GO(SU_ALLOC(&t.half, plan->model->t, "thickness", err));
    const su_tets mesh = {t.n, plan->model->t, plan->model->vertices, plan->model->tets};
    SU_GO(su_tet_thickness(&mesh, plan->threads, t.half, err));
    SU_GO(SU_ALLOC(&t.slot, t.n, "contact", err));
    SU_GO(choose_frames(&t, err));
    SU_GO(find_domains(&t, err));
    SU_GO(choose_probes(&t, err));
    SU_GO(SU_ALLOC(&t.probes, 3 * t.T * t.D * PROBES, "poses of domains", err));
    SU_GO(open_stepper(&t, err));
    for (int64_t i = 0; i < t.T; i++) {
        SU_GO(train_pose(&t, i, err));
        SU_GO(su_progress_update(plan->progress, (double)(i + 1) / (double)t.T, err));
    }
    report->poses = t.T, report->domains = t.D;
    if (plan->direct) SU_GO(try_direct(&t, err));
    SU_GO(write_file(&t, out, err));
done:
    training_free(&t);
    return status;
}
