/* The bodies: round cones and ellipsoids along the skeleton, joined by a polynomial smooth minimum. */
#include "creature.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct joint_row {
    const char *name, *parent;
    double at[3];
    int weighted, paired; /* paired: also mirrored, ".L" becomes ".R" */
} joint_row;

static const joint_row calf_joints[] = {
    {"carrier", NULL, {0, 0, 0}, 0, 0},
    {"hips", "carrier", {0, 0.50, -0.20}, 1, 0},
    {"spine", "hips", {0, 0.52, -0.02}, 1, 0},
    {"chest", "spine", {0, 0.53, 0.14}, 1, 0},
    {"neck", "chest", {0, 0.58, 0.27}, 1, 0},
    {"head", "neck", {0, 0.75, 0.36}, 1, 0},
    {"jaw", "head", {0, 0.755, 0.45}, 1, 0},
    {"jaw.tip", "jaw", {0, 0.715, 0.57}, 0, 0},
    {"ear.L", "head", {0.10, 0.925, 0.385}, 1, 1},
    {"ear.low.L", "ear.L", {0.245, 0.86, 0.375}, 1, 1},
    {"ear.tip.L", "ear.low.L", {0.285, 0.63, 0.37}, 0, 1},
    {"tail.1", "hips", {0, 0.50, -0.34}, 1, 0},
    {"tail.2", "tail.1", {0, 0.49, -0.45}, 1, 0},
    {"tail.3", "tail.2", {0, 0.47, -0.55}, 1, 0},
    {"tail.tip", "tail.3", {0, 0.50, -0.66}, 0, 0},
    {"arm.L", "chest", {0.13, 0.42, 0.225}, 1, 1},
    {"forearm.L", "arm.L", {0.142, 0.24, 0.17}, 1, 1},
    {"hand.L", "forearm.L", {0.145, 0.085, 0.235}, 1, 1},
    {"hand.tip.L", "hand.L", {0.145, 0.045, 0.315}, 0, 1},
    {"thigh.L", "hips", {0.13, 0.42, -0.245}, 1, 1},
    {"shin.L", "thigh.L", {0.15, 0.24, -0.18}, 1, 1},
    {"foot.L", "shin.L", {0.15, 0.085, -0.27}, 1, 1},
    {"foot.tip.L", "foot.L", {0.15, 0.045, -0.185}, 0, 1},
};

/* A part of the body: a round cone from a (radius ra) to b (radius rb), or an ellipsoid around a with half-axes b. */
typedef struct part {
    const char *joint;
    enum { CONE, ELLIPSOID } kind;
    double a[3], b[3], ra, rb;
    double blend; /* reach of the smooth union with what came before, m */
    int paired;
    int soft; /* fat, or an ear or tail without much inside */
} part;

