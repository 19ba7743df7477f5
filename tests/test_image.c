/* Images for machines: halves are the nearest, wrong sizes and missing rows are refused, nothing half stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/cache/image.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static double value_of(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                  : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                 : ldexp(fraction, -24);
    return half & 0x8000 ? -size : size;
}

/* Every half comes back, and what lies between two goes to the nearer, ties to the even one. */
static void halves_are_the_nearest(void **unused)
{
    (void)unused;
    for (uint32_t h = 0; h < 0x7c00; h++) {
        double value = value_of((uint16_t)h), next = h + 1 < 0x7c00 ? value_of((uint16_t)(h + 1)) : 65536.0,
               middle = 0.5 * (value + next);
        assert_int_equal(su_half_of((float)value), h);
        assert_int_equal(su_half_of(-(float)value), h | 0x8000);
        assert_int_equal(su_half_of((float)middle), h + (h & 1));
        assert_int_equal(su_half_of(nextafterf((float)middle, 0.0f)), h);
        assert_int_equal(su_half_of(nextafterf((float)middle, 1e30f)), h + 1);
    }
    assert_int_equal(su_half_of(INFINITY), 0x7c00);
    assert_int_equal(su_half_of(-1e30f), 0xfc00);
    assert_true(isnan(value_of(su_half_of(NAN))));
}

static void incomplete_images_do_not_appear(void **unused)
{
    (void)unused;
    static const char *const names[] = {"float.exr", "half.exr", "x.png"};
    su_error err;
    su_image_writer *image;
    const float row[6] = {0, 0.5f, 1, 2, -1, 0.25f};
    char path[64];
    for (int kind = 0; kind < 3; kind++) {
        snprintf(path, sizeof path, "/tmp/supple-image-%ld-%s", (long)getpid(), names[kind]);
        assert_int_equal(su_image_create(path, (su_image_kind)kind, 0, 2, &image, &err), SU_USAGE);
        assert_int_equal(su_image_create(path, (su_image_kind)kind, 2, 65536, &image, &err), SU_USAGE);
        assert_int_equal(su_image_create(path, (su_image_kind)kind, 2, 2, &image, &err), SU_OK);
        assert_int_equal(su_image_row(image, row, &err), SU_OK);
        assert_int_equal(su_image_commit(image, &err), SU_FAILED);
        assert_int_not_equal(access(path, F_OK), 0);
        assert_int_equal(su_image_create(path, (su_image_kind)kind, 2, 2, &image, &err), SU_OK);
        assert_int_equal(su_image_row(image, row, &err), SU_OK);
        assert_int_equal(su_image_row(image, row, &err), SU_OK);
        assert_int_equal(su_image_row(image, row, &err), SU_FAILED); /* one too many: it stays complete */
        assert_int_equal(su_image_commit(image, &err), SU_OK);
        assert_int_equal(access(path, F_OK), 0);
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(halves_are_the_nearest),
                                       cmocka_unit_test(incomplete_images_do_not_appear)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
