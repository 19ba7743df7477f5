/* Colour images written row by row for machines to read: PNG with 16 bits a channel, OpenEXR in half or float,
 * uncompressed scan lines. Three channels, first row on top, no colour management. */
#ifndef SU_IO_IMAGE_H
#define SU_IO_IMAGE_H

#include "core/error.h"

#include <stdint.h>

typedef enum su_image_kind { SU_IMAGE_FLOAT, SU_IMAGE_HALF, SU_IMAGE_PNG } su_image_kind;

typedef struct su_image_writer su_image_writer;

/* Extension of the kind's files: ".exr" or ".png". */
const char *su_image_extension(su_image_kind kind);
/* Sides of 1 to 65,535 texels. The file appears under its name at commit. */
su_status su_image_create(const char *path, su_image_kind kind, int64_t width, int64_t height, su_image_writer **out,
                          su_error *err);
/* Next row: (width,3). PNG takes 0 to 1, what lies outside is cut off. */
su_status su_image_row(su_image_writer *image, const float *values, su_error *err);
/* Everything is on the disk but the name: what can still fail at commit is the rename. SU_FAILED where rows are
 * missing. */
su_status su_image_finish(su_image_writer *image, su_error *err);
/* Finishes where that has not been done. Frees the writer in every case. */
su_status su_image_commit(su_image_writer *image, su_error *err);
void su_image_abandon(su_image_writer *image);

/* Nearest IEEE half, ties to even; infinite beyond 65,504. */
uint16_t su_half_of(float value);

#endif
