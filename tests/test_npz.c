/* .npz archives: round trips, NumPy as second opinion, and hostile files. */
#include "core/npz.h"
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

static const double doubles[6] = {1.5, -2.25, 1e-300, 3.141592653589793, 1e300, 0};
static const float floats[3] = {1.5f, 0.1f, -7};
static const int32_t integers[4] = {0, -1, 2147483647, 5};
static const int64_t longs[2] = {-9000000000, 17};
static const uint8_t bytes[5] = {0, 1, 2, 254, 255};

static void write_sample(const char *path, bool zip64)
{
    su_error err = {0};
    su_npz_writer *writer = NULL;
    json_t *meta = json_pack("{s:s, s:i, s:f}", "zeta", "\xc3\xa9t\xc3\xa9", "alpha", 3, "nu", 0.45);
    assert_int_equal(su_npz_create(path, &writer, &err), SU_OK);
    if (zip64) su_npz_force_zip64(writer);
    assert_int_equal(su_npz_add(writer, "doubles", SU_F64, 2, (int64_t[]){2, 3}, doubles, &err), SU_OK);
    assert_int_equal(su_npz_add(writer, "floats", SU_F32, 1, (int64_t[]){3}, floats, &err), SU_OK);
    assert_int_equal(su_npz_add(writer, "integers", SU_I32, 3, (int64_t[]){2, 1, 2}, integers, &err), SU_OK);
    assert_int_equal(su_npz_begin(writer, "longs", SU_I64, 1, (int64_t[]){2}, &err), SU_OK);
    assert_int_equal(su_npz_append(writer, longs, 1, &err), SU_OK);
    assert_int_equal(su_npz_append(writer, longs + 1, 1, &err), SU_OK);
    assert_int_equal(su_npz_end(writer, &err), SU_OK);
    assert_int_equal(su_npz_add(writer, "bytes", SU_U8, 1, (int64_t[]){5}, bytes, &err), SU_OK);
    assert_int_equal(su_npz_add(writer, "nothing", SU_F64, 2, (int64_t[]){0, 3}, NULL, &err), SU_OK);
    assert_int_equal(su_npz_add(writer, "scalar", SU_F64, 0, NULL, doubles + 3, &err), SU_OK);
    assert_int_equal(su_npz_commit(writer, meta, &err), SU_OK);
    json_decref(meta);
}

static void check_array(su_npz *file, const char *name, su_dtype type, int dimensions, const int64_t *shape,
                        const void *wanted, bool mapped)
{
    su_error err = {0};
    const void *data = NULL;
    const su_npz_entry *entry = su_npz_find(file, name);
    assert_non_null(entry);
    assert_int_equal(entry->type, type);
    assert_int_equal(entry->dimensions, dimensions);
    assert_memory_equal(entry->shape, shape, (size_t)dimensions * sizeof *shape);
    if (su_npz_data(file, entry, &data, &err) != SU_OK) fail_msg("%s", err.text);
    if (mapped) assert_int_equal((uintptr_t)data % 64, 0);
    if (entry->elements) assert_memory_equal(data, wanted, (size_t)entry->elements * su_dtype_size(type));
}

static void check_sample(const char *path)
{
    su_error err = {0};
    su_npz *file = NULL;
    if (su_npz_open(path, &file, &err) != SU_OK) fail_msg("%s", err.text);
    check_array(file, "doubles", SU_F64, 2, (int64_t[]){2, 3}, doubles, true);
    check_array(file, "floats", SU_F32, 1, (int64_t[]){3}, floats, true);
    check_array(file, "integers", SU_I32, 3, (int64_t[]){2, 1, 2}, integers, true);
    check_array(file, "longs", SU_I64, 1, (int64_t[]){2}, longs, true);
    check_array(file, "bytes", SU_U8, 1, (int64_t[]){5}, bytes, true);
    check_array(file, "nothing", SU_F64, 2, (int64_t[]){0, 3}, NULL, true);
    check_array(file, "scalar", SU_F64, 0, (int64_t[]){0}, doubles + 3, true);
    assert_null(su_npz_find(file, "other"));
    assert_int_equal(su_npz_count(file), 7);
    assert_int_equal(json_integer_value(json_object_get(su_npz_meta(file), "alpha")), 3);
    assert_string_equal(json_string_value(json_object_get(su_npz_meta(file), "zeta")), "\xc3\xa9t\xc3\xa9");
    su_npz_close(file);
}

