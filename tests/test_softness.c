/* Where a body is soft: words of joints, thickness, and the mode that carries flesh. */
#include "box.h"
#include "fem/body_stiffness.h"
#include "reduce/modes/carrying_mode.h"
#include "rig/joint_names.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void joints_are_read_by_their_words(void **unused)
{
    static const struct {
        const char *name;
        double factor;
    } cases[] = {
        {"mixamorig:LeftHandThumb1", 30},
        {"mixamorig:Head", 30},
        {"DEF-foot.L", 30},
        {"lefthand", 30},
        {"hand_r", 30},
        {"toes.l", 30},
        {"Hair_03", 30},
        {"lowerarm_l", 3},
        {"LowerLeg.R", 3},
        {"ForeArm", 3},
        {"L Leg Lower", 3}, /* two words, the other way round */
        {"Leg Front", 0},
        {"Head_Cheek", 1},
        {"Ear1.L", 1},
        {"EarRightMiddle", 1}, /* no finger */
        {"BowlJoint", 0},
        {"mixamorig:Spine", 0},
        {"mixamorig:LeftUpLeg", 0},
        {"handle", 0},
        {"forearml", 3}, /* forearm.l without its dot */
        {"footr001", 30},
        {"earl", 1},
        {"RearLegL", 0},
        {"rear.l", 0},
        {"Shoulder.L", 0},
        {"Chest", 0},
        {"t\xc3\xaate", 30},   /* a head in French */
        {"te\xcc\x82te", 30},  /* the same, its accent taken apart */
        {"T\xc3\x8aTE_1", 30}, /* in capitals */
        {"main droite", 30},   /* a hand with its side; a root without */
        {"Main_00", 0},
        {"Main.L", 0},
        {"Sch\xc3\xa4"
         "del",
         30},
        {"Fu\xc3\x9f_rechts", 30},
        {"avant-bras gauche", 3},
        {"cabe\xc3\xa7"
         "a",
         30},
        {"dedos.R", 30},
        {"mejilla_izq", 1},
        {"cuisse gauche", 0},
        {"\xe9\xa0\xad", 0}, /* in Japanese: not known, and harmless */
        {"\xc3", 0},
        {"", 0},
        {NULL, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        if (su_joint_name_stiffness(cases[k].name) != cases[k].factor)
            fail_msg("%s: %g", cases[k].name, su_joint_name_stiffness(cases[k].name));
    (void)unused;
}

static void joints_follow_their_parents(void **unused)
{
    const char *names[] = {"hips", "head", "bone7", "cheek.L", "x", NULL};
    const int32_t parent[] = {-1, 0, 1, 2, 3, 0};
    double factor[6];
    su_joint_stiffness(6, names, parent, NULL, factor);
    const double expected[] = {1, 30, 30, 1, 1, 1};
    for (int k = 0; k < 6; k++) assert_true(factor[k] == expected[k]);
    (void)unused;
}

/* Rigify calls a head spine.006; a slime's only joint carries eyes, a body an eye and a wing. */
static void a_head_is_what_carries_eyes_and_hair(void **unused)
{
    const char *names[] = {"spine", "spine.001", "spine.004", "spine.006", "bang.L",
                           "bun.R", "body",      "eye.L",     "wing.L"};
    const int32_t parent[] = {-1, 0, 1, 2, 3, 3, -1, 6, 6};
    double factor[9];
    su_joint_stiffness(9, names, parent, NULL, factor);
    const double expected[] = {1, 1, 1, 30, 30, 30, 1, 30, 30};
    for (int k = 0; k < 9; k++) assert_true(factor[k] == expected[k]);
    names[5] = "hand.R";
    su_joint_stiffness(9, names, parent, NULL, factor);
    assert_true(factor[3] == 1);
    su_joint_stiffness(9, names, NULL, NULL, factor);
    assert_true(factor[3] == 1 && factor[4] == 30);
    (void)unused;
}

/* Unreal's index_01_l, and joints in the middle of a body or an ear; a ring of a snake. */
static void fingers_hang_on_arms(void **unused)
{
    const char *names[] = {"middle",      "chest", "upperarm_l", "x",     "index_01_l",
                           "middle_01_l", "ear",   "middle",     "ring_2"};
    const int32_t parent[] = {-1, 0, 1, 2, 3, 3, 1, 6, 0};
    double factor[9];
    su_joint_stiffness(9, names, parent, NULL, factor);
    const double expected[] = {1, 1, 1, 1, 30, 30, 1, 1, 1};
    for (int k = 0; k < 9; k++)
        if (factor[k] != expected[k]) fail_msg("%s: %g", names[k], factor[k]);
    (void)unused;
}

/* Rigify without the bones of a face: its head carries nothing. A tail's end, a neck below a head are none. */
static void a_neck_without_a_head_ends_in_one(void **unused)
{
    const char *names[] = {"spine",     "spine.001",  "spine.003", "spine.004",
                           "spine.006", "shoulder.L", "tail",      "tail.001"};
    const int32_t parent[] = {-1, 0, 1, 2, 3, 2, 0, 6};
    double factor[8];
    su_joint_stiffness(8, names, parent, NULL, factor);
    const double expected[] = {1, 1, 1, 1, 30, 1, 1, 1};
    for (int k = 0; k < 8; k++) assert_true(factor[k] == expected[k]);
    names[7] = "Head";
    su_joint_stiffness(8, names, parent, NULL, factor);
    assert_true(factor[4] == 1);
    names[7] = "tail.001", names[5] = "leg.L";
    su_joint_stiffness(8, names, parent, NULL, factor);
    assert_true(factor[4] == 1);
    (void)unused;
}

/* Everything above the chest hangs on the neck, and a null is called a head. */
static void a_head_without_skin_is_none(void **unused)
{
    const char *names[] = {"pelvis", "spine", "l_humerus", "r_humerus", "neck", "null_head"};
    const int32_t parent[] = {-1, 0, 1, 1, 1, 4};
    double carried[] = {170, 185, 66, 67, 1113, 0.3}, factor[6];
    su_joint_stiffness(6, names, parent, carried, factor);
    assert_true(factor[4] == 30 && factor[1] == 1);
    carried[5] = 900;
    su_joint_stiffness(6, names, parent, carried, factor);
    assert_true(factor[4] == 1 && factor[5] == 30);
    carried[5] = 0.3, names[2] = "l_hip", names[3] = "r_hip";
    su_joint_stiffness(6, names, parent, carried, factor);
    assert_true(factor[4] == 1);
    (void)unused;
}

/* Head, Head2, Head3 of a monster bend and are its trunk; a head with a hat on it and a head's end are none. */
static void heads_in_a_row_are_a_trunk(void **unused)
{
    const char *names[] = {"Body", "Head", "Head2", "Head.003", "Eye.L", "Hand.L"};
    const int32_t parent[] = {-1, 0, 1, 2, 3, 2};
    double factor[6];
    su_joint_stiffness(6, names, parent, NULL, factor);
    const double expected[] = {1, 1, 1, 1, 30, 30};
    for (int k = 0; k < 6; k++) assert_true(factor[k] == expected[k]);
    names[3] = "HeadTop_End";
    su_joint_stiffness(6, names, parent, NULL, factor);
    assert_true(factor[1] == 30 && factor[2] == 30 && factor[3] == 30);
    (void)unused;
}

/* Bone.001 to Bone.013: a trunk of two, a neck and a head, arms of two, legs of two, one with a control that nothing
 * follows; a tail of one. A name that says something says that names do; a snake has no limbs. */
static void limbs_without_names_end_in_hands(void **unused)
{
    const char *names[12];
    const int32_t parent[] = {-1, 0, 1, 2, 1, 4, 1, 6, 0, 8, 9, 0};
    double carried[] = {9, 9, 3, 20, 5, 5, 5, 5, 8, 4, 0, 6}, factor[12];
    for (int k = 0; k < 12; k++) names[k] = "Bone";
    su_joint_stiffness(12, names, parent, carried, factor);
    const double expected[] = {1, 1, 1, 30, 1, 30, 1, 30, 1, 30, 30, 1};
    for (int k = 0; k < 12; k++) assert_true(factor[k] == expected[k]);
    names[5] = "ear";
    su_joint_stiffness(12, names, parent, carried, factor);
    for (int k = 0; k < 12; k++) assert_true(factor[k] == 1);
    names[5] = "Bone", carried[7] = 0; /* three limbs are left of two joints */
    su_joint_stiffness(12, names, parent, carried, factor);
    for (int k = 0; k < 12; k++) assert_true(factor[k] == 1);
    const int32_t spider[] = {-1, -1, 1, -1, 3, -1, 5, -1, 7, -1, 9, 9}; /* its legs are roots, as the body is */
    carried[7] = 5, carried[10] = 5;
    su_joint_stiffness(12, names, spider, carried, factor);
    for (int k = 0; k < 12; k++) assert_true(factor[k] == (k > 0 && k < 9 && k % 2 == 0 ? 30 : 1));
    const int32_t snake[] = {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    su_joint_stiffness(12, names, snake, carried, factor);
    for (int k = 0; k < 12; k++) assert_true(factor[k] == 1);
    (void)unused;
}

/* The arms of a block end in its forearms, the legs of one that has feet anywhere do not. */
static void forearms_without_hands_end_in_them(void **unused)
{
    const char *names[] = {"Foot.L", "Hips", "LowerArm.L", "LowerArm2.L", "LowerLeg.L", "Sleeve"};
    const int32_t parent[] = {-1, -1, 1, 2, 1, 3};
    double factor[6];
    su_joint_stiffness(6, names, parent, NULL, factor);
    const double expected[] = {30, 1, 3, 30, 3, 30};
    for (int k = 0; k < 6; k++) assert_true(factor[k] == expected[k]);
    names[5] = "Hand.L";
    su_joint_stiffness(6, names, parent, NULL, factor);
    assert_true(factor[3] == 3 && factor[5] == 30);
    (void)unused;
}

/* Legs called so to their end, in a row, end in feet where nothing is one and nothing is a shin. */
static void the_last_of_several_legs_is_a_foot(void **unused)
{
    const char *names[] = {"SpineA", "LegA_L", "LegB_L", "Leg.R", "Sole"};
    const int32_t parent[] = {-1, 0, 1, 0, 2};
    double factor[5];
    su_joint_stiffness(5, names, parent, NULL, factor);
    const double expected[] = {1, 1, 30, 1, 30}; /* the right one, of one joint, is soft */
    for (int k = 0; k < 5; k++) assert_true(factor[k] == expected[k]);
    for (int k = 0; k < 2; k++) {
        names[4] = k ? "Shin.L" : "Foot.L";
        su_joint_stiffness(5, names, parent, NULL, factor);
        assert_true(factor[2] == 1);
    }
    (void)unused;
}

/* Toys of one joint a limb: arms end in hands, whatever controls without skin are called; legs stay as soft as they
 * are. */
static void arms_of_one_joint_end_in_hands(void **unused)
{
    const char *names[] = {"Body", "Arm.L", "Leg.L", "Head", "Hand_IK"};
    const int32_t parent[] = {-1, 0, 0, 0, -1};
    const double carried[] = {10, 5, 5, 5, 0}, held[] = {10, 5, 5, 5, 1};
    double factor[5];
    su_joint_stiffness(5, names, parent, carried, factor);
    assert_true(factor[0] == 1 && factor[1] == 30 && factor[2] == 1);
    su_joint_stiffness(5, names, parent, held, factor); /* that is a hand */
    assert_true(factor[1] == 1);
    names[1] = "UpperArm.L", names[4] = "ForeArm.L";
    su_joint_stiffness(5, names, parent, held, factor); /* the forearm is its end */
    assert_true(factor[1] == 1 && factor[4] == 30);
    (void)unused;
}

/* A beam along x, `thin` times as thick in its second half, with a short taper. */
static box_mesh spindle(double size, double thin)
{
    box_mesh box = box_mesh_create(40, 8, 8, 5 * size, size, size);
    for (int64_t v = 0; v < box.n; v++) {
        double *x = box.vertices + 3 * v, s = fmin(fmax((x[0] / size - 2.25) / 0.5, 0), 1);
        for (int i = 1; i < 3; i++) x[i] = (x[i] - 0.5 * size) * (1 + s * (thin - 1));
    }
    return box;
}

/* Mean over the tets between two places along the beam. */
static double mean_between(const box_mesh *box, const double *value, double from, double to)
{
    double sum = 0;
    int64_t count = 0;
    for (int64_t e = 0; e < box->t; e++) {
        double x = 0;
        for (int c = 0; c < 4; c++) x += 0.25 * box->vertices[3 * (int64_t)box->tets[4 * e + c]];
        if (x > from && x < to) sum += value[e], count++;
    }
    return sum / (double)count;
}

static void thin_parts_are_stiffer_by_the_square(void **unused)
{
    double first[2] = {0};
    for (int k = 0; k < 2; k++) {
        double size = k ? 100 : 1;
        box_mesh box = spindle(size, 0.25);
        su_tets mesh = {.n = box.n, .t = box.t, .x = box.vertices, .tets = box.tets};
        su_body_skin skin = {0};
        su_error err = {0};
        double *factor = malloc((size_t)box.t * sizeof *factor);
        assert_int_equal(su_body_stiffness(&mesh, true, &skin, 1, factor, &err), SU_OK);
        double thick = mean_between(&box, factor, 0.8 * size, 1.7 * size);
        double thin = mean_between(&box, factor, 3.3 * size, 4.5 * size);
        assert_true(thick >= 1 && thick < 1.5);
        assert_true(thin > 0.7 * 16 && thin < 1.6 * 16); /* edges of a square section lie outside its inscribed balls */
        if (k == 0) first[0] = thick, first[1] = thin;
        assert_true(fabs(thick - first[0]) < 1e-4 * thick && fabs(thin - first[1]) < 1e-4 * thin); /* no unit */
        assert_int_equal(su_body_stiffness(&mesh, false, &skin, 1, factor, &err), SU_OK);
        for (int64_t e = 0; e < box.t; e++) assert_true(factor[e] == 1);
        free(factor);
        box_mesh_free(&box);
    }
    (void)unused;
}

/* A big head on a small body: what is thick flesh is read off the body, and the head is stiff by the square of what it
 * is thicker, for it swings about its core. */
static void a_large_skull_is_stiffer_by_the_square(void **unused)
{
    box_mesh box = spindle(1, 0.25);
    su_tets mesh = {.n = box.n, .t = box.t, .x = box.vertices, .tets = box.tets};
    su_error err = {0};
    double *factor = malloc((size_t)box.t * sizeof *factor);
    int32_t *holder = malloc((size_t)box.n * sizeof *holder);
    float *weights = calloc(2 * (size_t)box.n, sizeof *weights);
    const double stiffness[2] = {30, 1};
    for (int64_t e = 0; e < box.t; e++)
        for (int c = 0; c < 4; c++) holder[box.tets[4 * e + c]] = (int32_t)e;
    for (int64_t v = 0; v < box.n; v++) weights[2 * v + (box.vertices[3 * v] > 2.5)] = 1;
    su_body_skin skin = {.nbar = box.n, .bones = 2, .embed_tet = holder, .weights = weights, .stiffness = stiffness};
    assert_int_equal(su_body_stiffness(&mesh, true, &skin, 1, factor, &err), SU_OK);
    double head = mean_between(&box, factor, 0.8, 1.7), body = mean_between(&box, factor, 3.3, 4.5);
    assert_true(body >= 1 && body < 1.5);
    assert_true(head > 0.7 * 30 * 16 && head < 1.3 * 30 * 16);
    assert_int_equal(su_body_stiffness(&mesh, false, &skin, 1, factor, &err), SU_OK);
    assert_true(fabs(mean_between(&box, factor, 0.8, 1.7) - 30) < 3);
    free(factor), free(holder), free(weights);
    box_mesh_free(&box);
    (void)unused;
}

/* A thick half held at its end and a thin half that swings first: its modes carry little and are stiffened away, the
 * thick half is left as it is. */
static void tips_are_stiffened_until_a_mode_carries_flesh(void **unused)
{
    box_mesh box = spindle(1, 0.08);
    double *young = box_constant(box.t, 1e4), *poisson = box_constant(box.t, 0.4), *density = box_constant(box.t, 1000);
    int32_t held[81];
    int64_t held_count = 0;
    for (int32_t v = 0; v < box.n; v++)
        if (box.vertices[3 * v] < 1e-9) held[held_count++] = v;
    su_elastic elastic = {0};
    su_error err = {0};
    su_carrying_mode lowest;
    assert_int_equal(su_elastic_create(&elastic,
                                       &(su_elastic_body){.mesh = {box.n, box.t, box.vertices, box.tets},
                                                          .held_count = held_count,
                                                          .held = held,
                                                          .material = SU_NEOHOOKEAN,
                                                          .young = young,
                                                          .poisson = poisson,
                                                          .density = density},
                                       &err),
                     SU_OK);
    assert_int_equal(su_carrying_mode_find(&elastic, box.vertices, young, poisson, 1, NULL, &lowest, &err), SU_OK);
    assert_true(lowest.rounds > 0);
    assert_int_equal(lowest.lower, 0);
    assert_true(lowest.share >= SU_CARRIES);
    double thick = mean_between(&box, young, 0.2, 1.5), thin = mean_between(&box, young, 3.3, 4.5);
    assert_true(thick < 2e4);
    assert_true(thin > 2e5);
    /* As it is now there is nothing to stiffen, and the frequency is the same. */
    su_carrying_mode again;
    assert_int_equal(su_carrying_mode_find(&elastic, box.vertices, young, poisson, 1, NULL, &again, &err), SU_OK);
    assert_int_equal(again.rounds, 0);
    assert_true(fabs(again.value - lowest.value) < 1e-6 * lowest.value);
    /* Where the thick half is hard the thin one is the body, and stays as it is. */
    for (int64_t e = 0; e < box.t; e++) {
        double x = 0;
        for (int c = 0; c < 4; c++) x += 0.25 * box.vertices[3 * (int64_t)box.tets[4 * e + c]];
        young[e] = x < 2.5 ? 1e8 : 1e4;
    }
    su_elastic_set_material(&elastic, young, poisson);
    assert_int_equal(su_carrying_mode_find(&elastic, box.vertices, young, poisson, 1, NULL, &again, &err), SU_OK);
    assert_int_equal(again.rounds, 0);
    assert_true(mean_between(&box, young, 3.3, 4.5) == 1e4);
    su_elastic_free(&elastic);
    free(young), free(poisson), free(density);
    box_mesh_free(&box);
    (void)unused;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joints_are_read_by_their_words),
        cmocka_unit_test(joints_follow_their_parents),
        cmocka_unit_test(a_head_is_what_carries_eyes_and_hair),
        cmocka_unit_test(fingers_hang_on_arms),
        cmocka_unit_test(a_neck_without_a_head_ends_in_one),
        cmocka_unit_test(a_head_without_skin_is_none),
        cmocka_unit_test(heads_in_a_row_are_a_trunk),
        cmocka_unit_test(limbs_without_names_end_in_hands),
        cmocka_unit_test(forearms_without_hands_end_in_them),
        cmocka_unit_test(the_last_of_several_legs_is_a_foot),
        cmocka_unit_test(arms_of_one_joint_end_in_hands),
        cmocka_unit_test(thin_parts_are_stiffer_by_the_square),
        cmocka_unit_test(a_large_skull_is_stiffer_by_the_square),
        cmocka_unit_test(tips_are_stiffened_until_a_mode_carries_flesh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
