/* Clips: Trot, a loop; Stop, a run that ends in a hard stop and a shake; of the hound Scratch, which sits down and
 * scratches its belly; and of the calf Squat where that is wanted, which presses the belly between the thighs. Feet are
 * led along paths on the ground by two-bone inverse kinematics in the plane of each leg, whatever the body above them
 * does. */
#include "creature.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

typedef double quat[4]; /* x, y, z, w */

static void multiply(const quat a, const quat b, quat out)
{
    quat r = {
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]};
    memcpy(out, r, sizeof r);
}

static void rotate(const quat q, const double v[3], double out[3])
{
    double t[3], r[3];
    for (int a = 0; a < 3; a++) t[a] = 2 * (q[(a + 1) % 3] * v[(a + 2) % 3] - q[(a + 2) % 3] * v[(a + 1) % 3]);
    for (int a = 0; a < 3; a++)
        r[a] = v[a] + q[3] * t[a] + q[(a + 1) % 3] * t[(a + 2) % 3] - q[(a + 2) % 3] * t[(a + 1) % 3];
    memcpy(out, r, sizeof r);
}

static void about(int axis, double angle, quat out)
{
    memset(out, 0, sizeof(quat));
    out[axis] = sin(angle / 2);
    out[3] = cos(angle / 2);
}

/* Pitch (x, positive lowers the front), yaw (y, positive to the animal's left), roll (z), applied z first. Joints that
 * a character lacks are left out. */
static void set(const skeleton *s, pose *p, const char *name, double pitch, double yaw, double roll)
{
    quat x, y, z;
    int j = joint_find(s, name);
    if (j < 0) return;
    about(0, pitch, x);
    about(1, yaw, y);
    about(2, roll, z);
    multiply(x, z, x);
    multiply(y, x, p->rotation[j]);
}

static void set_pair(const skeleton *s, pose *p, const char *left, const char *right, double pitch, double yaw,
                     double roll)
{
    set(s, p, left, pitch, yaw, roll);
    set(s, p, right, pitch, -yaw, -roll);
}

/* World rotation and position of a joint. */
static void world(const skeleton *s, const pose *p, int j, quat turn, double at[3])
{
    double offset[3], moved[3];
    quat above;
    if (j < 0) {
        memcpy(turn, (quat){0, 0, 0, 1}, sizeof(quat));
        memset(at, 0, 3 * sizeof *at);
        return;
    }
    int parent = s->joints[j].parent;
    world(s, p, parent, above, at);
    for (int a = 0; a < 3; a++) offset[a] = s->joints[j].at[a] - (parent < 0 ? 0 : s->joints[parent].at[a]);
    if (strcmp(s->joints[j].name, "hips") == 0)
        for (int a = 0; a < 3; a++) offset[a] += p->move[a];
    rotate(above, offset, moved);
    for (int a = 0; a < 3; a++) at[a] += moved[a];
    multiply(above, p->rotation[j], turn);
}

/* Brings the ankle of a leg to `target` (world) by turning thigh and shin; the foot keeps its rest attitude, plus
 * `toe` about x. The rest pose decides which way the knee bends. */
