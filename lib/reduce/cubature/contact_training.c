#include "reduce/cubature/contact_training.h"

#include "core/memory.h"
#include "core/order.h"
#include "core/threads.h"
#include "geometry/kdtree.h"
#include "geometry/mat3.h"
#include "geometry/vector.h"
#include "reduce/cubature/contact_training_internal.h"
#include "reduce/cubature/pair_selection.h"
#include "rig/pose_selection.h"
#include "runtime/forces/all_pairs.h"
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

/* The errors at which one set for all poses is measured (ASC section 4.2). */
static const double DIRECT[2] = {0.05, 0.01};

static void training_free(su_contact_training *t)
{
    su_pose_free(&t->ahead);
    su_contact_scene_free(&t->scene);
    su_contact_body_free(&t->body);
    free(t->frames), free(t->domain), free(t->probe), free(t->probes), free(t->met), free(t->rows), free(t->k),
        free(t->slot);
}

/* ---- which poses ---- */

static su_status choose_frames(su_contact_training *t, su_error *err)
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
    SU_GO(SU_ALLOC_ALL("training poses", err, SU_WANT(distance, most), SU_WANT(picked, most)));
    for (int k = 0; k < plan->shots; k++)
        for (int64_t f = 0; f < su_shot_frames(plan->shot[k]); f++)
            su_shot_sample(plan->shot[k], f, 0, params + s * at++, NULL, NULL);
    const su_pose_candidates frames = {total, s, params, plan->model->param_scale};
    su_chosen_poses chosen = {.picked = picked, .distance = distance};
    SU_GO(su_select_poses(&frames, 0, NULL, most, 0, &chosen, err));
    for (int64_t i = 0; i < chosen.m; i++) {
        int64_t frame = picked[i];
        int shot = 0;
        if (frame < 0) continue; /* the neutral pose, which no shot need have */
        while (frame >= su_shot_frames(plan->shot[shot])) frame -= su_shot_frames(plan->shot[shot++]);
        t->frames[t->T++] = (su_clip_frame){shot, frame};
    }
done:
    free(params), free(distance), free(picked);
    return status;
}

/* ---- domains ---- */