static char *slurp(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *count = (size_t)ftell(file);
    rewind(file);
    char *content = malloc(*count + 1);
    assert_int_equal(fread(content, 1, *count, file), *count);
    fclose(file);
    return content;
}

static void spill(const char *path, const void *content, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, count, file), count);
    fclose(file);
}

static void test_round_trip(void **state)
{
    (void)state;
    write_sample(own_folder_path("a.npz"), false);
    check_sample(own_folder_path("a.npz"));
    write_sample(own_folder_path("z.npz"), true);
    check_sample(own_folder_path("z.npz"));

    /* The same content gives the same bytes. */
    size_t first_count, second_count;
    write_sample(own_folder_path("b.npz"), false);
    char *first = slurp(own_folder_path("a.npz"), &first_count),
         *second = slurp(own_folder_path("b.npz"), &second_count);
    assert_int_equal(first_count, second_count);
    assert_memory_equal(first, second, first_count);
    free(first);
    free(second);
}

static void test_writer_misuse(void **state)
{
    (void)state;
    su_error err = {0};
    su_npz_writer *writer = NULL;
    json_t *meta = json_object();
    assert_int_equal(su_npz_create(own_folder_path("misuse.npz"), &writer, &err), SU_OK);
    assert_int_equal(su_npz_add(writer, "x", SU_F64, 1, (int64_t[]){2}, doubles, &err), SU_OK);
    assert_int_equal(su_npz_add(writer, "x", SU_F64, 1, (int64_t[]){2}, doubles, &err), SU_FAILED);
    assert_int_equal(su_npz_add(writer, "y", SU_F64, 1, (int64_t[]){-1}, doubles, &err), SU_FAILED);
    assert_int_equal(su_npz_add(writer, "y", SU_F64, 2, (int64_t[]){1LL << 40, 1LL << 40}, doubles, &err), SU_FAILED);
    assert_int_equal(su_npz_begin(writer, "y", SU_F64, 1, (int64_t[]){2}, &err), SU_OK);
    assert_int_equal(su_npz_append(writer, doubles, 3, &err), SU_FAILED);
    assert_int_equal(su_npz_append(writer, doubles, 1, &err), SU_OK);
    assert_int_equal(su_npz_end(writer, &err), SU_FAILED);
    assert_int_equal(su_npz_commit(writer, meta, &err), SU_FAILED); /* frees, writes nothing */
    assert_int_equal(access(own_folder_path("misuse.npz"), F_OK), -1);
    su_npz_abandon(NULL);
    json_decref(meta);
}

/* Runs a Python script with the folder as its argument; false where Python or NumPy is missing. */
static bool python(const char *script)
{
    /* Debian's NumPy belongs to Debian's Python, which need not be the first in PATH. */
    static const char *const interpreters[] = {"python3", "/usr/bin/python3"};
    char command[200];
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command, "%s -c 'import numpy' 2>/dev/null", interpreters[i]);
        if (system(command) != 0) continue;
        spill(own_folder_path("script.py"), script, strlen(script));
        snprintf(command, sizeof command, "%s %s/script.py %s", interpreters[i], own_folder, own_folder);
        assert_int_equal(system(command), 0);
        return true;
    }
    return false;
}

