#include "io/usd/usd_file.h"

#include "core/file.h"
#include "io/usd/usda_read.h"
#include "io/usd/usdc_read.h"
#include "io/usd/usdc_values.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static uint32_t number(const char *at, int bytes)
{
    uint32_t out = 0;
    for (int i = 0; i < bytes; i++) out |= (uint32_t)(unsigned char)at[i] << (8 * i);
    return out;
}

/* A file of a package, the first or that of a name: a ZIP whose files are stored as they are, one behind the other.
 * False: it has none. *name (NULL: none) is what it is called, which the caller frees. */
static bool unwrap(const char **at, size_t *bytes, const char *wanted, char **name)
{
    enum { HEADER = 30, METHOD = 8, SIZE = 18, NAME = 26, EXTRA = 28 }; /* of a local file header */
    while (*bytes >= HEADER && memcmp(*at, "PK\3\4", 4) == 0 && number(*at + METHOD, 2) == 0) {
        size_t length = number(*at + NAME, 2), begin = HEADER + length + number(*at + EXTRA, 2),
               size = number(*at + SIZE, 4);
        if (begin > *bytes || size > *bytes - begin) return false;
        const char *own = *at + HEADER;
        bool found = !wanted || (strlen(wanted) == length && memcmp(wanted, own, length) == 0);
        if (found) *name = strndup(own, length);
        *at += begin, *bytes = found ? size : *bytes - begin - size;
        if (!found && *bytes) *at += size;
        if (found) return true;
    }
    return false;
}

/* What is mapped, as a layer. */
static su_status read_layer(su_usd_layer *layer, const char *entry, su_error *err)
{
    enum { SHORTEST = 10 };
    const char *at = layer->map, *path = layer->path;
    size_t bytes = layer->bytes;
    if (memcmp(at, "PK\3\4", 4) == 0) {
        bool found = unwrap(&at, &bytes, entry, &layer->entry);
        if (found && !layer->entry) return su_fail(err, SU_AGAIN, "%s: out of memory", path);
        if (!found && entry) return su_fail(err, SU_INPUT, "%s: has no file %s", path, entry);
        if (!found || bytes < SHORTEST)
            return su_fail(err, SU_INPUT, "%s: is no package of USD layers: its first file is packed or cut off", path);
    } else if (entry) {
        return su_fail(err, SU_INPUT, "%s: is no package", path);
    }
    if (bytes >= SHORTEST && memcmp(at, "PXR-USDC", 8) == 0) return su_usdc_read(layer, at, bytes, err);
    if (bytes >= SHORTEST && memcmp(at, "#usda ", 6) == 0) return su_usda_read(layer, at, bytes, err);
    return su_fail(err, SU_INPUT, "%s: is no USD layer", path);
}

su_status su_usd_open_layer(const char *path, const char *entry, su_usd_layer *layer, su_error *err)
{
    enum { SHORTEST = 10 };
    struct stat info;
    *layer = (su_usd_layer){.meters = 0.01, .codes_per_second = 24.0, .up = 'Y'};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return su_fail(err, su_file_status(errno, SU_INPUT), "%s: cannot open: %s", path, strerror(errno));
    su_status status = SU_OK;
    if (!(layer->path = strdup(path)))
        status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
    else if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < SHORTEST)
        status = su_fail(err, SU_INPUT, "%s: is no USD layer", path);
    else {
        void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED)
            status = su_fail(err, SU_AGAIN, "%s: cannot map: %s", path, strerror(errno));
        else
            layer->map = map, layer->bytes = (size_t)info.st_size;
    }
    close(fd);
    if (status == SU_OK) status = read_layer(layer, entry, err);
    if (status != SU_OK) su_usd_close(layer);
    return status;
}

void su_usd_close(su_usd_layer *layer)
{
    for (int64_t i = 0; i < layer->attributes; i++) free(layer->attribute[i].sample);
    for (int64_t i = 0; i < layer->parts; i++) {
        su_usd_close(layer->part[i]);
        free(layer->part[i]);
    }
    free(layer->attribute), free(layer->prim), free(layer->arc), free(layer->path), free(layer->entry);
    free(layer->part), free(layer->file), free(layer->origin), free(layer->missing);
    su_arena_free(&layer->arena);
    su_crate_free(layer->crate);
    if (layer->map) munmap((void *)layer->map, layer->bytes);
    *layer = (su_usd_layer){0};
}
