/* A self-contained HTML page: a template with data put in. Numbers travel as one compressed binary block. */
#ifndef SU_IO_PAGE_H
#define SU_IO_PAGE_H

#include "core/error.h"

#include <jansson.h>
#include <stdint.h>

typedef struct su_page su_page;

typedef enum su_page_type {
    SU_PAGE_F32,
    SU_PAGE_I16,
    SU_PAGE_U32,
    SU_PAGE_U8,
    SU_PAGE_I8,
    SU_PAGE_I32,
    SU_PAGE_F64,
    SU_PAGE_I64
} su_page_type;

su_status su_page_create(su_page **out, su_error *err);
/* An array the page's script finds under this name; count elements in all, copied: their low bytes, then the higher
 * ones, which compress better so. */
su_status su_page_add(su_page *page, const char *name, su_page_type type, int64_t count, const void *values,
                      su_error *err);
/* Doubles, stored as f32. */
su_status su_page_add_doubles(su_page *page, const char *name, int64_t count, const double *values, su_error *err);
/* Integers (frames,width) of a motion, which compress better as what they are not expected to be: stored as second
 * differences in time, modulo the type. type: I16 or I32. */
su_status su_page_add_motion(su_page *page, const char *name, su_page_type type, int64_t frames, int64_t width,
                             const void *values, su_error *err);
/* Replaces the template's line SUPPLE-DATA by the arrays and info (an object, borrowed), and saves. SU_FAILED where the
 * template is missing or has no such line. */
su_status su_page_save(su_page *page, const char *template_path, const json_t *info, const char *path, su_error *err);
void su_page_free(su_page *page);

#endif
