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

/* The first file of a package, which is its root layer: a ZIP whose files are stored as they are. False: it is none. */
static bool unwrap(const char **at, size_t *bytes)
{
    enum { HEADER = 30, METHOD = 8, SIZE = 18, NAME = 26, EXTRA = 28 }; /* of a local file header */
    if (*bytes < HEADER || number(*at + METHOD, 2) != 0) return false;
    size_t begin = HEADER + number(*at + NAME, 2) + number(*at + EXTRA, 2), size = number(*at + SIZE, 4);
    if (begin > *bytes || size > *bytes - begin) return false;
    *at += begin, *bytes = size;
    return true;
}

su_status su_usd_open(const char *path, su_usd_layer *layer, su_error *err)
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
    const char *at = layer->map;
    size_t bytes = layer->bytes;
    if (status == SU_OK && memcmp(at, "PK\3\4", 4) == 0 && (!unwrap(&at, &bytes) || bytes < SHORTEST))
        status = su_fail(err, SU_INPUT, "%s: is no package of USD layers: its first file is packed or cut off", path);
    if (status == SU_OK) {
        if (memcmp(at, "PXR-USDC", 8) == 0)
            status = su_usdc_read(layer, at, bytes, err);
        else if (memcmp(at, "#usda ", 6) == 0)
            status = su_usda_read(layer, at, bytes, err);
        else
            status = su_fail(err, SU_INPUT, "%s: is no USD layer", path);
    }
    if (status != SU_OK) su_usd_close(layer);
    return status;
}

void su_usd_close(su_usd_layer *layer)
{
    for (int64_t i = 0; i < layer->attributes; i++) free(layer->attribute[i].sample);
    free(layer->attribute), free(layer->prim), free(layer->path);
    su_crate_free(layer->crate);
    if (layer->map) munmap((void *)layer->map, layer->bytes);
    *layer = (su_usd_layer){0};
}
