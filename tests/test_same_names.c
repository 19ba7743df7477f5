/* Joints that mean the same by other names: words in front, numbers behind, and how long a thousand of them take. */
#include "rig/same_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static int64_t find(int64_t count, const char *const *there, int64_t nodes, const char *const *here, bool numbers,
                    su_same_names *rule)
{
    int64_t found;
    assert_int_equal(su_same_names_find(count, there, nodes, here, numbers, rule, &found, NULL), SU_OK);
    return found;
}

static void test_words_in_front(void **unused)
{
    (void)unused;
    const char *there[] = {"Bip01 Hips", "Bip01 Spine", "Bip01 Head", "Bip01 Tail"},
               *here[] = {"scene", "Bip001 Hips", "Bip001 Spine", NULL, "Bip001 Head"};
    su_same_names rule;
    assert_int_equal(find(4, there, 5, here, false, &rule), 3);
    assert_true(su_names_are_same(&rule, "Bip01 Spine", "Bip001 Spine"));
    assert_false(su_names_are_same(&rule, "Bip01 Spine", "Bip001 Head"));
    assert_false(su_names_are_same(NULL, "Bip01 Spine", "Bip001 Spine"));
    assert_true(su_names_are_same(NULL, "a:Spine", "mixamorig:Spine"));
    /* what stands here twice is found by neither, and so are too few */
    const char *twice[] = {"xHips", "xSpine", "y:xHips", "x:xSpine"};
    assert_int_equal(find(4, there, 4, twice, false, &rule), 0);
}

static void test_numbers_behind(void **unused)
{
    (void)unused;
    const char *there[] = {"mixamorig:Hips", "mixamorig:Spine", "mixamorig:Spine_1", "mixamorig:LeftArm"},
               *here[] = {"Sketchfab_model", "mixamorig:Hips_01", "Spine_02", "Spine_1_03", "LeftArm_010", "Object_7"},
               *other[] = {"Hips_00", "Spine_01", "Spine_1_02", "LeftArm_03"};
    su_same_names rule;
    assert_int_equal(find(4, there, 6, here, false, &rule), 0);
    assert_int_equal(find(4, there, 6, here, true, &rule), 4);
    assert_true(su_names_are_same(&rule, "mixamorig:Spine_1", "Spine_1_03"));
    assert_false(su_names_are_same(&rule, "mixamorig:Spine", "Spine_1_03"));
    assert_int_equal(find(6, here, 4, there, true, &rule), 4); /* the other way round */
    assert_int_equal(find(4, other, 6, here, true, &rule), 4); /* both, numbered otherwise */
    assert_true(su_names_are_same(&rule, "LeftArm_03", "LeftArm_010"));
    /* and a word in front as well */
    const char *headed[] = {"Hips", "Spine", "LeftArm"},
               *ethan[] = {"EthanHips_01", "EthanSpine_02", "EthanLeftArm_03"};
    assert_int_equal(find(3, headed, 3, ethan, true, &rule), 3);
    assert_true(su_names_are_same(&rule, "Spine", "EthanSpine_02"));
}

/* Two thousand names on either side of which none is the other's: a cube of that took minutes. */
static void test_many_names(void **unused)
{
    (void)unused;
    enum { MANY = 2000, ROOM = 32 };
    const double seconds = 4; /* of one thread, a tenth of it on the machine this was written on */
    char(*text)[ROOM] = malloc(2 * MANY * sizeof *text);
    const char **name = malloc(2 * MANY * sizeof *name);
    su_same_names rule;
    assert_non_null(text), assert_non_null(name);
    for (int k = 0; k < 2 * MANY; k++) {
        snprintf(text[k], ROOM, "%s%d_%s", k < MANY ? "rope" : "chain", k * 7919 % MANY, k < MANY ? "jnt" : "_jnt");
        name[k] = text[k];
    }
    clock_t began = clock();
    assert_int_equal(find(MANY, name, MANY, name + MANY, false, &rule), 0);
    assert_int_equal(find(MANY, name, MANY, name + MANY, true, &rule), 0);
    double took = (double)(clock() - began) / CLOCKS_PER_SEC;
    printf("# %d names: %.2f s\n", MANY, took);
    assert_true(took < seconds);
    free(text), free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words_in_front), cmocka_unit_test(test_numbers_behind),
                                       cmocka_unit_test(test_many_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
