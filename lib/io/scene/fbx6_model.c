#include "io/scene/fbx6_model.h"

#include "geometry/affine.h"

#include <math.h>
#include <string.h>

static void identity(double m[9])
{
    for (int i = 0; i < 9; i++) m[i] = i % 4 == 0;
}

void su_fbx6_turn(const double degrees[3], int order, double r[9])
{
    static const int axes[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 2, 0}, {1, 0, 2}, {2, 0, 1}, {2, 1, 0}};
    identity(r);
    for (int k = 0; k < 3; k++) {
        int axis = axes[order][k], u = (axis + 1) % 3, v = (axis + 2) % 3;
        double angle = degrees[axis] * M_PI / 180.0, one[9], before[9];
        identity(one);
        one[4 * u] = one[4 * v] = cos(angle);
        one[3 * u + v] = -sin(angle), one[3 * v + u] = sin(angle);
        memcpy(before, r, sizeof before);
        su_mul33(one, before, r);
    }
}

static void shift(double m[16], const double by[3], double sign)
{
    double step[16];
    su_affine_identity(step);
    for (int i = 0; i < 3; i++) step[4 * i + 3] = sign * by[i];
    su_affine_multiply(m, step, m);
}

static void turn(double m[16], const double linear[9])
{
    const double none[3] = {0, 0, 0};
    double step[16];
    su_affine_set(linear, none, step);
    su_affine_multiply(m, step, m);
}

void su_fbx6_local(const su_fbx6_model *model, const double *translation, const double *rotation, const double *scale,
                   double *local)
{
    const double(*p)[3] = model->pivots;
    double own[9], post[9], stretch[9] = {scale[0], 0, 0, 0, scale[1], 0, 0, 0, scale[2]};
    su_fbx6_turn(rotation, model->order, own);
    for (int i = 0; i < 9; i++) post[i] = model->post[3 * (i % 3) + i / 3];
    su_affine_identity(local);
    shift(local, translation, 1);
    shift(local, p[0], 1), shift(local, p[1], 1);
    turn(local, model->pre), turn(local, own), turn(local, post);
    shift(local, p[1], -1), shift(local, p[2], 1), shift(local, p[3], 1);
    turn(local, stretch);
    shift(local, p[3], -1);
}

void su_fbx6_read_model(const su_fbx6_node *object, su_fbx6_model *m)
{
    static const char *const pivots[4] = {"RotationOffset", "RotationPivot", "ScalingOffset", "ScalingPivot"};
    double active = 0, order = 0, pre[3] = {0}, post[3] = {0};
    *m = (su_fbx6_model){.object = object, .node = -1, .scale = {1, 1, 1}};
    su_fbx6_property(object, "Lcl Translation", 3, m->translation);
    su_fbx6_property(object, "Lcl Rotation", 3, m->rotation);
    su_fbx6_property(object, "Lcl Scaling", 3, m->scale);
    for (int i = 0; i < 4; i++) su_fbx6_property(object, pivots[i], 3, m->pivots[i]);
    su_fbx6_property(object, "RotationActive", 1, &active);
    if (active != 0.0) { /* else these do not count */
        su_fbx6_property(object, "PreRotation", 3, pre);
        su_fbx6_property(object, "PostRotation", 3, post);
        su_fbx6_property(object, "RotationOrder", 1, &order);
    }
    m->order = order >= 0 && order < 6 ? (int)order : 0;
    su_fbx6_turn(pre, 0, m->pre);
    su_fbx6_turn(post, 0, m->post);
}

const su_fbx6_model *su_fbx6_find_model(int64_t count, const su_fbx6_model *models, const char *name)
{
    for (int64_t i = 0; i < count; i++)
        if (strcmp(su_fbx6_text(models[i].object, 0), name) == 0) return &models[i];
    return NULL;
}