static void test_numpy_reads(void **state)
{
    (void)state;
    write_sample(own_folder_path("a.npz"), false);
    write_sample(own_folder_path("z.npz"), true);
    if (!python("import sys, json, zipfile, numpy as np\n"
                "for name in 'a.npz', 'z.npz':\n"
                "    path = sys.argv[1] + '/' + name\n"
                "    assert zipfile.ZipFile(path).testzip() is None\n"
                "    assert all(i.date_time == (1980, 1, 1, 0, 0, 0) for i in zipfile.ZipFile(path).infolist())\n"
                "    assert zipfile.ZipFile(path).namelist()[-1] == 'meta.json'\n"
                "    f = np.load(path)\n"
                "    d = f['doubles']\n"
                "    assert d.dtype == np.float64 and d.shape == (2, 3) and d[1, 0] == np.pi and d.flags.c_contiguous\n"
                "    assert f['floats'].dtype == np.float32 and f['floats'][1] == np.float32(0.1)\n"
                "    assert f['integers'].dtype == np.int32 and f['integers'].shape == (2, 1, 2)\n"
                "    assert f['longs'].dtype == np.int64 and f['longs'][0] == -9000000000\n"
                "    assert f['bytes'].dtype == np.uint8 and list(f['bytes']) == [0, 1, 2, 254, 255]\n"
                "    assert f['nothing'].shape == (0, 3) and f['scalar'] == np.pi\n"
                "    assert json.loads(zipfile.ZipFile(path).read('meta.json')) == "
                "{'alpha': 3, 'nu': 0.45, 'zeta': '\\u00e9t\\u00e9'}\n"))
        skip();
}

static void test_numpy_writes(void **state)
{
    (void)state;
    if (!python(
            "import sys, numpy as np\n"
            "p = sys.argv[1] + '/'\n"
            "d = np.arange(24.).reshape(2, 3, 4)\n"
            "a = dict(c=d, f=np.asfortranarray(d), i=np.arange(-2, 4), h=np.arange(5, dtype='i4'),\n"
            "         flags=np.array([True, False]), small=np.array([0, 127], 'i1'), big=np.arange(3, dtype='>f8'),\n"
            "         text=np.array(['x']), record=np.zeros(2, [('a', 'f4'), ('b', 'i4', (2,))]),\n"
            "         seven=np.zeros((1,) * 7), negative=np.array([-1], 'i1'), empty=np.zeros((0, 3)))\n"
            "np.savez(p + 'stored.npz', **a)\n"
            "np.savez_compressed(p + 'deflated.npz', **a)\n"
            "np.save(p + 'f.npy', np.asfortranarray(d))\n"
            "np.save(p + 'text.npy', np.array(['x']))\n"
            "with open(p + 'v2.npy', 'wb') as f: np.lib.format.write_array(f, d.astype('f4'), version=(2, 0))\n"))
        skip();
    su_error err = {0};
    for (int k = 0; k < 2; k++) {
        su_npz *file = NULL;
        if (su_npz_open(own_folder_path(k ? "deflated.npz" : "stored.npz"), &file, &err) != SU_OK)
            fail_msg("%s", err.text);
        double wanted[24];
        for (int i = 0; i < 24; i++) wanted[i] = i;
        check_array(file, "c", SU_F64, 3, (int64_t[]){2, 3, 4}, wanted, true);
        check_array(file, "f", SU_F64, 3, (int64_t[]){2, 3, 4}, wanted, true);
        check_array(file, "i", SU_I64, 1, (int64_t[]){6}, (int64_t[]){-2, -1, 0, 1, 2, 3}, true);
        check_array(file, "h", SU_I32, 1, (int64_t[]){5}, (int32_t[]){0, 1, 2, 3, 4}, true);
        check_array(file, "flags", SU_U8, 1, (int64_t[]){2}, (uint8_t[]){1, 0}, true);
        check_array(file, "small", SU_U8, 1, (int64_t[]){2}, (uint8_t[]){0, 127}, true);
        check_array(file, "empty", SU_F64, 2, (int64_t[]){0, 3}, NULL, true);
        assert_int_equal(json_object_size(su_npz_meta(file)), 0);

        const char *refused[] = {"big", "text", "record", "seven"};
        for (int i = 0; i < 4; i++) {
            assert_null(su_npz_find(file, refused[i]));
            assert_non_null(su_npz_refused(file, refused[i]));
        }
        assert_non_null(strstr(su_npz_refused(file, "big"), "big-endian"));
        assert_null(su_npz_refused(file, "c"));
        const void *data;
        assert_int_equal(su_npz_data(file, su_npz_find(file, "negative"), &data, &err), SU_INPUT);

        int32_t narrow[6];
        double wide[6];
        uint8_t tiny[6];
        assert_int_equal(su_npz_copy(file, su_npz_find(file, "i"), SU_I32, narrow, &err), SU_OK);
        assert_int_equal(narrow[0], -2);
        assert_int_equal(su_npz_copy(file, su_npz_find(file, "i"), SU_F64, wide, &err), SU_OK);
        assert_true(wide[5] == 3);
        assert_int_equal(su_npz_copy(file, su_npz_find(file, "i"), SU_U8, tiny, &err), SU_INPUT);
        su_npz_close(file);
    }

    int dimensions;
    int64_t shape[SU_MAX_DIMENSIONS];
    void *data;
    const char *names[] = {"f.npy", "v2.npy"};
    for (int k = 0; k < 2; k++) {
        if (su_npy_load(own_folder_path(names[k]), SU_F64, &dimensions, shape, &data, &err) != SU_OK)
            fail_msg("%s", err.text);
        assert_int_equal(dimensions, 3);
        assert_int_equal(shape[2], 4);
        for (int i = 0; i < 24; i++) assert_true(((double *)data)[i] == i);
        free(data);
    }
    assert_int_equal(su_npy_load(own_folder_path("text.npy"), SU_F64, &dimensions, shape, &data, &err), SU_INPUT);
    assert_int_equal(su_npy_load(own_folder_path("stored.npz"), SU_F64, &dimensions, shape, &data, &err), SU_INPUT);
    assert_int_equal(su_npy_load(own_folder_path("absent.npy"), SU_F64, &dimensions, shape, &data, &err), SU_INPUT);
}

