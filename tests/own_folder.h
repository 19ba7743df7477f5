/* A folder of a test's own, for cmocka's group: made before, removed with all in it behind. */
#ifndef TESTS_OWN_FOLDER_H
#define TESTS_OWN_FOLDER_H

extern char own_folder[]; /* its path, between the two */

int own_folder_make(void **state);
int own_folder_remove(void **state);
/* The path of a file in it; valid until the eighth call behind. */
const char *own_folder_path(const char *name);

#endif
