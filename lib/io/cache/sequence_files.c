#include "io/cache/sequence_files.h"

#include "core/file.h"
#include "core/order.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The frame number in a name: "%04d", "####" (Nuke, RV; two or more), "$F4" (Houdini). *before characters stand in
 * front, *after points behind it, *width is 4. False where there is none, or more than one. */
static bool conversion(const char *name, size_t *before, int *width, const char **after)
{
    const char *p = name;
    int found = 0;
    while (*p) {
        const char *start = p;
        int digits = 0;
        if (*p == '%') {
            if (*++p == '0')
                while (isdigit((unsigned char)*p) && digits < 100) digits = 10 * digits + (*p++ - '0');
            if (*p++ != 'd') return false;
        } else if (p[0] == '$' && p[1] == 'F') {
            p += 2;
            if (*p >= '1' && *p <= '9') digits = *p++ - '0';
        } else if (p[0] == '#' && p[1] == '#') {
            while (*p == '#') p++, digits++;
        } else {
            p++;
            continue;
        }
        if (found++ || digits > 18) return false;
        *before = (size_t)(start - name), *width = digits, *after = p;
    }
    return found == 1;
}

bool su_is_pattern(const char *path)
{
    size_t before;
    int width;
    const char *after, *name = su_base_name(path);
    return strpbrk(name, "%*?") || conversion(name, &before, &width, &after);
}

su_status su_pattern_path(const char *pattern, int64_t number, char **path, su_error *err)
{
    size_t before, folder = (size_t)(su_base_name(pattern) - pattern);
    int width;
    const char *after;
    if (!conversion(pattern + folder, &before, &width, &after))
        return su_fail(err, SU_USAGE, "%s: give the file name exactly one frame number such as %%04d, #### or $F4",
                       pattern);
    if (asprintf(path, "%.*s%0*lld%s", (int)(folder + before), pattern, width, (long long)number, after) < 0)
        return su_fail(err, SU_AGAIN, "%s: out of memory", pattern);
    return SU_OK;
}

typedef struct found {
    char *name;
    int64_t number; /* -1: none */
} found;