static void test_npy(void **state)
{
    (void)state;
    su_error err = {0};
    int dimensions;
    int64_t shape[SU_MAX_DIMENSIONS];
    void *data;
    assert_int_equal(su_npy_save(own_folder_path("one.npy"), SU_F64, 2, (int64_t[]){3, 2}, doubles, &err), SU_OK);
    assert_int_equal(su_npy_load(own_folder_path("one.npy"), SU_F64, &dimensions, shape, &data, &err), SU_OK);
    assert_int_equal(dimensions, 2);
    assert_int_equal(shape[0], 3);
    assert_memory_equal(data, doubles, sizeof doubles);
    free(data);
    assert_int_equal(su_npy_load(own_folder_path("one.npy"), SU_F32, &dimensions, shape, &data, &err),
                     SU_INPUT); /* 1e300 */
    size_t count;
    char *content = slurp(own_folder_path("one.npy"), &count);
    for (size_t cut = 0; cut < count; cut++) {
        spill(own_folder_path("cut.npy"), content, cut);
        assert_int_equal(su_npy_load(own_folder_path("cut.npy"), SU_F64, &dimensions, shape, &data, &err), SU_INPUT);
    }
    free(content);
}

/* Opens and reads everything; any outcome but a crash is fine here, the caller judges the status. */
static su_status read_all(const char *path)
{
    su_error err = {0};
    su_npz *file = NULL;
    su_status status = su_npz_open(path, &file, &err);
    for (int i = 0; status == SU_OK && i < su_npz_count(file); i++) {
        const void *data;
        status = su_npz_data(file, su_npz_entry_at(file, i), &data, &err);
    }
    if (status != SU_OK && !strstr(err.text, own_folder)) fail_msg("message without the file's name: %s", err.text);
    su_npz_close(file);
    return status;
}

/* A smaller file, so that every truncation and every bit can be tried. */
static void write_small(const char *path, bool deflated)
{
    su_error err = {0};
    su_npz_writer *writer = NULL;
    if (deflated && python("import sys, zipfile, numpy as np\n"
                           "p = sys.argv[1] + '/small.npz'\n"
                           "np.savez_compressed(p, x=np.arange(6.), i=np.arange(3))\n"
                           "zipfile.ZipFile(p, 'a').writestr('meta.json', '{\"kind\": \"supple.tet\"}')\n"))
        return;
    json_t *meta = json_pack("{s:s}", "kind", "supple.tet");
    assert_int_equal(su_npz_create(path, &writer, &err), SU_OK);
    assert_int_equal(su_npz_add(writer, "x", SU_F64, 1, (int64_t[]){6}, doubles, &err), SU_OK);
    assert_int_equal(su_npz_add(writer, "i", SU_I64, 1, (int64_t[]){2}, longs, &err), SU_OK);
    assert_int_equal(su_npz_commit(writer, meta, &err), SU_OK);
    json_decref(meta);
}