static const part calf_parts[] = {
    {"hips", ELLIPSOID, {0, 0.47, -0.23}, {0.185, 0.18, 0.18}, 0, 0, 0.10, 0, 0},
    {"chest", ELLIPSOID, {0, 0.49, 0.18}, {0.165, 0.165, 0.17}, 0, 0, 0.10, 0, 0},
    {"spine", ELLIPSOID, {0, 0.385, 0}, {0.255, 0.24, 0.26}, 0, 0, 0.10, 0, 1}, /* the belly */
    {"neck", CONE, {0, 0.57, 0.24}, {0, 0.75, 0.35}, 0.115, 0.095, 0.08, 0, 0},
    {"head", ELLIPSOID, {0, 0.845, 0.41}, {0.14, 0.125, 0.15}, 0, 0, 0.06, 0, 0},
    {"head", CONE, {0, 0.815, 0.47}, {0, 0.79, 0.595}, 0.085, 0.07, 0.05, 0, 0}, /* the snout */
    {"jaw", CONE, {0, 0.755, 0.45}, {0, 0.725, 0.56}, 0.05, 0.042, 0.03, 0, 0},
    {"neck", ELLIPSOID, {0, 0.61, 0.385}, {0.045, 0.115, 0.075}, 0, 0, 0.05, 0, 1},      /* the dewlap */
    {"head", ELLIPSOID, {0.055, 0.925, 0.485}, {0.038, 0.038, 0.038}, 0, 0, 0.02, 1, 0}, /* brows */
    {"ear.L", CONE, {0.09, 0.925, 0.385}, {0.19, 0.93, 0.38}, 0.035, 0.042, 0.035, 1, 1},
    {"ear.L", CONE, {0.19, 0.93, 0.38}, {0.255, 0.85, 0.375}, 0.042, 0.05, 0.02, 1, 1},
    {"ear.low.L", CONE, {0.255, 0.85, 0.375}, {0.29, 0.67, 0.37}, 0.052, 0.07, 0.02, 1, 1},
    {"tail.1", CONE, {0, 0.50, -0.33}, {0, 0.49, -0.45}, 0.115, 0.09, 0.08, 0, 1},
    {"tail.2", CONE, {0, 0.49, -0.45}, {0, 0.47, -0.55}, 0.09, 0.068, 0.03, 0, 1},
    {"tail.3", CONE, {0, 0.47, -0.55}, {0, 0.50, -0.64}, 0.068, 0.042, 0.03, 0, 1},
    {"arm.L", CONE, {0.125, 0.43, 0.225}, {0.142, 0.24, 0.17}, 0.10, 0.07, 0.05, 1, 0},
    {"forearm.L", CONE, {0.142, 0.24, 0.17}, {0.145, 0.085, 0.235}, 0.07, 0.058, 0.02, 1, 0},
    {"hand.L", ELLIPSOID, {0.147, 0.052, 0.26}, {0.068, 0.052, 0.088}, 0, 0, 0.03, 1, 0},
    {"thigh.L", CONE, {0.13, 0.42, -0.245}, {0.15, 0.24, -0.18}, 0.12, 0.08, 0.05, 1, 0},
    {"shin.L", CONE, {0.15, 0.24, -0.18}, {0.15, 0.085, -0.27}, 0.078, 0.06, 0.02, 1, 0},
    {"foot.L", ELLIPSOID, {0.152, 0.052, -0.24}, {0.07, 0.052, 0.09}, 0, 0, 0.03, 1, 0},
};

/* Ears, dewlap and belly hang free: one joint in the middle of the head turns both ears, so that no bone runs through
 * them. */
static const joint_row hound_joints[] = {
    {"carrier", NULL, {0, 0, 0}, 0, 0},
    {"hips", "carrier", {0, 0.50, -0.20}, 1, 0},
    {"spine", "hips", {0, 0.53, -0.02}, 1, 0},
    {"chest", "spine", {0, 0.54, 0.14}, 1, 0},
    {"neck", "chest", {0, 0.59, 0.27}, 1, 0},
    {"head", "neck", {0, 0.76, 0.36}, 1, 0},
    {"jaw", "head", {0, 0.755, 0.45}, 1, 0},
    {"jaw.tip", "jaw", {0, 0.715, 0.57}, 0, 0},
    {"ears", "head", {0, 0.87, 0.385}, 1, 0},
    {"tail.1", "hips", {0, 0.50, -0.34}, 1, 0},
    {"tail.2", "tail.1", {0, 0.53, -0.45}, 1, 0},
    {"tail.3", "tail.2", {0, 0.59, -0.54}, 1, 0},
    {"tail.tip", "tail.3", {0, 0.68, -0.60}, 0, 0},
    {"arm.L", "chest", {0.13, 0.42, 0.225}, 1, 1},
    {"forearm.L", "arm.L", {0.142, 0.24, 0.17}, 1, 1},
    {"hand.L", "forearm.L", {0.145, 0.085, 0.235}, 1, 1},
    {"hand.tip.L", "hand.L", {0.145, 0.045, 0.315}, 0, 1},
    {"thigh.L", "hips", {0.13, 0.42, -0.245}, 1, 1},
    {"shin.L", "thigh.L", {0.15, 0.24, -0.18}, 1, 1},
    {"foot.L", "shin.L", {0.15, 0.085, -0.27}, 1, 1},
    {"foot.tip.L", "foot.L", {0.15, 0.045, -0.185}, 0, 1},
};

