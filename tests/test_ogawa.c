/* The hashes against the format page's test values, and the container: what is written comes back, what is damaged is
 * refused. */
#include "io/alembic/abc_hash.h"
#include "io/alembic/ogawa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static void hex(const uint64_t digest[2], char text[33])
{
    uint8_t bytes[16];
    memcpy(bytes, digest, sizeof bytes);
    for (int i = 0; i < 16; i++) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static void hashes_match_published_values(void **state)
{
    (void)state;
    static const struct {
        size_t length;
        const char *murmur, *spooky;
    } rows[] = {
        {0, "00000000000000000000000000000000", "1909f56bfc062723c751e8b465ee728b"},
        {15, "e92549fd98152347e97dc688ee6d84cd", "8b27dc65de86aad9104a2a55640524da"},
        {16, "303f9091b524494445e82f76566490ab", "51261f33d62502343d589a93237c6e88"},
        {31, "94d02ca3e1d33d05905400b4ef9ae59e", "09fe1f766c2a96a37a19c34adac78f67"},
        {32, "0f502fb622906dc65111c3346e0a051c", "d23f62e2680bf5578b1994f9ef243989"},
        {191, "0154f04d0ae311de0630045fc80fb641", "2f46bbb5033a047138b693a8d00a7dfe"},
        {192, "4618753476de5f8394d1e00207eeaaf5", "541aa3b2943fd102d3858d75db93a30e"},
        {300, "116e53684c44b3016f376da8137c4634", "fa61cc33373b867ccfe7295f8a750acc"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t *message = malloc(rows[i].length + 1); /* exact size: the sanitizer sees reads beyond */
        uint64_t digest[2];
        char text[33];
        for (size_t k = 0; k < rows[i].length; k++) message[k] = (uint8_t)k;
        su_murmur3(message, rows[i].length, digest);
        hex(digest, text);
        assert_string_equal(text, rows[i].murmur);
        su_spooky(message, rows[i].length, digest);
        hex(digest, text);
        assert_string_equal(text, rows[i].spooky);
        free(message);
    }
}

/* A root group of: data "abc", empty data, empty group, a group that names the same data twice. */
static void write_sample(void)
{
    su_error err;
    su_ogawa_writer *writer;
    su_ogawa_ref children[4], twice[2], root;
    assert_int_equal(su_ogawa_create(path, &writer, &err), SU_OK);
    assert_int_equal(su_ogawa_put_data(writer, "a", 1, "bc", 2, &children[0], &err), SU_OK);
    assert_int_equal(su_ogawa_put_data(writer, NULL, 0, NULL, 0, &children[1], &err), SU_OK);
    assert_int_equal(su_ogawa_put_group(writer, 0, NULL, &children[2], &err), SU_OK);
    twice[0] = twice[1] = children[0];
    assert_int_equal(su_ogawa_put_group(writer, 2, twice, &children[3], &err), SU_OK);
    assert_int_equal(su_ogawa_put_group(writer, 4, children, &root, &err), SU_OK);
    assert_int_not_equal(access(path, F_OK), 0); /* no file under the final name before the commit */
    assert_int_equal(su_ogawa_commit(writer, root, &err), SU_OK);
}

static void written_blocks_come_back(void **state)
{
    (void)state;
    su_error err;
    su_ogawa *file;
    uint64_t count, size;
    su_ogawa_ref *children, *inner;
    char text[4] = "";
    write_sample();
    assert_int_equal(su_ogawa_open(path, &file, &err), SU_OK);
    assert_int_equal(su_ogawa_group(file, su_ogawa_root(file), &count, &children, &err), SU_OK);
    assert_int_equal(count, 4);
    assert_true(children[1] == SU_OGAWA_EMPTY_DATA && children[2] == SU_OGAWA_EMPTY_GROUP);
    assert_int_equal(su_ogawa_size(file, children[0], &size, &err), SU_OK);
    assert_int_equal(size, 3);
    assert_int_equal(su_ogawa_read(file, children[0], 0, text, 3, &err), SU_OK);
    assert_string_equal(text, "abc");
    assert_int_equal(su_ogawa_size(file, children[1], &size, &err), SU_OK);
    assert_int_equal(size, 0);
    assert_int_equal(su_ogawa_group(file, children[3], &count, &inner, &err), SU_OK);
    assert_int_equal(count, 2);
    assert_true(inner[0] == children[0] && inner[1] == children[0]);
    /* beyond a block, of the wrong kind */
    assert_int_equal(su_ogawa_read(file, children[0], 1, text, 3, &err), SU_INPUT);
    assert_int_equal(su_ogawa_size(file, children[3], &size, &err), SU_INPUT);
    free(inner);
    assert_int_equal(su_ogawa_group(file, children[0], &count, &inner, &err), SU_INPUT);
    free(children);
    su_ogawa_close(file);
    unlink(path);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    su_error err;
    su_ogawa *file;
    uint8_t bytes[256];
    write_sample();
    FILE *stream = fopen(path, "rb");
    size_t size = fread(bytes, 1, sizeof bytes, stream);
    fclose(stream);
    static const struct {
        size_t at;
        uint8_t value;
    } flips[] = {{0, 'o'}, {5, 0}, {6, 1}, {7, 0}, {15, 0x80}, {8, 1}};
    for (size_t i = 0; i < sizeof flips / sizeof *flips; i++) {
        uint8_t keep = bytes[flips[i].at];
        bytes[flips[i].at] = flips[i].value;
        stream = fopen(path, "wb");
        fwrite(bytes, 1, size, stream);
        fclose(stream);
        bytes[flips[i].at] = keep;
        assert_int_equal(su_ogawa_open(path, &file, &err), SU_INPUT);
        assert_non_null(strstr(err.text, path));
    }
    for (size_t cut = 0; cut < size; cut++) { /* the root group stands last: every cut reaches it */
        uint64_t count;
        su_ogawa_ref *children;
        stream = fopen(path, "wb");
        fwrite(bytes, 1, cut, stream);
        fclose(stream);
        su_status status = su_ogawa_open(path, &file, &err);
        if (status == SU_OK) {
            status = su_ogawa_group(file, su_ogawa_root(file), &count, &children, &err);
            su_ogawa_close(file);
        }
        assert_int_equal(status, SU_INPUT);
    }
    unlink(path);
}

static void abandoned_files_leave_nothing(void **state)
{
    (void)state;
    su_error err;
    su_ogawa_writer *writer;
    su_ogawa_ref ref;
    char pattern[128];
    assert_int_equal(su_ogawa_create(path, &writer, &err), SU_OK);
    assert_int_equal(su_ogawa_put_data(writer, "a", 1, NULL, 0, &ref, &err), SU_OK);
    su_ogawa_abandon(writer);
    assert_int_not_equal(access(path, F_OK), 0);
    snprintf(pattern, sizeof pattern, "ls %s.tmp.* 2>/dev/null | grep -q .", path);
    assert_int_not_equal(system(pattern), 0);
    assert_int_equal(su_ogawa_create("/nonexistent/a.abc", &writer, &err), SU_FAILED);
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/test_ogawa_%d.abc", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_match_published_values),
        cmocka_unit_test(written_blocks_come_back),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(abandoned_files_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