static int by_number(const void *a, const void *b)
{
    const found *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Last run of digits before the extension; -1: none. */
static int64_t last_number(const char *name)
{
    const char *dot = strrchr(name, '.'), *end = dot ? dot : name + strlen(name);
    while (end > name && !isdigit((unsigned char)end[-1])) end--;
    const char *start = end;
    while (start > name && isdigit((unsigned char)start[-1])) start--;
    return start < end && end - start <= 18 ? strtoll(start, NULL, 10) : -1;
}

static bool matches(const char *name, const char *pattern, int64_t *number)
{
    size_t before;
    int width;
    const char *after;
    if (!conversion(pattern, &before, &width, &after)) {
        *number = last_number(name);
        return fnmatch(pattern, name, FNM_PERIOD) == 0;
    }
    size_t length = strlen(name), tail = strlen(after), digits = length - before - tail;
    if (length <= before + tail || digits > 18 || (int)digits < width || strncmp(name, pattern, before) != 0 ||
        strcmp(name + length - tail, after) != 0)
        return false;
    for (size_t i = 0; i < digits; i++)
        if (!isdigit((unsigned char)name[before + i])) return false;
    *number = strtoll(name + before, NULL, 10);
    return true;
}

static su_status read_folder(const char *path, const char *folder, found **out, int64_t *count, su_error *err)
{
    const char *pattern = su_base_name(path);
    int64_t capacity = 0;
    DIR *stream = opendir(folder);
    if (!stream)
        return su_fail(err, su_file_status(errno, SU_INPUT), "%s: cannot open the folder: %s", path, strerror(errno));
    su_status status = SU_OK;
    for (struct dirent *entry; status == SU_OK && (entry = readdir(stream));) {
        int64_t number;
        if (!matches(entry->d_name, pattern, &number)) continue;
        if (*count == capacity) {
            capacity = 2 * capacity + 64;
            found *grown = realloc(*out, (size_t)capacity * sizeof *grown);
            if (!grown) {
                status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
                break;
            }
            *out = grown;
        }
        (*out)[*count].number = number;
        (*out)[*count].name = strdup(entry->d_name);
        if (!(*out)[(*count)++].name) status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
    }
    closedir(stream);
    return status;
}

static su_status check_numbers(const char *path, int64_t count, const found *files, su_error *err)
{
    if (count == 0) return su_fail(err, SU_INPUT, "%s: no file matches", path);
    for (int64_t i = 1; i < count; i++) {
        if (files[i].number < 0 || files[i - 1].number < 0)
            return su_fail(err, SU_INPUT, "%s: %s has no frame number; use a pattern such as walk.%%04d.obj", path,
                           files[i - 1].name);
        if (files[i].number == files[i - 1].number)
            return su_fail(err, SU_INPUT, "%s: %s and %s have the same frame number", path, files[i - 1].name,
                           files[i].name);
        if (files[i].number != files[i - 1].number + 1)
            return su_fail(err, SU_INPUT, "%s: frame %lld is missing (%s is followed by %s)", path,
                           (long long)files[i - 1].number + 1, files[i - 1].name, files[i].name);
    }
    return SU_OK;
}

su_status su_file_list_find(const char *path, su_file_list *list, su_error *err)
{
    found one = {NULL, 0}, *files = NULL;
    int64_t count = 0;
    size_t length = (size_t)(su_base_name(path) - path);
    char *folder = length ? strndup(path, length) : strdup(".");
    su_status status = folder ? SU_OK : su_fail(err, SU_AGAIN, "%s: out of memory", path);
    *list = (su_file_list){0};
    if (status == SU_OK && su_is_pattern(path)) {
        status = read_folder(path, folder, &files, &count, err);
        if (status == SU_OK && count > 1) su_sort(files, (size_t)count, sizeof *files, by_number);
        if (status == SU_OK) status = check_numbers(path, count, files, err);
    } else if (status == SU_OK) {
        one.number = last_number(su_base_name(path));
        if (one.number < 0) one.number = 0;
        count = 1;
    }
    if (status == SU_OK && !(list->paths = calloc((size_t)count, sizeof *list->paths)))
        status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
    for (int64_t i = 0; i < count && status == SU_OK; i++) {
        if (files ? asprintf(&list->paths[i], "%.*s%s", (int)length, path, files[i].name) < 0
                  : !(list->paths[i] = strdup(path))) {
            list->paths[i] = NULL;
            status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
        }
        list->count = i + 1;
    }
    if (status == SU_OK) {
        list->first = files ? files[0].number : one.number;
        if (list->first < 0) list->first = 0;
    } else {
        su_file_list_free(list);
    }
    for (int64_t i = 0; i < count && files; i++) free(files[i].name);
    free(files);
    free(folder);
    return status;
}

su_status su_numbered_neighbours(const char *path, char **pattern, int64_t *count, su_error *err)
{
    const char *name = su_base_name(path), *dot = strrchr(name, '.'), *end = dot ? dot : name + strlen(name);
    found *files = NULL;
    *pattern = NULL, *count = 1;
    while (end > name && !isdigit((unsigned char)end[-1])) end--;
    const char *start = end;
    while (start > name && isdigit((unsigned char)start[-1])) start--;
    if (start == end || end - start > 18 || su_is_pattern(path)) return SU_OK;
    char *folder = name > path ? strndup(path, (size_t)(name - path)) : strdup("."), *wanted = NULL;
    char width[16] = "%d";
    if (*start == '0') snprintf(width, sizeof width, "%%0%dd", (int)(end - start));
    su_status status = SU_OK;
    if (!folder || asprintf(&wanted, "%.*s%s%s", (int)(start - path), path, width, end) < 0)
        status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
    if (status == SU_OK) *count = 0, status = read_folder(wanted, folder, &files, count, err);
    for (int64_t i = 0; i < *count && files; i++) free(files[i].name);
    free(files), free(folder);
    if (status == SU_OK)
        *pattern = wanted;
    else
        free(wanted);
    return status;
}

void su_file_list_free(su_file_list *list)
{
    for (int64_t i = 0; i < list->count; i++) free(list->paths[i]);
    free(list->paths);
    *list = (su_file_list){0};
}
