#include "own_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char pattern[] = "/tmp/supple-test-XXXXXX";
char own_folder[sizeof pattern];

int own_folder_make(void **state)
{
    (void)state;
    memcpy(own_folder, pattern, sizeof pattern);
    return mkdtemp(own_folder) ? 0 : -1;
}

int own_folder_remove(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", own_folder);
    return system(command);
}

const char *own_folder_path(const char *name)
{
    static char paths[8][300];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", own_folder, name);
    return path;
}