static void reach(const skeleton *s, pose *p, const char *upper, const char *lower, const char *end,
                  const double target[3], double toe)
{
    int u = joint_find(s, upper), l = joint_find(s, lower), e = joint_find(s, end), parent = s->joints[u].parent;
    quat above, back, turn, x, z;
    double hip[3], goal[3], at[3];
    world(s, p, parent, above, at);
    const double arm[3] = {s->joints[u].at[0] - s->joints[parent].at[0], s->joints[u].at[1] - s->joints[parent].at[1],
                           s->joints[u].at[2] - s->joints[parent].at[2]};
    rotate(above, arm, hip);
    for (int a = 0; a < 3; a++) goal[a] = target[a] - at[a] - hip[a];
    for (int a = 0; a < 3; a++) back[a] = -above[a];
    back[3] = above[3];
    rotate(back, goal, goal); /* from the hip to the goal, in the parent's frame */

    double thigh[3], shin[3], rest[3];
    for (int a = 0; a < 3; a++) {
        thigh[a] = s->joints[l].at[a] - s->joints[u].at[a];
        shin[a] = s->joints[e].at[a] - s->joints[l].at[a];
        rest[a] = thigh[a] + shin[a];
    }
    /* Sideways first: the leg's plane leans so that it holds the goal. */
    double lean = atan2(goal[0], -goal[1]) - atan2(rest[0], -rest[1]);
    about(2, lean, z);
    double upright[3];
    rotate((quat){-z[0], -z[1], -z[2], z[3]}, goal, upright);

    double a = hypot(thigh[1], thigh[2]), b = hypot(shin[1], shin[2]), c = hypot(upright[1], upright[2]);
    c = fmin(c, 0.999 * (a + b));
    double knee = acos(fmin(fmax((a * a + b * b - c * c) / (2 * a * b), -1), 1));
    double rest_c = hypot(rest[1], rest[2]);
    double rest_knee = acos(fmin(fmax((a * a + b * b - rest_c * rest_c) / (2 * a * b), -1), 1));
    double sign = thigh[1] * shin[2] - thigh[2] * shin[1] > 0 ? 1 : -1; /* bending direction at rest */
    double hinge = sign * (rest_knee - knee);

    /* Where the ankle points with only the knee bent, against where it should. */
    double bent[3];
    about(0, hinge, x);
    rotate(x, shin, bent);
    double from = atan2(thigh[2] + bent[2], -(thigh[1] + bent[1])), to = atan2(upright[2], -upright[1]);
    memcpy(p->rotation[l], x, sizeof x);
    about(0, -(to - from), x);
    multiply(z, x, p->rotation[u]);

    world(s, p, l, turn, at);
    for (int k = 0; k < 3; k++) turn[k] = -turn[k];
    about(0, toe, x);
    multiply(turn, x, p->rotation[e]);
}

typedef struct leg {
    const char *upper, *lower, *end;
    double phase;
} leg;

/* Diagonal pairs move together. */
static const leg legs[4] = {{"arm.L", "forearm.L", "hand.L", 0},
                            {"arm.R", "forearm.R", "hand.R", 0.5},
                            {"thigh.L", "shin.L", "foot.L", 0.5},
                            {"thigh.R", "shin.R", "foot.R", 0}};

/* A foot on its round: the first half of a cycle it stands and is carried back, the second half it swings forward. */
static void step_feet(const skeleton *s, pose *p, double cycle, double stride, double lift, double forward)
{
    for (int i = 0; i < 4; i++) {
        const leg *l = &legs[i];
        double phase = 2 * pi * (cycle + l->phase), up = fmax(sin(phase), 0);
        double target[3];
        memcpy(target, s->joints[joint_find(s, l->end)].at, sizeof target);
        target[1] += lift * up * up;
        target[2] += forward - stride * cos(phase);
        reach(s, p, l->upper, l->lower, l->end, target, 6 * lift * up * up);
    }
}

static void rest_pose(const skeleton *s, pose *p)
{
    memset(p, 0, sizeof *p);
    for (int i = 0; i < s->count; i++) p->rotation[i][3] = 1;
}