static const part hound_parts[] = {
    {"hips", ELLIPSOID, {0, 0.47, -0.23}, {0.19, 0.18, 0.18}, 0, 0, 0.10, 0, 0},
    {"chest", ELLIPSOID, {0, 0.49, 0.18}, {0.17, 0.165, 0.17}, 0, 0, 0.10, 0, 0},
    {"spine", ELLIPSOID, {0, 0.375, -0.01}, {0.27, 0.255, 0.27}, 0, 0, 0.10, 0, 1}, /* the belly */
    {"neck", CONE, {0, 0.57, 0.24}, {0, 0.75, 0.35}, 0.12, 0.10, 0.08, 0, 0},
    {"head", ELLIPSOID, {0, 0.845, 0.41}, {0.135, 0.12, 0.15}, 0, 0, 0.06, 0, 0},
    {"head", CONE, {0, 0.815, 0.47}, {0, 0.79, 0.60}, 0.085, 0.068, 0.05, 0, 0}, /* the snout */
    {"jaw", CONE, {0, 0.755, 0.45}, {0, 0.725, 0.56}, 0.052, 0.042, 0.03, 0, 0},
    {"neck", ELLIPSOID, {0, 0.545, 0.425}, {0.10, 0.15, 0.115}, 0, 0, 0.05, 0, 1},       /* the dewlap */
    {"head", ELLIPSOID, {0.055, 0.925, 0.485}, {0.038, 0.038, 0.038}, 0, 0, 0.02, 1, 0}, /* brows */
    {"ears", CONE, {0.08, 0.90, 0.385}, {0.165, 0.90, 0.385}, 0.045, 0.048, 0.035, 1, 1},
    {"ears", CONE, {0.165, 0.90, 0.385}, {0.225, 0.80, 0.38}, 0.048, 0.055, 0.02, 1, 1},
    {"ears", CONE, {0.225, 0.80, 0.38}, {0.265, 0.56, 0.37}, 0.055, 0.085, 0.02, 1, 1},
    {"tail.1", CONE, {0, 0.50, -0.33}, {0, 0.53, -0.45}, 0.095, 0.07, 0.08, 0, 1},
    {"tail.2", CONE, {0, 0.53, -0.45}, {0, 0.59, -0.54}, 0.07, 0.055, 0.03, 0, 1},
    {"tail.3", CONE, {0, 0.59, -0.54}, {0, 0.68, -0.60}, 0.055, 0.036, 0.03, 0, 1},
    {"arm.L", CONE, {0.125, 0.43, 0.225}, {0.142, 0.24, 0.17}, 0.10, 0.07, 0.05, 1, 0},
    {"forearm.L", CONE, {0.142, 0.24, 0.17}, {0.145, 0.085, 0.235}, 0.07, 0.058, 0.02, 1, 0},
    {"hand.L", ELLIPSOID, {0.147, 0.052, 0.26}, {0.068, 0.052, 0.088}, 0, 0, 0.03, 1, 0},
    {"thigh.L", CONE, {0.13, 0.42, -0.245}, {0.15, 0.24, -0.18}, 0.12, 0.08, 0.05, 1, 0},
    {"shin.L", CONE, {0.15, 0.24, -0.18}, {0.15, 0.085, -0.27}, 0.078, 0.06, 0.02, 1, 0},
    {"foot.L", ELLIPSOID, {0.152, 0.052, -0.24}, {0.07, 0.052, 0.09}, 0, 0, 0.03, 1, 0},
};

struct body {
    const joint_row *joints;
    const part *parts;
    int joint_count, part_count;
};
#define COUNT(table) (int)(sizeof(table) / sizeof *(table))
static const body bodies[] = {
    [CREATURE_CALF] = {calf_joints, calf_parts, COUNT(calf_joints), COUNT(calf_parts)},
    [CREATURE_HOUND] = {hound_joints, hound_parts, COUNT(hound_joints), COUNT(hound_parts)},
};

static void mirror_name(const char *name, char out[24])
{
    snprintf(out, 24, "%s", name);
    size_t length = strlen(out);
    if (length > 2 && strcmp(out + length - 2, ".L") == 0) out[length - 1] = 'R';
}

int joint_find(const skeleton *s, const char *name)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->joints[i].name, name) == 0) return i;
    return -1;
}

static void add_joint(skeleton *out, const joint_row *row, int mirrored)
{
    char parent[24] = "";
    joint *j = &out->joints[out->count];
    if (row->parent) snprintf(parent, sizeof parent, "%s", row->parent);
    snprintf(j->name, sizeof j->name, "%s", row->name);
    memcpy(j->at, row->at, sizeof j->at);
    if (mirrored) {
        mirror_name(row->name, j->name);
        mirror_name(row->parent, parent);
        j->at[0] = -j->at[0];
    }
    j->parent = row->parent ? joint_find(out, parent) : -1;
    j->weighted = row->weighted;
    out->count++;
}

void skeleton_make(character which, skeleton *out)
{
    const body *b = &bodies[which];
    *out = (skeleton){.character = which, .body = b};
    for (int i = 0; i < b->joint_count; i++) {
        add_joint(out, &b->joints[i], 0);
        if (b->joints[i].paired) add_joint(out, &b->joints[i], 1);
    }
}

