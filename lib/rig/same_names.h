/* Joints of two files that mean the same though they are called differently: programs put words in front of all names
 * ("Hips", "EthanHips"; "Bip01 Head", "Bip001 Head") and numbers behind them ("Hips_01", "LeftArm_09"). */
#ifndef SU_RIG_SAME_NAMES_H
#define SU_RIG_SAME_NAMES_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the other file first, and of this one. */
typedef struct su_same_names {
    const char *head[2]; /* words in front that count as the same, not ended by 0 */
    size_t length[2];    /* of these, bytes */
    bool numbered[2];    /* "_" and digits at the end of a name count for nothing */
} su_same_names;

/* The name behind "namespace:". */
const char *su_plain_name(const char *name);

/* Are names the same by the rule (NULL: behind their namespaces alone)? */
bool su_names_are_same(const su_same_names *rule, const char *there, const char *here);

/* The rule by which most of the names `there` (count) are found `here` (nodes; NULL: not a joint), each as one alone,
 * half of them at least; fewer than two may agree by chance. numbers: of those that leave numbers out, else of those
 * that do not. *found: how many, 0: there is none. Time goes with both numbers together and with how many rules names
 * propose, each the one before the longest end that its name has in common with one here. */
su_status su_same_names_find(int64_t count, const char *const *there, int64_t nodes, const char *const *here,
                             bool numbers, su_same_names *out, int64_t *found, su_error *err);

#endif