/* What the body does in a trot, scaled by effort (0: stands). */
static void trot_body(const skeleton *s, pose *p, double cycle, double effort, double pitch, double roll, double yaw)
{
    double w = 2 * pi * cycle, e = effort;
    p->move[1] += e * (0.026 * cos(2 * w - 0.4) + 0.007 * cos(4 * w - 0.8) - 0.014);
    p->move[0] += e * 0.008 * sin(w);
    set(s, p, "hips", pitch + e * 0.035 * sin(2 * w), yaw + e * 0.05 * sin(w), roll + e * 0.04 * cos(w));
    set(s, p, "spine", -e * 0.02 * sin(2 * w), -e * 0.05 * sin(w), roll - e * 0.03 * cos(w));
    set(s, p, "chest", -e * 0.03 * sin(2 * w + 0.5), -e * 0.04 * sin(w), roll - e * 0.03 * cos(w));
    set(s, p, "neck", -0.3 * pitch - e * 0.06 * sin(2 * w + 0.9), e * 0.03 * sin(w), roll);
    set(s, p, "head", -0.7 * pitch + e * 0.07 * sin(2 * w + 1.6), e * 0.02 * sin(w), 0.6 * roll);
    set(s, p, "jaw", e * (0.06 + 0.05 * sin(2 * w)), 0, 0);
    set_pair(s, p, "ear.L", "ear.R", 0, 0, e * 0.12 * sin(2 * w - 0.8));
    set_pair(s, p, "ear.low.L", "ear.low.R", 0, 0, e * 0.10 * sin(2 * w - 1.6));
    set(s, p, "tail.1", 0.05 * e, 0.14 * e * sin(w - 0.5) - yaw, -0.8 * roll);
    set(s, p, "tail.2", 0, 0.16 * e * sin(w - 1.0), -0.5 * roll);
    set(s, p, "tail.3", 0, 0.18 * e * sin(w - 1.5), 0);
}

static void trot(const skeleton *s, double seconds, pose *p)
{
    double cycle = seconds / 1.2;
    rest_pose(s, p);
    trot_body(s, p, cycle, 1, 0, 0, 0);
    step_feet(s, p, cycle, 0.07, 0.06, 0);
}

/* 3.3 bounces a second, near to where a belly of 4 Hz answers. */
static void brisk_trot(const skeleton *s, double seconds, pose *p)
{
    double cycle = seconds / (18.0 / CREATURE_FPS); /* whole frames, so that it loops */
    rest_pose(s, p);
    trot_body(s, p, cycle, 1.3, 0, 0, 0);
    double w = 2 * pi * cycle; /* the head nods and rolls: ears and dewlap */
    set(s, p, "neck", 0.02 - 0.14 * sin(2 * w + 0.9), 0.04 * sin(w), 0.05 * sin(w + 0.4));
    set(s, p, "head", 0.17 * sin(2 * w + 1.6), 0.05 * sin(w), 0.16 * sin(w + 0.8));
    step_feet(s, p, cycle, 0.085, 0.07, 0);
}

/* 0 before a, 1 after b, smooth between. */
static double ramp(double a, double b, double t)
{
    double x = fmin(fmax((t - a) / (b - a), 0), 1);
    return x * x * x * (10 + x * (6 * x - 15));
}

static double bump(double a, double b, double c, double t) { return ramp(a, b, t) * (1 - ramp(b, c, t)); }

static void stop(const skeleton *s, double seconds, pose *p)
{
    const double speed = 1.3, brake = 0.75, halt = 1.0; /* m/s, s, s */
    double t = seconds, run = fmin(t, brake), slowing = fmin(fmax(t - brake, 0), halt - brake);
    /* Travel with the speed falling linearly while the brake is on; the pace of the legs falls with it. */
    double braked = slowing - 0.5 * slowing * slowing / (halt - brake);
    double way = speed * (run + braked), cycle = (run + braked) / 0.6;
    double effort = 1 - ramp(brake - 0.1, halt, t);

    double pitch = 0.16 * bump(brake - 0.05, halt - 0.02, halt + 0.4, t) - 0.05 * bump(halt, halt + 0.3, halt + 0.6, t);
    double surge = 0.045 * bump(brake, halt, halt + 0.45, t), crouch = 0.028 * bump(brake, halt + 0.05, halt + 0.5, t);
    double shaking = ramp(1.4, 1.7, t) * (1 - ramp(2.2, 2.6, t)), w = 2 * pi * 3.6 * (t - 1.4);

    rest_pose(s, p);
    p->move[1] = -crouch;
    p->move[2] = way + surge;
    trot_body(s, p, cycle, effort, pitch, 0, 0);
    /* The shake runs from the head down to the tail, a little later at each joint. */
    if (shaking > 0) {
        set(s, p, "head", 0.10 * shaking, 0.10 * shaking * sin(w + 0.5), 0.34 * shaking * sin(w + 0.6));
        set(s, p, "neck", 0.15 * shaking, 0, 0.24 * shaking * sin(w + 0.2));
        set(s, p, "chest", 0, 0, 0.13 * shaking * sin(w - 0.2));
        set(s, p, "spine", 0, 0, 0.12 * shaking * sin(w - 0.7));
        set(s, p, "hips", 0, 0.04 * shaking * sin(w - 1), 0.10 * shaking * sin(w - 1.1));
        set_pair(s, p, "ear.L", "ear.R", 0, 0, 0.12 * shaking);
        set(s, p, "tail.1", 0, 0.22 * shaking * sin(w - 1.6), 0);
        set(s, p, "tail.2", 0, 0.26 * shaking * sin(w - 2.1), 0);
        set(s, p, "tail.3", 0, 0.30 * shaking * sin(w - 2.6), 0);
        p->move[1] -= 0.012 * shaking;
    }
    step_feet(s, p, cycle, 0.075 * effort, 0.06 * effort, way);
}

