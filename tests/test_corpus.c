/* Every file of tests/corpus/ is read to the end: small files of each format and what fuzzing found. A crash here is
 * the finding; `make check SAN=1` looks closest. */
#include "readers.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void test_reader(void **state)
{
    const file_reader *reader = *state;
    char folder[] = "/tmp/supple-corpus.XXXXXX", path[600], command[100];
    struct dirent **entries;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "tests/corpus/%s", reader->name); /* tests run in the project's folder */
    int count = scandir(path, &entries, NULL, alphasort), read = 0;
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.') {
            snprintf(path, sizeof path, "tests/corpus/%s/%s", reader->name, entries[i]->d_name);
            reader->run(path, folder, false);
            read++;
        }
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    if (read < 2) fail_msg("tests/corpus/%s holds %d files", reader->name, read);
}

int main(void)
{
    struct CMUnitTest tests[20] = {{0}};
    int count = 0;
    for (const file_reader *at = file_readers; at->name; at++)
        tests[count++] = (struct CMUnitTest){at->name, test_reader, NULL, NULL, (void *)at};
    return _cmocka_run_group_tests("corpus", tests, (size_t)count, NULL, NULL);
}