static void test_truncation(void **state)
{
    (void)state;
    for (int deflated = 0; deflated < 2; deflated++) {
        size_t count;
        write_small(own_folder_path("small.npz"), deflated);
        char *content = slurp(own_folder_path("small.npz"), &count);
        assert_int_equal(read_all(own_folder_path("small.npz")), SU_OK);
        for (size_t cut = 0; cut < count; cut++) {
            spill(own_folder_path("cut.npz"), content, cut);
            assert_int_equal(read_all(own_folder_path("cut.npz")), SU_INPUT);
        }
        free(content);
    }
    assert_int_equal(read_all(own_folder_path("absent.npz")), SU_INPUT);
    assert_int_equal(read_all(own_folder), SU_INPUT);
}

/* Every single flipped bit: never a crash, and array data never come back changed without a message. */
static void test_bit_flips(void **state)
{
    (void)state;
    for (int deflated = 0; deflated < 2; deflated++) {
        size_t count;
        write_small(own_folder_path("small.npz"), deflated);
        char *content = slurp(own_folder_path("small.npz"), &count);
        for (size_t bit = 0; bit < 8 * count; bit++) {
            content[bit / 8] ^= (char)(1 << bit % 8);
            spill(own_folder_path("flip.npz"), content, count);
            su_status status = read_all(own_folder_path("flip.npz"));
            if (status != SU_OK && status != SU_INPUT) fail_msg("bit %zu ends with status %d", bit, status);
            content[bit / 8] ^= (char)(1 << bit % 8);
        }
        free(content);
    }
}

/* A flip inside array data is always found. */
static void test_checksum(void **state)
{
    (void)state;
    size_t count;
    write_small(own_folder_path("small.npz"), false);
    char *content = slurp(own_folder_path("small.npz"), &count);
    char *data = memmem(content, count, doubles, sizeof doubles);
    assert_non_null(data);
    assert_int_equal((data - content) % 64, 0);
    data[3] ^= 1;
    spill(own_folder_path("flip.npz"), content, count);
    assert_int_equal(read_all(own_folder_path("flip.npz")), SU_INPUT);
    free(content);
}

static void put(char *at, uint64_t value, int count)
{
    for (int i = 0; i < count; i++) at[i] = (char)(value >> (8 * i));
}

/* Directories that lie: sizes and offsets beyond the file, members that overlap, a bomb's size. */
static void test_lies(void **state)
{
    (void)state;
    static const struct {
        int field, bytes;
        uint64_t value;
    } lies[] = {
        {20, 4, 0xfffffffe}, {24, 4, 0xfffffffe}, {20, 4, 0xffffffff}, {42, 4, 0xfffffff0}, {42, 4, 0},
        {28, 2, 0xffff},     {30, 2, 0xffff},     {10, 2, 12},         {8, 2, 1},           {24, 4, 0x7fffffff},
    };
    for (int deflated = 0; deflated < 2; deflated++) {
        size_t count;
        write_small(own_folder_path("small.npz"), deflated);
        char *content = slurp(own_folder_path("small.npz"), &count);
        char *first = memmem(content, count, "PK\1\2", 4);
        char *second = memmem(first + 4, count - (size_t)(first + 4 - content), "PK\1\2", 4);
        assert_non_null(second);
        for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
            char before[46];
            memcpy(before, second, sizeof before);
            put(second + lies[i].field, lies[i].value, lies[i].bytes);
            spill(own_folder_path("lie.npz"), content, count);
            if (read_all(own_folder_path("lie.npz")) != SU_INPUT) fail_msg("lie %zu was believed", i);
            memcpy(second, before, sizeof before);
        }
        free(content);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_writer_misuse), cmocka_unit_test(test_numpy_reads),
        cmocka_unit_test(test_numpy_writes), cmocka_unit_test(test_npy),           cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_bit_flips),    cmocka_unit_test(test_checksum),      cmocka_unit_test(test_lies),
    };
    return cmocka_run_group_tests(tests, own_folder_make, own_folder_remove);
}