/* Down in 0.8 s, a breath there, and up again; knees and elbows close, feet stand. */
static void squat(const skeleton *s, double seconds, pose *p)
{
    rest_pose(s, p);
    p->move[1] = -s->squat * bump(0.1, 0.9, 1.9, seconds);
    step_feet(s, p, 0.25, 0, 0, 0);
}

/* Sits down with a thump, scratches its belly with a hind foot, and puts the foot down. */
static void scratch(const skeleton *s, double seconds, pose *p)
{
    const double sink = 0.19, lean = -0.46; /* m, rad: hips down, chest up */
    double t = seconds, down = ramp(0.15, 0.75, t), up = ramp(0.95, 1.2, t) * (1 - ramp(2.3, 2.6, t));
    double going = ramp(1.15, 1.3, t) * (1 - ramp(2.15, 2.35, t)),
           w = 2 * pi * 5 * (t - 1.15); /* five strokes a second */
    rest_pose(s, p);
    p->move[1] = -sink * down + 0.006 * going * sin(w + 0.4);
    set(s, p, "hips", lean * down, 0.05 * up + 0.02 * going * sin(w), 0.07 * up + 0.035 * going * sin(w));
    set(s, p, "spine", 0.05 * down, -0.05 * up, 0.05 * up + 0.02 * going * sin(w - 0.4));
    set(s, p, "chest", 0.08 * down, -0.08 * up, -0.05 * up);
    set(s, p, "neck", 0.15 * down + 0.10 * up, -0.15 * up, 0.06 * going * sin(w - 0.8));
    set(s, p, "head", 0.10 * down + 0.12 * up, -0.25 * up, 0.20 * up + 0.10 * going * sin(w - 1));
    set(s, p, "jaw", 0.10 * up, 0, 0);
    set(s, p, "tail.1", -0.5 * down, 0.25 * sin(2 * pi * t) * down, 0);
    for (int i = 0; i < 4; i++) {
        const leg *l = &legs[i];
        int hind = i >= 2, right = i % 2;
        double target[3];
        memcpy(target, s->joints[joint_find(s, l->end)].at, sizeof target);
        if (hind) target[0] += (right ? -0.07 : 0.07) * down, target[2] += 0.13 * down; /* knees apart, feet under it */
        if (hind && right) {                                                            /* this foot scratches */
            target[0] += up * (-0.05 + 0.015 * going * sin(w));
            target[1] += up * (0.07 + 0.035 * going * sin(w));
            target[2] += up * (0.07 + 0.05 * going * cos(w));
        }
        reach(s, p, l->upper, l->lower, l->end, target, hind && right ? 0.5 * up : 0);
    }
}

const clip *creature_clips(const skeleton *s, int *count)
{
    static const clip calf[] = {{"Trot", 37, trot}, {"Stop", 85, stop}, {"Squat", 61, squat}};
    static const clip hound[] = {{"Trot", 55, brisk_trot}, {"Stop", 85, stop}, {"Scratch", 91, scratch}};
    *count = s->character == CREATURE_HOUND || s->squat > 0 ? 3 : 2;
    return s->character == CREATURE_HOUND ? hound : calf;
}