/* Surface vertices by the bone of the nearest vertex that a bone holds; all are one domain where none does. */
static su_status find_domains(su_contact_training *t, su_error *err)
{
    const su_tet *tet = t->plan->tet;
    double *held = NULL;
    int32_t *bone = NULL, *number = NULL;
    su_kdtree *tree = NULL;
    int64_t count = 0, most = 0;
    su_status status = SU_OK;
    SU_GO(SU_ALLOC_ALL("domains", err, SU_WANT(t->domain, t->n), SU_WANT(held, 3 * tet->fixed_count),
                       SU_WANT(bone, tet->fixed_count)));
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
static su_status choose_probes(su_contact_training *t, su_error *err)
{
    double *far;
    SU_TRY(SU_ALLOC_ALL("domains", err, SU_WANT(t->probe, t->D * SU_CONTACT_PROBES), SU_WANT(far, t->n)));
    for (int64_t v = 0; v < t->n; v++) far[v] = INFINITY;
    for (int64_t d = 0; d < t->D; d++)
        for (int64_t k = 0; k < SU_CONTACT_PROBES; k++) {
            int64_t best = -1;
            for (int64_t v = 0; v < t->n; v++)
                if (t->domain[v] == d && (best < 0 || far[v] > far[best])) best = v;
            t->probe[d * SU_CONTACT_PROBES + k] = (int32_t)best;
            for (int64_t v = 0; v < t->n; v++)
                if (t->domain[v] == d)
                    far[v] = fmin(far[v], su_distance3(t->body.neutral + 3 * v, t->body.neutral + 3 * best));
        }
    free(far);
    return SU_OK;
}

/* ---- the flesh at rest, with all pairs ---- */

static su_status open_scene(su_contact_training *t, su_error *err)
{
    const su_contact_plan *plan = t->plan;
    const su_contact_flesh flesh = {plan->model, plan->fit, su_model_contact_softness(plan->model), plan->allow_overlap,
                                    plan->threads};
    const su_step_settings step = {.stiffness = 1, .newton = REST_SOLVES, .tolerance = REST_TOLERANCE};
    SU_TRY(su_contact_scene_create(&flesh, &step, &t->scene, err));
    return su_pose_create(&t->scene.runtime, &t->ahead, err);
}

/* False where it does not come to rest; the state is the last one reached. */
static bool come_to_rest(su_contact_training *t)
{
    const su_gravity none = {{0}, {0}};
    su_stepper_start(&t->scene.stepper, &t->scene.pose, NULL, NULL, NULL, REST_STEP);
    for (int k = 0; k < REST_STEPS; k++) {
        if (su_stepper_advance(&t->scene.stepper, &t->scene.pose, REST_STEP, &none, 1 / REST_STEP) != SU_STEP_OK)
            return k > 0;
        double moved = 0, size = 0;
        for (int64_t i = 0; i < t->r; i++) {
            double d = t->scene.stepper.now->q[i] - t->scene.stepper.before->q[i];
            moved += d * d, size += t->scene.stepper.now->q[i] * t->scene.stepper.now->q[i];
        }
        if (moved <= SETTLED * SETTLED * size) break;
    }
    return true;
}

static int64_t key_of(const su_contact_training *t, int32_t vertex, int32_t triangle)
{
    int64_t a = t->domain[vertex], b = t->domain[t->body.surface[3 * (int64_t)triangle]];
    return a < b ? a * t->D + b : b * t->D + a;
}

/* The pairs of a state of a pose whose pairs begin at t->met + first, with their projected forces. */
static su_status collect(su_contact_training *t, int64_t pose, int state, int64_t first, su_error *err)
{
    const su_contact_pair *pairs;
    su_contact_points *points;
    const double *x, *y;
    int64_t count = su_all_pairs_met(t->scene.contact, &pairs, &points, &y, &x), kept = t->plan->direct ? 0 : first;
    double *row;
    SU_TRY(SU_ALLOC(&row, t->scene.runtime.lead, "contact", err));
    su_status status = SU_OK;
    for (int64_t k = 0; k < count; k++) {
        const su_contact_pair *pair = pairs + k;
        double size = pair->stiffness * (pair->depth - pair->allowed);
        if (!su_contact_pressed(pair)) continue;
        SU_GO(su_grow(&t->met, t->count, &t->room, sizeof *t->met, "contact pairs", err));
        SU_GO(su_grow(&t->rows, t->count - kept, &t->row_room, (size_t)t->r * sizeof *t->rows, "contact pairs", err));
        su_contact_points_row(points, pair, row);
        for (int64_t i = 0; i < t->r; i++) t->rows[(t->count - kept) * t->r + i] = size * row[i];
        t->met[t->count++] = (su_contact_met){.key = key_of(t, pair->vertex, pair->triangle),
                                              .vertex = pair->vertex,
                                              .triangle = pair->triangle,
                                              .tet = pair->tet,
                                              .pose = (int32_t)pose,
                                              .state = state,
                                              .size = size};
        if (state == 0) t->report->deepest = fmax(t->report->deepest, pair->depth - pair->allowed);
    }
    for (int64_t k = 0; k < t->D * SU_CONTACT_PROBES && state == 0; k++)
        memcpy(t->probes + 3 * (pose * t->D * SU_CONTACT_PROBES + k), x + 3 * (int64_t)t->probe[k], 3 * sizeof *x);
done:
    free(row);
    return status;
}

/* ---- pair sets ---- */

/* Columns of the pairs of one pose and one key: a vertex's forces at all states, one below the other. at (.): the met
 * pair that stands for a column, the one that presses most. */
static int64_t columns_of(su_contact_training *t, int64_t first, const double *rows, int64_t key, int64_t *at,
                          double *a, double *b)
{
    int64_t count = 0, r = t->r;
    double scale[MOST_STATES] = {0}, most = 0;
    for (int64_t k = first; k < t->count; k++) {
        const su_contact_met *m = t->met + k;
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
static su_status select_key(su_contact_training *t, int64_t first, const double *rows, int64_t key, su_error *err)
{
    int64_t count = 0, used, height = MOST_STATES * t->r, *at = NULL;
    double *a = NULL, *b = NULL, *weight = NULL, error;
    su_status status;
    for (int64_t k = first; k < t->count; k++) count += t->met[k].key == key;
    if (count == 0) return SU_OK;
    SU_GO(SU_ALLOC_ALL("contact pairs", err, SU_WANT(a, count * height), SU_WANT(b, height), SU_WANT(at, count),
                       SU_WANT(weight, count)));
    count = columns_of(t, first, rows, key, at, a, b);
    SU_GO(su_pairs_select(&(su_column_sum){height, count, a, b}, t->plan->tolerance, weight, &used, &error, err));
    for (int64_t k = 0; k < count; k++) t->met[at[k]].weight = weight[k];
    t->report->kept += used, t->report->met += count;
    t->report->worst = fmax(t->report->worst, error);
done:
    free(a), free(b), free(at), free(weight);
    return status;
}

static su_status select_pose(su_contact_training *t, int64_t first, const double *rows, su_error *err)
{
    double started = su_seconds();
    int64_t kept = t->report->kept, met_before = t->report->met;
    for (int64_t key = 0; key < t->D * t->D; key++) SU_TRY(select_key(t, first, rows, key, err));
    if (t->report->kept - kept > t->report->most_kept) t->report->most_kept = t->report->kept - kept;
    if (t->report->met - met_before > t->report->most_met) t->report->most_met = t->report->met - met_before;
    t->report->select_seconds += su_seconds() - started;
    return SU_OK;
}

/* The frames around training pose i, in motion. */
static su_status play_around(su_contact_training *t, int64_t i, int64_t first, su_error *err)
{
    const su_clip_frame *at = t->frames + i;
    const su_shot *shot = t->plan->shot[at->clip];
    const su_sim_settings *settings = t->plan->settings + at->clip;
    int64_t last = su_shot_frames(shot) - 1, from = at->frame - AROUND - LEAD, to = at->frame + AROUND;
    if (from < 0) from = 0;
    if (to > last) to = last;
    t->scene.stepper.settings.alpha = settings->alpha, t->scene.stepper.settings.beta = settings->beta;
    su_contact_scene_pose(&t->scene, shot, from, 0, &t->scene.pose);
    if (from < to) su_contact_scene_pose(&t->scene, shot, from, 1.0 / settings->substeps, &t->ahead);
    su_stepper_start(&t->scene.stepper, &t->scene.pose, NULL, NULL, from < to ? &t->ahead : NULL, settings->step);
    for (int64_t frame = from; frame < to; frame++) {
        for (int k = 1; k <= settings->substeps; k++) {
            su_contact_scene_pose(&t->scene, shot, frame, (double)k / settings->substeps, &t->scene.pose);
            su_gravity gravity = su_sim_gravity(settings, t->scene.pose.Q);
            if (su_stepper_advance(&t->scene.stepper, &t->scene.pose, settings->step, &gravity, 0) != SU_STEP_OK)
                su_stepper_follow(&t->scene.stepper, &t->scene.pose, settings->step);
        }
        int64_t state = frame + 1 - (at->frame - AROUND);
        if (state >= 0) SU_TRY(collect(t, i, (int)state + 1, first, err));
    }
    return SU_OK;
}

static su_status train_pose(su_contact_training *t, int64_t i, su_error *err)
{
    double started = su_seconds();
    int64_t first = t->count;
    su_contact_scene_pose(&t->scene, t->plan->shot[t->frames[i].clip], t->frames[i].frame, 0, &t->scene.pose);
    t->report->failed += !come_to_rest(t);
    SU_TRY(collect(t, i, 0, first, err));
    SU_TRY(play_around(t, i, first, err));
    t->report->rest_seconds += su_seconds() - started;
    return select_pose(t, first, t->rows + (t->plan->direct ? first * t->r : 0), err);
}

/* ---- one set for all poses, for comparison ---- */

static int compare_met(const void *a, const void *b)
{
    const su_contact_met *p = a, *q = b;
    if (p->vertex != q->vertex) return p->vertex < q->vertex ? -1 : 1;
    if (p->triangle != q->triangle) return p->triangle < q->triangle ? -1 : 1;
    return (p->pose > q->pose) - (p->pose < q->pose);
}

static bool begins_pair(const su_contact_met *sorted, int64_t k)
{
    return k == 0 || sorted[k].vertex != sorted[k - 1].vertex || sorted[k].triangle != sorted[k - 1].triangle;
}

/* Columns of ASC eq. 12: a pair's forces at all poses, 0 where it does not press. */
static su_status try_direct(su_contact_training *t, su_error *err)
{
    int64_t rows = t->r * t->T, count = 0, all = 0;
    double *a = NULL, *b = NULL, *weight = NULL;
    su_contact_met *sorted = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&sorted, t->count, "contact pairs", err));
    for (int64_t k = 0; k < t->count; k++)
        if (t->met[k].state == 0) sorted[all] = t->met[k], sorted[all++].key = k;
    su_sort(sorted, (size_t)all, sizeof *sorted, compare_met);
    for (int64_t k = 0; k < all; k++) count += begins_pair(sorted, k);
    SU_GO(SU_ALLOC_ALL("contact pairs", err, SU_WANT(a, count * rows), SU_WANT(b, rows), SU_WANT(weight, count)));
    t->report->direct_of = count, count = -1;
    for (int64_t k = 0; k < all; k++) {
        count += begins_pair(sorted, k);
        for (int64_t i = 0; i < t->r; i++) {
            double f = t->rows[sorted[k].key * t->r + i];
            a[count * rows + sorted[k].pose * t->r + i] += f;
            b[sorted[k].pose * t->r + i] += f;
        }
    }
    for (int k = 0; k < 2 && all > 0; k++)
        SU_GO(su_pairs_select(&(su_column_sum){rows, count + 1, a, b}, DIRECT[k], weight, &t->report->direct[k],
                              &t->report->direct_error[k], err));
done:
    free(a), free(b), free(weight), free(sorted);
    return status;
}

su_status su_contact_train(const su_contact_plan *plan, su_pair_sets *out, su_contact_trained *report, su_error *err)
{
    su_contact_training t = {.plan = plan, .report = report, .n = plan->model->n, .r = plan->model->r};
    su_status status;
    *report = (su_contact_trained){0};
    SU_GO(su_contact_body_create(t.n, plan->model->vertices, plan->model->t, plan->model->tets, &t.body, err));
    SU_GO(SU_ALLOC_ALL("contact", err, SU_WANT(t.k, t.n), SU_WANT(t.slot, t.n)));
    su_contact_stiffness(&t.body, plan->fit->young, plan->fit->poisson, t.k);
    SU_GO(choose_frames(&t, err));
    SU_GO(find_domains(&t, err));
    SU_GO(choose_probes(&t, err));
    SU_GO(SU_ALLOC(&t.probes, 3 * t.T * t.D * SU_CONTACT_PROBES, "poses of domains", err));
    SU_GO(open_scene(&t, err));
    for (int64_t i = 0; i < t.T; i++) {
        SU_GO(train_pose(&t, i, err));
        SU_GO(su_progress_update(plan->progress, (double)(i + 1) / (double)t.T, err));
    }
    report->poses = t.T, report->domains = t.D;
    if (plan->direct) SU_GO(try_direct(&t, err));
    SU_GO(su_contact_sets_write(&t, out, err));
done:
    training_free(&t);
    return status;
}
