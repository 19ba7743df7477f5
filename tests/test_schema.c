/* The tables of the file kinds: round trips, and every kind of bad file refused with a message that names it. */
#include "io/stage/anim.h"
#include "io/stage/basis.h"
#include "io/stage/fit.h"
#include "io/stage/model.h"
#include "io/stage/modes.h"
#include "io/stage/poses.h"
#include "io/stage/sim.h"
#include "io/stage/tet.h"
#include "own_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One tet around one skin vertex. */
static double vertices[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, bary[4] = {0.25, 0.25, 0.25, 0.25};
static int32_t tets[4] = {0, 1, 2, 3}, surface[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3}, fixed[1] = {2};
static int32_t embed_tet[1] = {0}, shepard_index[16];
static double shepard_weight[16];

static su_tet sample_tet(void)
{
    for (int i = 0; i < 4; i++) shepard_weight[4 * i] = 1;
    return (su_tet){.n = 4,
                    .t = 1,
                    .b = 4,
                    .fixed_count = 1,
                    .nbar = 1,
                    .vertices = vertices,
                    .tets = tets,
                    .surface = surface,
                    .fixed = fixed,
                    .embed_tet = embed_tet,
                    .embed_bary = bary,
                    .ties = 4,
                    .shepard_index = shepard_index,
                    .shepard_weight = shepard_weight};
}

static void test_round_trip(void **state)
{
    (void)state;
    su_error err = {0};
    su_tet tet = sample_tet(), back;
    tet.file.meta = json_pack("{s:s, s:[s,s]}", "material", "stvk", "param_names", "a", "b");
    if (su_tet_save(own_folder_path("a.tet.npz"), &tet, &err) != SU_OK) fail_msg("%s", err.text);
    if (su_tet_load(own_folder_path("a.tet.npz"), &back, &err) != SU_OK) fail_msg("%s", err.text);
    assert_int_equal(back.n, 4);
    assert_int_equal(back.t, 1);
    assert_int_equal(back.b, 4);
    assert_int_equal(back.fixed_count, 1);
    assert_int_equal(back.nbar, 1);
    assert_memory_equal(back.vertices, vertices, sizeof vertices);
    assert_memory_equal(back.surface, surface, sizeof surface);
    assert_null(back.fixed_bone);
    assert_string_equal(json_string_value(json_object_get(back.file.meta, "kind")), "supple.tet");
    assert_int_equal(json_integer_value(json_object_get(back.file.meta, "version")), 1);
    assert_string_equal(su_file_name(&back.file, "param_names", 1), "b");
    assert_null(su_file_name(&back.file, "param_names", 2));
    assert_null(su_file_name(&back.file, "absent", 0));

    /* Loaded arrays may be changed; the file stays. */
    back.vertices[0] = 7;
    su_tet_free(&back);
    assert_int_equal(su_tet_load(own_folder_path("a.tet.npz"), &back, &err), SU_OK);
    assert_true(back.vertices[0] == 0);
    int32_t *more = NULL;
    assert_int_equal(SU_FILE_ALLOC(&back.file, &more, 10, &err), SU_OK);
    su_tet_free(&back);
    su_tet_free(&back);
    json_decref(tet.file.meta);
}

static void refused_save(const su_tet *tet, su_status status, const char *array)
{
    su_error err = {0};
    unlink(own_folder_path("bad.tet.npz"));
    assert_int_equal(su_tet_save(own_folder_path("bad.tet.npz"), tet, &err), status);
    if (!strstr(err.text, array) || !strstr(err.text, "bad.tet.npz")) fail_msg("unclear message: %s", err.text);
    assert_int_equal(access(own_folder_path("bad.tet.npz"), F_OK), -1);
}

static void test_save_refuses(void **state)
{
    (void)state;
    su_tet tet = sample_tet();
    tet.tets = NULL;
    refused_save(&tet, SU_FAILED, "'tets'");

    tet = sample_tet();
    vertices[5] = NAN;
    refused_save(&tet, SU_NUMERICS, "'vertices'");
    vertices[5] = INFINITY;
    refused_save(&tet, SU_NUMERICS, "'vertices'");
    vertices[5] = 0;

    tets[3] = 4;
    refused_save(&tet, SU_NUMERICS, "'tets'");
    tets[3] = -1;
    refused_save(&tet, SU_NUMERICS, "'tets'");
    tets[3] = 3;
    tets[0] = 1, tets[1] = 0; /* inside out */
    refused_save(&tet, SU_NUMERICS, "tet 0");
    tets[0] = 0, tets[1] = 1;

    bary[0] = 0.3;
    refused_save(&tet, SU_NUMERICS, "'embed_bary'");
    bary[0] = 0.25;

    tet.n = -1;
    refused_save(&tet, SU_FAILED, "'vertices'");
}

/* Files as a user writes them, array by array. */
typedef struct one_array {
    const char *name;
    su_dtype type;
    int dimensions;
    int64_t shape[3];
    const void *data;
} one_array;

static const double float_tets[4] = {0, 1, 2, 3}, broken_tets[4] = {0, 1, 2, 2.5};
static const float narrow_vertices[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
static const int64_t wide_surface[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};

/* Writes the sample with some arrays replaced (data NULL: left out) and loads it. */
static su_status load_with(const one_array *changes, int count, json_t *meta, su_error *err)
{
    const one_array standard[] = {
        {"vertices", SU_F64, 2, {4, 3}, vertices},
        {"tets", SU_I32, 2, {1, 4}, tets},
        {"surface", SU_I32, 2, {4, 3}, surface},
        {"fixed", SU_I32, 1, {1}, fixed},
        {"embed_tet", SU_I32, 1, {1}, embed_tet},
        {"embed_bary", SU_F64, 2, {1, 4}, bary},
        {"shepard_index", SU_I32, 2, {4, 4}, shepard_index},
        {"shepard_weight", SU_F64, 2, {4, 4}, shepard_weight},
        {"stranger", SU_F64, 1, {3}, vertices},
    };
    su_npz_writer *writer = NULL;
    su_tet tet;
    sample_tet();
    assert_int_equal(su_npz_create(own_folder_path("user.npz"), &writer, err), SU_OK);
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++) {
        const one_array *array = &standard[i];
        for (int k = 0; k < count; k++)
            if (strcmp(changes[k].name, array->name) == 0) array = &changes[k];
        if (!array->data) continue;
        assert_int_equal(
            su_npz_add(writer, array->name, array->type, array->dimensions, array->shape, array->data, err), SU_OK);
    }
    assert_int_equal(su_npz_commit(writer, meta, err), SU_OK);
    json_decref(meta);
    su_status status = su_tet_load(own_folder_path("user.npz"), &tet, err);
    if (status == SU_OK) {
        assert_memory_equal(tet.tets, tets, sizeof tets);
        assert_memory_equal(tet.vertices, vertices, sizeof vertices);
        assert_memory_equal(tet.surface, surface, sizeof surface);
        su_tet_free(&tet);
    } else {
        su_tet empty = {0};
        assert_memory_equal(&tet, &empty, sizeof tet);
        if (!strstr(err->text, "user.npz")) fail_msg("message without the file's name: %s", err->text);
    }
    return status;
}

static json_t *tet_meta(void) { return json_pack("{s:s, s:i}", "kind", "supple.tet", "version", 1); }

static void test_conversions(void **state)
{
    (void)state;
    su_error err = {0};
    const one_array changes[] = {{"vertices", SU_F32, 2, {4, 3}, narrow_vertices},
                                 {"tets", SU_F64, 2, {1, 4}, float_tets},
                                 {"surface", SU_I64, 2, {4, 3}, wide_surface}};
    if (load_with(changes, 3, tet_meta(), &err) != SU_OK) fail_msg("%s", err.text);
    assert_int_equal(load_with(NULL, 0, tet_meta(), &err), SU_OK);
}

static void refused(const one_array *change, const char *word)
{
    su_error err = {0};
    assert_int_equal(load_with(change, 1, tet_meta(), &err), SU_INPUT);
    if (!strstr(err.text, change->name) || !strstr(err.text, word)) fail_msg("unclear message: %s", err.text);
}

static void test_load_refuses(void **state)
{
    (void)state;
    su_error err = {0};
    double not_finite[12] = {0, 0, 0, 1, 0, NAN};
    refused(&(one_array){"tets", SU_I32, 2, {1, 4}, NULL}, "missing");
    refused(&(one_array){"tets", SU_F64, 2, {1, 4}, broken_tets}, "fit");
    refused(&(one_array){"tets", SU_I32, 1, {4}, tets}, "(t,4)");
    refused(&(one_array){"tets", SU_I32, 2, {4, 1}, tets}, "(t,4)");
    refused(&(one_array){"embed_bary", SU_F64, 2, {3, 4}, vertices}, "nbar = 1 as in 'embed_tet'");
    refused(&(one_array){"vertices", SU_F64, 2, {4, 3}, not_finite}, "not finite");
    refused(&(one_array){"tets", SU_I32, 2, {1, 4}, &(int32_t[]){0, 1, 2, 4}}, "0 to 3");
    assert_int_equal(load_with(&(one_array){"tets", SU_I32, 2, {0, 4}, tets}, 1, tet_meta(), &err), SU_INPUT);
    assert_non_null(strstr(err.text, "empty"));
    refused(&(one_array){"fixed", SU_I32, 1, {2}, &(int32_t[]){2, 2}}, "ascend");
    refused(&(one_array){"shepard_weight", SU_F64, 2, {4, 4}, (double[16]){0}}, "sums");
}

static void test_kinds_refused(void **state)
{
    (void)state;
    su_error err = {0};
    su_anim anim;
    assert_int_equal(load_with(NULL, 0, json_pack("{s:s, s:i}", "kind", "supple.anim", "version", 1), &err), SU_INPUT);
    assert_string_equal(err.text, "user.npz is a supple.anim, a supple.tet is wanted");
    assert_int_equal(load_with(NULL, 0, json_pack("{s:s, s:i}", "kind", "supple.tet", "version", 2), &err), SU_INPUT);
    assert_non_null(strstr(err.text, "version 2"));
    assert_int_equal(load_with(NULL, 0, json_pack("{s:s, s:i}", "kind", "supple.tet", "version", 0), &err), SU_INPUT);
    assert_int_equal(load_with(NULL, 0, json_pack("{s:s}", "kind", "supple.tet"), &err), SU_INPUT);
    assert_int_equal(load_with(NULL, 0, json_object(), &err), SU_INPUT);
    assert_int_equal(su_anim_load(own_folder_path("absent.anim.npz"), &anim, &err), SU_INPUT);
    assert_non_null(strstr(err.text, "absent.anim.npz"));
}

/* Each kind: no name twice, every count of a shape is listed, everything is described. */
static void test_tables(void **state)
{
    (void)state;
    int kinds = 0;
    for (const su_schema *const *at = su_schemas; *at; at++, kinds++) {
        const su_schema *schema = *at;
        for (int i = 0; i < schema->count; i++) {
            const su_field *field = &schema->fields[i];
            char shape[100];
            su_field_shape_text(schema, field, shape, sizeof shape);
            if (strchr(shape, '-')) fail_msg("%s: %s has a shape without names: %s", schema->kind, field->name, shape);
            assert_true(field->meaning && *field->meaning && field->unit && *field->unit);
            assert_in_range(field->dimensions, 1, SU_MAX_DIMENSIONS);
            for (int j = 0; j < i; j++) assert_string_not_equal(field->name, schema->fields[j].name);
        }
    }
    assert_int_equal(kinds, 10);
}

/* A sim with all it may hold, and its own rules. */
static void test_sim(void **state)
{
    (void)state;
    su_error err = {0};
    double times[3] = {0, 0.5, 1}, q[6] = {1, 2, 3, 4, 5, 6}, weights[3] = {1, 1, 1}, energy[9] = {0};
    int32_t iterations[3] = {1, 2, 3}, status[3] = {0, 1, 3};
    su_sim sim = {.F = 3,
                  .r = 2,
                  .m = 1,
                  .times = times,
                  .q = q,
                  .weights = weights,
                  .energy = energy,
                  .iterations = iterations,
                  .status = status},
           back;
    if (su_sim_save(own_folder_path("a.sim.npz"), &sim, &err) != SU_OK) fail_msg("%s", err.text);
    assert_int_equal(su_sim_load(own_folder_path("a.sim.npz"), &back, &err), SU_OK);
    assert_memory_equal(back.q, q, sizeof q);
    assert_int_equal(back.n, 0);
    su_sim_free(&back);

    status[1] = 4;
    assert_int_equal(su_sim_save(own_folder_path("b.sim.npz"), &sim, &err), SU_NUMERICS);
    status[1] = 1;
    times[1] = 0.51;
    assert_int_equal(su_sim_save(own_folder_path("b.sim.npz"), &sim, &err), SU_NUMERICS);
    times[1] = 0.5;
    weights[2] = 0.9;
    assert_int_equal(su_sim_save(own_folder_path("b.sim.npz"), &sim, &err), SU_NUMERICS);
    weights[2] = 1;
    sim.q = NULL;
    assert_int_equal(su_sim_save(own_folder_path("b.sim.npz"), &sim, &err), SU_NUMERICS);
    assert_int_equal(access(own_folder_path("b.sim.npz"), F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_save_refuses),  cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_load_refuses), cmocka_unit_test(test_kinds_refused), cmocka_unit_test(test_tables),
        cmocka_unit_test(test_sim),
    };
    return cmocka_run_group_tests(tests, own_folder_make, own_folder_remove);
}
