/* A motion on another skeleton: other names, axes, size, unit and rest pose; joints end up where those of the other do.
 */
#include "geometry/affine.h"
#include "geometry/rotation.h"
#include "rig/borrowed_clip.h"
#include "rig/human_bones.h"
#include "rig/skinning.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { BONES = 21, KEYS = 13 };

/* A body: names in two programs' ways and VRM's, and where joints are with spread arms. */
static const struct {
    const char *name, *other, *human;
    int32_t parent;
    double x[3];
} body[BONES] = {
    {"Armature", "root", "", -1, {0, 0, 0}},
    {"rig:Hips", "pelvis", "hips", 0, {0, 1, 0}},
    {"rig:Spine", "spine_01", "spine", 1, {0, 1.1, 0}},
    {"rig:Spine1", "spine_02", "chest", 2, {0, 1.25, 0.01}},
    {"rig:Neck", "neck_01", "neck", 3, {0, 1.45, 0}},
    {"rig:Head", "head", "head", 4, {0, 1.55, 0.02}},
    {"rig:LeftShoulder", "clavicle_l", "leftShoulder", 3, {0.05, 1.4, 0}},
    {"rig:LeftArm", "upperarm_l", "leftUpperArm", 6, {0.2, 1.4, 0}},
    {"rig:LeftForeArm", "lowerarm_l", "leftLowerArm", 7, {0.45, 1.4, -0.02}},
    {"rig:LeftHand", "hand_l", "leftHand", 8, {0.7, 1.4, 0}},
    {"rig:LeftHandIndex1", "index_01_l", "leftIndexProximal", 9, {0.78, 1.4, 0.02}},
    {"rig:LeftHandIndex2", "index_02_l", "leftIndexDistal", 10, {0.81, 1.4, 0.02}},
    {"rig:RightShoulder", "clavicle_r", "rightShoulder", 3, {-0.05, 1.4, 0}},
    {"rig:RightArm", "upperarm_r", "rightUpperArm", 12, {-0.2, 1.4, 0}},
    {"rig:RightForeArm", "lowerarm_r", "rightLowerArm", 13, {-0.45, 1.4, -0.02}},
    {"rig:LeftUpLeg", "thigh_l", "leftUpperLeg", 1, {0.1, 0.95, 0}},
    {"rig:LeftLeg", "calf_l", "leftLowerLeg", 15, {0.1, 0.5, 0.02}},
    {"rig:LeftFoot", "foot_l", "leftFoot", 16, {0.1, 0.08, -0.02}},
    {"rig:RightUpLeg", "thigh_r", "rightUpperLeg", 1, {-0.1, 0.95, 0}},
    {"rig:RightLeg", "calf_r", "rightLowerLeg", 18, {-0.1, 0.5, 0.02}},
    {"rig:RightFoot", "foot_r", "rightFoot", 19, {-0.1, 0.08, -0.02}},
};

static double wave(int a, int b) { return sin(12.9898 * a + 78.233 * b + 1.0); }

static void rotation_by(double x, double y, double z, double r[9])
{
    double q[4];
    su_quaternion_exp((const double[3]){x, y, z}, q);
    su_quaternion_matrix(q, r);
}

/* Where joints are with hanging arms: arms turned about the shoulders by `hang` rad, forearms by half of it more. */
static void hang_arms(double hang, double x[BONES][3])
{
    for (int i = 0; i < BONES; i++) memcpy(x[i], body[i].x, sizeof x[i]);
    for (int side = 0; side < 2; side++)
        for (int part = 0; part < 2; part++) {
            int joint = (side ? 13 : 7) + part;
            double r[9];
            rotation_by(0, 0, (side ? hang : -hang) * (part ? 0.5 : 1), r);
            for (int i = joint + 1; i < BONES; i++) {
                int up = i;
                while (up > joint) up = body[up].parent;
                if (up != joint) continue;
                double d[3];
                su_sub3(x[i], x[joint], d);
                su_mulv3(r, d, d);
                for (int k = 0; k < 3; k++) x[i][k] = x[joint][k] + d[k];
            }
        }
}