/* ---- distances ---- */

static double dot3(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* A segment with a radius that runs linearly from end to end; close enough to a distance for our purpose. */
static double cone_distance(const part *p, const double at[3])
{
    double along[3], from[3];
    for (int k = 0; k < 3; k++) along[k] = p->b[k] - p->a[k], from[k] = at[k] - p->a[k];
    double t = dot3(from, along) / dot3(along, along);
    t = t > 0 ? t < 1 ? t : 1 : 0;
    for (int k = 0; k < 3; k++) from[k] -= t * along[k];
    return sqrt(dot3(from, from)) - (p->ra + t * (p->rb - p->ra));
}

/* First-order distance to an ellipsoid: value over gradient length of |x/r| - 1. */
static double ellipsoid_distance(const part *p, const double at[3])
{
    double unit[3], slope[3];
    for (int k = 0; k < 3; k++) {
        unit[k] = (at[k] - p->a[k]) / p->b[k];
        slope[k] = unit[k] / p->b[k];
    }
    double length = sqrt(dot3(unit, unit)), steep = sqrt(dot3(slope, slope));
    if (steep < 1e-12) return -fmin(p->b[0], fmin(p->b[1], p->b[2]));
    return length * (length - 1) / steep;
}

static double part_distance(const part *p, const double at[3], int mirrored)
{
    double x[3] = {mirrored ? -at[0] : at[0], at[1], at[2]};
    return p->kind == CONE ? cone_distance(p, x) : ellipsoid_distance(p, x);
}

/* Cubic smooth minimum: differs from min only where |a - b| < reach; twice continuously differentiable. */
static double smooth_min(double a, double b, double reach)
{
    double apart = fabs(a - b), least = a < b ? a : b;
    if (apart >= reach) return least;
    double h = (reach - apart) / reach;
    return least - h * h * h * reach / 6;
}

/* Is a part's distance at least `least`, > 0? True only where that shows without it: a cone lies within a ball around
 * its middle; with u = |x/r| an ellipsoid's distance (u - 1) |x/r| / |x/r^2| is at least (|x|/r_max - 1) r_min. */
static bool farther(const part *p, const double at[3], int mirrored, double least)
{
    double x[3] = {(mirrored ? -at[0] : at[0]) - p->a[0], at[1] - p->a[1], at[2] - p->a[2]};
    if (!(least > 0)) return false;
    if (p->kind == CONE) {
        double reach = (p->ra > p->rb ? p->ra : p->rb) + least;
        for (int k = 0; k < 3; k++) {
            double half = 0.5 * (p->b[k] - p->a[k]);
            x[k] -= half, reach += fabs(half);
        }
        return dot3(x, x) > reach * reach;
    }
    double low = p->b[0] < p->b[1] ? p->b[0] : p->b[1], high = p->b[0] < p->b[1] ? p->b[1] : p->b[0];
    low = p->b[2] < low ? p->b[2] : low, high = p->b[2] > high ? p->b[2] : high;
    double reach = high * (low + least);
    return dot3(x, x) * low * low > reach * reach;
}

/* What a part makes of the distance to those before; a smooth minimum leaves that alone where the part is farther by
 * its reach. */
static double join(const part *p, const double at[3], int mirrored, double d)
{
    return farther(p, at, mirrored, d + p->blend) ? d : smooth_min(d, part_distance(p, at, mirrored), p->blend);
}

double shape_distance(const body *b, const double at[3])
{
    double d = part_distance(&b->parts[0], at, 0);
    for (int i = 1; i < b->part_count; i++) {
        d = join(&b->parts[i], at, 0, d);
        if (b->parts[i].paired) d = join(&b->parts[i], at, 1, d);
    }
    return d;
}

void shape_gradient(const body *b, const double at[3], double gradient[3])
{
    const double step = 1e-5;
    for (int k = 0; k < 3; k++) {
        double high[3] = {at[0], at[1], at[2]}, low[3] = {at[0], at[1], at[2]};
        high[k] += step;
        low[k] -= step;
        gradient[k] = (shape_distance(b, high) - shape_distance(b, low)) / (2 * step);
    }
}

void shape_joint_distances(const skeleton *s, const double at[3], double *distances)
{
    const body *b = s->body;
    for (int i = 0; i < s->count; i++) distances[i] = 1e3;
    for (int i = 0; i < b->part_count; i++) {
        for (int side = 0; side <= b->parts[i].paired; side++) {
            char name[24];
            snprintf(name, sizeof name, "%s", b->parts[i].joint);
            if (side) mirror_name(b->parts[i].joint, name);
            int j = joint_find(s, name);
            distances[j] = fmin(distances[j], part_distance(&b->parts[i], at, side));
        }
    }
}

double shape_firmness(const body *b, const double at[3])
{
    double soft = 1e3, firm = 1e3;
    for (int i = 0; i < b->part_count; i++)
        for (int side = 0; side <= b->parts[i].paired; side++) {
            double d = part_distance(&b->parts[i], at, side);
            if (b->parts[i].soft)
                soft = fmin(soft, d);
            else
                firm = fmin(firm, d);
        }
    double t = fmin(fmax((soft - firm) / 0.08 + 0.5, 0), 1); /* the border is some centimetres wide */
    double back = fmin(fmax((at[1] - 0.44) / 0.12, 0), 1) * (fabs(at[2]) < 0.3 && fabs(at[0]) < 0.3);
    t = fmax(t, back); /* the belly does not reach up to the spine */
    return t * t * (3 - 2 * t);
}

/* To the nearest part of a joint. */
static double joint_distance(const body *b, const char *name, const double at[3])
{
    double least = 1e3;
    for (int i = 0; i < b->part_count; i++)
        for (int side = 0; strcmp(b->parts[i].joint, name) == 0 && side <= b->parts[i].paired; side++)
            least = fmin(least, part_distance(&b->parts[i], at, side));
    return least;
}

static void mix(double share, const double other[3], double colour[3])
{
    for (int k = 0; k < 3; k++) colour[k] += share * (other[k] - colour[k]);
}

/* 0 below a, 1 above b, smooth between. */
static double between(double a, double b, double x)
{
    double t = fmin(fmax((x - a) / (b - a), 0), 1);
    return t * t * (3 - 2 * t);
}

/* The calf is paler below; the hound has a short coat over pink skin that shows on the belly and the snout, dark ears,
 * nose and eyes. Linear light. */
void shape_colour(const skeleton *s, const double at[3], const double normal[3], float colour[3])
{
    if (s->character == CREATURE_CALF) {
        double pale = fmin(fmax(0.55 - 0.9 * normal[1] - 0.9 * (at[1] - 0.35), 0), 1);
        for (int k = 0; k < 3; k++) colour[k] = (float)(pale + (1 - pale) * (k == 2 ? 0.75 : k == 1 ? 0.8 : 0.85));
        return;
    }
    static const double coat[3] = {0.58, 0.29, 0.17}, bare[3] = {0.86, 0.47, 0.40}, ear[3] = {0.30, 0.11, 0.07},
                        dark[3] = {0.03, 0.02, 0.02}, pale[3] = {0.85, 0.66, 0.55};
    double out[3] = {coat[0], coat[1], coat[2]}, side = fabs(at[0]);
    mix(between(0.2, 0.8, 0.5 - 0.75 * normal[1] - 1.4 * (at[1] - 0.36)), bare, out); /* from the flanks down */
    mix(between(0.15, 0.05, at[1]), pale, out);                                       /* socks */
    mix(between(0.50, 0.56, at[2]), bare, out);                                       /* the snout */
    mix(between(0.012, 0.002, joint_distance(s->body, "ears", at)), ear, out);
    double nose = hypot(hypot(at[0], at[1] - 0.83), at[2] - 0.66);
    mix(between(0.052, 0.038, nose), dark, out);
    double eye = hypot(hypot(side - 0.062, at[1] - 0.915), at[2] - 0.522);
    mix(between(0.026, 0.018, eye), dark, out);
    for (int k = 0; k < 3; k++) colour[k] = (float)out[k];
}

void shape_bounds(const body *b, double low[3], double high[3])
{
    for (int k = 0; k < 3; k++) low[k] = 1e3, high[k] = -1e3;
    for (int i = 0; i < b->part_count; i++) {
        const part *p = &b->parts[i];
        for (int k = 0; k < 3; k++) {
            double l = p->kind == CONE ? fmin(p->a[k] - p->ra, p->b[k] - p->rb) : p->a[k] - p->b[k];
            double h = p->kind == CONE ? fmax(p->a[k] + p->ra, p->b[k] + p->rb) : p->a[k] + p->b[k];
            if (p->paired && k == 0) l = fmin(l, -h), h = fmax(h, -l);
            low[k] = fmin(low[k], l - p->blend);
            high[k] = fmax(high[k], h + p->blend);
        }
    }
}
