/* What moved in a shot, said: a few lines of text, and numbers. */
#ifndef SU_ESTIMATE_MOVED_TEXT_H
#define SU_ESTIMATE_MOVED_TEXT_H

#include "core/error.h"
#include "estimate/what_moved.h"
#include "io/stage/anim.h"

#include <jansson.h>
#include <stdio.h>

/* The joints that moved most, in per cent of the character's diagonal, and a hint where the body hardly moves. `anim`
 * names the joints, `shot` is what the text calls it. Written to `screen` and into the file `path`; either may be NULL.
 */
su_status su_moved_write(const su_moved *moved, const su_anim *anim, const char *shot, FILE *screen, const char *path,
                         su_error *err);

/* The same as an object, shares of the diagonal. A new reference; NULL where memory is missing. */
json_t *su_moved_json(const su_moved *moved, const su_anim *anim);

#endif