/* A scene of joints at `turn` x times `size`, each with axes of its own (`odd`), feet on the root where they are led;
 * names 0, 1: of body, 2, 3: that say nothing. */
static void make_scene(su_scene *scene, su_scene_node *node, const double x[BONES][3], const double turn[9],
                       double size, double odd, int names, bool led)
{
    double world[BONES][16];
    *scene = (su_scene){.format = "test", .up = -1, .nodes = BONES, .node = node};
    for (int i = 0; i < BONES; i++) {
        double r[9], rt[9], place[3], above[16];
        rotation_by(odd * wave(i, 1), odd * wave(i, 2), odd * wave(i, 3), r);
        su_mul33(turn, r, rt);
        su_mulv3(turn, x[i], place);
        for (int k = 0; k < 3; k++) place[k] *= size;
        su_affine_set(rt, place, world[i]);
        static const char *const strange[2] = {"ABCDEFGHIJKLMNOPQRSTU", "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u."};
        const char *name[] = {body[i].name, body[i].other, strange[0] + i, strange[1] + 2 * i};
        node[i] =
            (su_scene_node){.name = name[names], .human = names > 1 ? body[i].human : NULL, .parent = body[i].parent};
        if (led && strstr(body[i].human, "Foot")) node[i].parent = 0;
        memcpy(node[i].local, world[i], sizeof world[i]);
        if (node[i].parent < 0) continue;
        su_affine_inverse(world[node[i].parent], above);
        su_affine_multiply(above, world[i], node[i].local);
    }
}

typedef struct motion {
    su_scene_clip clip;
    su_scene_channel channel[BONES];
    double times[KEYS], rotation[BONES][KEYS][4], translation[KEYS][3];
} motion;

/* Every joint turns, the hips go. */
static void make_motion(motion *m, double size)
{
    m->clip = (su_scene_clip){.name = "dance", .channel = m->channel, .channels = BONES - 1, .end = 0.4};
    for (int k = 0; k < KEYS; k++) m->times[k] = k / 30.0;
    for (int i = 1; i < BONES; i++) {
        for (int k = 0; k < KEYS; k++)
            su_quaternion_exp((const double[3]){0.5 * wave(i, 4) * sin(0.4 * k + i), 0.4 * wave(i, 5) * cos(0.3 * k),
                                                0.6 * wave(i, 6) * sin(0.5 * k)},
                              m->rotation[i][k]);
        m->channel[i - 1] =
            (su_scene_channel){.node = i, .rotations = KEYS, .rotation_times = m->times, .rotation = m->rotation[i][0]};
    }
    for (int k = 0; k < KEYS; k++)
        for (int j = 0; j < 3; j++)
            m->translation[k][j] = size * (body[1].x[j] + 0.1 * k * (j == 2) + 0.03 * wave(k, j));
    m->channel[0].translations = KEYS, m->channel[0].translation_times = m->times;
    m->channel[0].translation = m->translation[0];
}

/* The clip on a body that is turned by 90 degrees, a hundredth as large and otherwise hung: joints are where those of
 * the other are, in its size. How a hand rolled about a forearm that hung is not known to the last digit. */
static void check(int names, double hang, double odd, bool human, bool led)
{
    const double upright[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, laid[9] = {0, 0, 1, 1, 0, 0, 0, 1, 0};
    const double size = 0.013;
    su_scene from, scene;
    su_scene_node there[BONES], here[BONES];
    su_scene_clip out;
    su_borrowed report;
    motion m;
    double x[BONES][3], then[BONES][16], now[BONES][16];
    hang_arms(0, x);
    make_scene(&from, there, x, upright, 1, 0, names == 3 ? 2 : 0, false);
    hang_arms(hang, x);
    make_scene(&scene, here, x, laid, size, odd, names, led);
    scene.up = 2;
    make_motion(&m, 1);
    assert_int_equal(su_borrow_clip(&from, &m.clip, &scene, &out, &report, NULL), SU_OK);
    assert_true(report.turned && report.human == human);
    assert_int_equal(report.joints, BONES - 1);
    assert_int_equal(report.missing, 0);
    assert_true(fabs(report.size - size) < 1e-12);
    for (int k = 0; k < KEYS; k++) {
        su_scene_pose(&from, &m.clip, m.times[k], then[0]);
        su_scene_pose(&scene, &out, m.times[k], now[0]);
        for (int i = 1; i < BONES; i++) {
            double a[3], b[3];
            su_affine_translation(then[i], a);
            su_affine_translation(now[i], b);
            su_mulv3(laid, a, a);
            for (int j = 0; j < 3; j++)
                if (!(fabs(b[j] - size * a[j]) < size * (hang > 0 && i > 9 && i < 12 ? 1e-3 : 1e-10)))
                    fail_msg("%s at key %d: %g, %g", body[i].name, k, b[j], size * a[j]);
        }
    }
    su_arena_free(&scene.arena);
}

static void test_other_names(void **unused)
{
    (void)unused;
    check(1, 0, 0, true, false);
    check(1, 0, 1.5, true, false);
    check(1, 1.2, 1.5, true, false);
}

/* Feet that hang on the root, as targets of IK do, stay on the legs. */
static void test_feet_beside_their_legs(void **unused)
{
    (void)unused;
    check(1, 1.2, 1.5, true, true);
    check(0, 0, 1.5, false, true);
}

static void test_bones_that_the_file_names(void **unused)
{
    (void)unused;
    check(3, 0.8, 1.5, true, false);
}

static void test_same_names_other_axes(void **unused)
{
    (void)unused;
    check(0, 0, 1.5, false, false);
    check(0, 1.2, 1.5, false, false);
}

/* Two bodies that stand alike, joints of both with the same axes, and a motion of the first. */
typedef struct alike {
    su_scene from, scene;
    su_scene_node there[BONES], here[BONES];
    su_scene_clip out;
    su_borrowed report;
    motion m;
} alike;

static void make_alike(alike *a, double odd, int names)
{
    const double upright[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double x[BONES][3];
    hang_arms(0, x);
    make_scene(&a->from, a->there, x, upright, 1, odd, 0, false);
    make_scene(&a->scene, a->here, x, upright, 1, odd, names, false);
    make_motion(&a->m, 1);
}

static void test_same_axes_stay_as_they_were(void **unused)
{
    (void)unused;
    alike a;
    make_alike(&a, 1.5, 0);
    assert_int_equal(su_borrow_clip(&a.from, &a.m.clip, &a.scene, &a.out, &a.report, NULL), SU_OK);
    assert_true(!a.report.turned && !a.report.human);
    for (int i = 1; i < BONES; i++)
        assert_memory_equal(a.out.channel[i - 1].rotation, a.m.rotation[i], sizeof a.m.rotation[i]);
    su_arena_free(&a.scene.arena);
}

/* A tail is no human: names that are not there are refused, as they were. */
static void test_no_human(void **unused)
{
    (void)unused;
    alike a;
    su_error err = {0};
    make_alike(&a, 0, 1);
    for (int i = 0; i < BONES; i++) a.here[i].name = "tail";
    assert_int_equal(su_borrow_clip(&a.from, &a.m.clip, &a.scene, &a.out, &a.report, &err), SU_INPUT);
    assert_non_null(strstr(err.text, "moves nothing of the character"));
    su_arena_free(&a.scene.arena);
}

/* A clip that moves nothing of a human says nothing of one. */
static void test_still_human(void **unused)
{
    (void)unused;
    alike a;
    make_alike(&a, 0, 1);
    a.m.clip.channels = 2; /* hips and spine */
    assert_int_equal(su_borrow_clip(&a.from, &a.m.clip, &a.scene, &a.out, &a.report, NULL), SU_INPUT);
    su_arena_free(&a.scene.arena);
    a.m.clip.channels = 0;
    su_scene_morph_channel smile = {.node = 1, .keys = 0};
    a.m.clip.morph_channel = &smile, a.m.clip.morph_channels = 1;
    a.here[3].name = body[1].name;
    assert_int_equal(su_borrow_clip(&a.from, &a.m.clip, &a.scene, &a.out, &a.report, NULL), SU_OK);
    assert_true(a.out.channels == 0 && a.out.morph_channels == 1 && a.out.morph_channel[0].node == 3);
    su_arena_free(&a.scene.arena);
}

static su_human_bone bone_called(int64_t nodes, const char *const *names, const int32_t *parent, const char *name)
{
    su_arena arena = {0};
    su_human_bone bone[64], none = {0};
    bool human;
    assert_int_equal(su_human_bones_find(nodes, names, parent, &arena, bone, &human, NULL), SU_OK);
    su_arena_free(&arena);
    for (int64_t i = 0; i < nodes && human; i++)
        if (names[i] && strcmp(names[i], name) == 0) return bone[i];
    return none;
}

/* Programs' ways to name one body: a word in front of all, sides in front or behind, thighs that are hips, twists and
 * controls that are none. */
static void test_names(void **unused)
{
    (void)unused;
    static const int32_t parent[] = {-1, 0, 1, 2, 3, 2, 5, 6, 2, 8, 9, 1, 11, 12, 1, 14, 15, 6, 7};
    static const char *const ways[][19] = {
        {"Bip01", "Bip01 Pelvis", "Bip01 Spine", "Bip01 Neck", "Bip01 Head", "Bip01 L Clavicle", "Bip01 L UpperArm",
         "Bip01 L Forearm", "Bip01 R Clavicle", "Bip01 R UpperArm", "Bip01 R Forearm", "Bip01 L Thigh", "Bip01 L Calf",
         "Bip01 L Foot", "Bip01 R Thigh", "Bip01 R Calf", "Bip01 R Foot", "Bip01 L ForeTwist", "Bip01 L Hand"},
        {"CC_Base_BoneRoot", "CC_Base_Hip", "CC_Base_Waist", "CC_Base_NeckTwist01", "CC_Base_Head",
         "CC_Base_L_Clavicle", "CC_Base_L_Upperarm", "CC_Base_L_Forearm", "CC_Base_R_Clavicle", "CC_Base_R_Upperarm",
         "CC_Base_R_Forearm", "CC_Base_L_Thigh", "CC_Base_L_Calf", "CC_Base_L_Foot", "CC_Base_R_Thigh",
         "CC_Base_R_Calf", "CC_Base_R_Foot", "CC_Base_L_UpperarmTwist01", "CC_Base_L_Hand"},
        {"rig", "Hips", "Spine", "Neck", "Head", "Left shoulder", "Left arm", "Left elbow", "Right shoulder",
         "Right arm", "Right elbow", "Left hip", "Left knee", "Left ankle", "Right hip", "Right knee", "Right ankle",
         "WeaponArm.L", "Left wrist"},
        {"armature", "DEF-spine", "DEF-spine.001", "DEF-neck", "DEF-head", "DEF-shoulder.L", "DEF-upper_arm.L",
         "DEF-forearm.L", "DEF-shoulder.R", "DEF-upper_arm.R", "DEF-forearm.R", "DEF-thigh.L", "DEF-shin.L",
         "DEF-foot.L", "DEF-thigh.R", "DEF-shin.R", "DEF-foot.R", "MCH-upper_arm.L", "DEF-hand.L"},
        {"root", "hipsBone", "spineBone", "neckBone", "headBone", "leftshoulderBone", "leftarmBone", "leftforearmBone",
         "rightshoulderBone", "rightarmBone", "rightforearmBone", "leftlegBone", "leftshinBone", "leftfootBone",
         "rightlegBone", "rightshinBone", "rightfootBone", "leftArmControl", "lefthandBone"},
        {"walk", "Hips", "Chest", "Neck", "Head", "LeftCollar", "LeftShoulder", "LeftElbow", "RightCollar",
         "RightShoulder", "RightElbow", "LeftHip", "LeftKnee", "LeftAnkle", "RightHip", "RightKnee", "RightAnkle",
         "LeftElbowEnd", "LeftWrist"},
        {"Genesis", "hip", "abdomenLower", "neckLower", "head", "lCollar", "lShldrBend", "lForearmBend", "rCollar",
         "rShldrBend", "rForearmBend", "lThighBend", "lShin", "lFoot", "rThighBend", "rShin", "rFoot", "lForearmTwist",
         "lHand"},
        {"figure", "hip", "abdomen", "neck", "head", "lcollar", "lshldr", "lforearm", "rcollar", "rshldr", "rforearm",
         "lthigh", "lshin", "lfoot", "rthigh", "rshin", "rfoot", "lshldrtwist", "lhand"},
    };
    static const int8_t wanted[19][2] = {
        {SU_HUMAN_NONE, 0},      {SU_HUMAN_HIPS, 0},       {SU_HUMAN_SPINE, 0},      {SU_HUMAN_NECK, 0},
        {SU_HUMAN_HEAD, 0},      {SU_HUMAN_SHOULDER, 1},   {SU_HUMAN_UPPER_ARM, 1},  {SU_HUMAN_LOWER_ARM, 1},
        {SU_HUMAN_SHOULDER, -1}, {SU_HUMAN_UPPER_ARM, -1}, {SU_HUMAN_LOWER_ARM, -1}, {SU_HUMAN_UPPER_LEG, 1},
        {SU_HUMAN_LOWER_LEG, 1}, {SU_HUMAN_FOOT, 1},       {SU_HUMAN_UPPER_LEG, -1}, {SU_HUMAN_LOWER_LEG, -1},
        {SU_HUMAN_FOOT, -1},     {SU_HUMAN_NONE, 0},       {SU_HUMAN_HAND, 1}};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (int i = 0; i < 19; i++) {
            const su_human_bone bone = bone_called(19, ways[w], parent, ways[w][i]);
            int part = wanted[i][0];
            if (bone.part != part || bone.side != wanted[i][1])
                fail_msg("%s is %d, %d", ways[w][i], bone.part, bone.side);
        }
    /* without an arm it is none, nor where a shin hangs on an arm */
    const char *names[19];
    memcpy(names, ways[0], sizeof names);
    names[6] = names[7] = "Bip01 L Something";
    assert_int_equal(bone_called(19, names, parent, "Bip01 Head").part, SU_HUMAN_NONE);
    memcpy(names, ways[0], sizeof names);
    names[12] = "Bip01 L Hand", names[18] = "Bip01 L Calf";
    assert_int_equal(bone_called(19, names, parent, "Bip01 Head").part, SU_HUMAN_NONE);
}

/* Spines of two and of five joints: the first for the first, the last for the last. */
static void test_chains(void **unused)
{
    (void)unused;
    su_human_bone two[2], five[5];
    for (int16_t i = 0; i < 5; i++) {
        five[i] = (su_human_bone){SU_HUMAN_SPINE, 0, i, 5};
        if (i < 2) two[i] = (su_human_bone){SU_HUMAN_SPINE, 0, i, 2};
    }
    static const int wanted[5] = {0, 0, 1, 1, 1};
    for (int i = 0; i < 5; i++) assert_int_equal(su_human_bone_like(&five[i], 2, two), wanted[i]);
    assert_int_equal(su_human_bone_like(&two[0], 5, five), 0);
    assert_int_equal(su_human_bone_like(&two[1], 5, five), 4);
    const su_human_bone one = {SU_HUMAN_SPINE, 0, 0, 1}, finger = {SU_HUMAN_INDEX, 1, 3, 4},
                        fingers[1] = {{SU_HUMAN_INDEX, 1, 0, 1}};
    assert_int_equal(su_human_bone_like(&one, 5, five), 4);
    assert_int_equal(su_human_bone_like(&finger, 1, fingers), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_names),
        cmocka_unit_test(test_feet_beside_their_legs),
        cmocka_unit_test(test_bones_that_the_file_names),
        cmocka_unit_test(test_same_names_other_axes),
        cmocka_unit_test(test_same_axes_stay_as_they_were),
        cmocka_unit_test(test_no_human),
        cmocka_unit_test(test_still_human),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_chains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
