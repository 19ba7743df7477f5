#include "reduce/modes/handles.h"

#include "core/file.h"
#include "core/memory.h"
#include "geometry/boxtree.h"
#include "geometry/mat3.h"
#include "geometry/tetmesh.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t su_handle_regions(int64_t count, const su_handle *handles, int32_t *region)
{
    int64_t regions = 0;
    for (int64_t h = 0; h < count; h++) {
        int64_t first = 0;
        while (strcmp(handles[first].name, handles[h].name)) first++;
        if (region) region[h] = first == h ? (int32_t)regions : region[first];
        regions += first == h;
    }
    return regions;
}

static su_status append(const su_handle *handle, int64_t *count, su_handle **handles, su_error *err)
{
    su_handle *more = realloc(*handles, (size_t)(*count + 1) * sizeof *more);
    if (!more) return su_fail(err, SU_AGAIN, "out of memory");
    *handles = more;
    more[(*count)++] = *handle;
    return SU_OK;
}

/* ---- from a file ---- */

/* One line into a handle; false: malformed. */
static bool parse_handle(const char *line, su_handle *out)
{
    const char *comma = strchr(line, ',');
    while (isspace((unsigned char)*line)) line++;
    if (!comma || comma == line) return false;
    size_t length = (size_t)(comma - line);
    while (length && isspace((unsigned char)line[length - 1])) length--;
    if (length == 0 || length >= sizeof out->name) return false;
    memcpy(out->name, line, length);
    out->name[length] = '\0';
    int count = 0;
    for (const char *at = comma + 1;; at++) {
        char *end;
        if (count == 6) return false;
        out->ends[count] = strtod(at, &end);
        if (end == at || !isfinite(out->ends[count])) return false;
        count++;
        for (at = end; isspace((unsigned char)*at);) at++;
        if (*at == '\0') break;
        if (*at != ',') return false;
    }
    if (count == 3) memcpy(out->ends + 3, out->ends, 3 * sizeof *out->ends);
    return count == 3 || count == 6;
}

su_status su_handles_read(const char *path, int64_t *count, su_handle **handles, su_error *err)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    su_status status = SU_OK;
    *count = 0, *handles = NULL;
    if (!file) return su_fail(err, su_file_status(errno, SU_INPUT), "%s: cannot be read: %s", path, strerror(errno));
    for (int64_t number = 1; status == SU_OK && getline(&line, &room, file) >= 0; number++) {
        const char *at = line;
        su_handle handle = {0};
        while (isspace((unsigned char)*at)) at++;
        if (*at == '\0' || *at == '#') continue;
        status = parse_handle(at, &handle)
                     ? append(&handle, count, handles, err)
                     : su_fail(err, SU_INPUT, "%s: line %lld: is not name,x,y,z or name,x,y,z,x,y,z", path,
                               (long long)number);
    }
    if (status == SU_OK && ferror(file)) status = su_fail(err, SU_INPUT, "%s: cannot be read", path);
    if (status == SU_OK && *count == 0) status = su_fail(err, SU_INPUT, "%s: has no handles", path);
    free(line);
    fclose(file);
    if (status != SU_OK) free(*handles), *handles = NULL;
    return status;
}

/* ---- spread over the flesh ---- */

static double square_distance(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

su_status su_handles_spread(int64_t n, const double *vertices, const uint8_t *held, int64_t count, su_handle **handles,
                            su_error *err)
{
    double *distance = NULL, mean[3] = {0}; /* squared, to the nearest point chosen; -1: held */
    int64_t unheld = 0;
    su_status status;
    *handles = NULL;
    SU_GO(SU_ALLOC_ALL("regions", err, SU_WANT(distance, n), SU_WANT(*handles, count)));
    for (int64_t v = 0; v < n; v++) {
        if (held && held[v]) continue;
        unheld++;
        for (int i = 0; i < 3; i++) mean[i] += vertices[3 * v + i];
    }
    if (unheld < count)
        SU_GO(su_fail(err, SU_INPUT, "%lld regions asked of %lld free flesh vertices", (long long)count,
                      (long long)unheld));
    for (int i = 0; i < 3; i++) mean[i] /= (double)unheld;
    for (int64_t v = 0; v < n; v++) distance[v] = held && held[v] ? -1 : square_distance(vertices + 3 * v, mean);
    for (int64_t h = 0; h < count; h++) {
        int64_t farthest = 0;
        for (int64_t v = 1; v < n; v++)
            if (distance[v] > distance[farthest]) farthest = v;
        const double *x = vertices + 3 * farthest;
        snprintf((*handles)[h].name, sizeof(*handles)[h].name, "%lld", (long long)h + 1);
        memcpy((*handles)[h].ends, x, 3 * sizeof *x), memcpy((*handles)[h].ends + 3, x, 3 * sizeof *x);
        for (int64_t v = 0; v < n; v++)
            if (distance[v] >= 0) {
                double square = square_distance(vertices + 3 * v, x);
                if (h == 0 || square < distance[v]) distance[v] = square;
            }
    }
done:
    free(distance);
    if (status != SU_OK) free(*handles), *handles = NULL;
    return status;
}

/* ---- from bones ---- */

/* One item NAME or REGION=BONE+BONE of the list, [at, end). */
static su_status add_item(const char *at, const char *end, const char *what, const su_bone_segments *bones,
                          int64_t *count, su_handle **handles, su_error *err)
{
    const char *equals = memchr(at, '=', (size_t)(end - at)), *bone = equals ? equals + 1 : at;
    size_t name_length = (size_t)((equals ? equals : end) - at);
    su_handle handle = {0};
    if (name_length == 0 || name_length >= sizeof handle.name || bone == end)
        return su_fail(err, SU_USAGE, "%s: '%.*s' is not BONE or REGION=BONE+BONE", what, (int)(end - at), at);
    memcpy(handle.name, at, name_length);
    while (bone < end) {
        const char *stop = memchr(bone, '+', (size_t)(end - bone));
        char pattern[128];
        int64_t found = 0;
        if (!stop) stop = end;
        snprintf(pattern, sizeof pattern, "%.*s", (int)(stop - bone), bone);
        for (int64_t b = 0; b < bones->count; b++) {
            if (!bones->names[b] || fnmatch(pattern, bones->names[b], 0) != 0) continue;
            memcpy(handle.ends, bones->ends + 6 * b, sizeof handle.ends);
            SU_TRY(append(&handle, count, handles, err));
            found++;
        }
        if (!found) return su_fail(err, SU_INPUT, "%s: there is no bone '%s'", what, pattern);
        bone = stop < end ? stop + 1 : end;
    }
    return SU_OK;
}

su_status su_handles_of_bones(const char *list, const char *what, const su_bone_segments *bones, int64_t *count,
                              su_handle **handles, su_error *err)
{
    su_status status = SU_OK;
    *count = 0, *handles = NULL;
    for (const char *at = list; status == SU_OK;) {
        const char *end = at + strcspn(at, ",");
        status = add_item(at, end, what, bones, count, handles, err);
        if (*end == '\0') break;
        at = end + 1;
    }
    if (status != SU_OK) free(*handles), *handles = NULL;
    return status;
}

/* ---- on the flesh ---- */

static double distance_to_handle(const su_handle *handle, const double *p)
{
    double along[3], to[3], at[3];
    su_sub3(handle->ends + 3, handle->ends, along);
    su_sub3(p, handle->ends, to);
    double square = su_dot3(along, along), s = square > 0 ? fmin(fmax(su_dot3(to, along) / square, 0), 1) : 0;
    for (int i = 0; i < 3; i++) at[i] = handle->ends[i] + s * along[i];
    return su_distance3(p, at);
}

/* Does the segment from ends[0..2] to ends[3..5] pass through the tet? Its part inside all four faces is not empty. */
static bool segment_in_tet(const double *x, const int32_t *tet, const double ends[6])
{
    double from = 0, to = 1;
    for (int f = 0; f < 4; f++) {
        const double *a = x + 3 * (int64_t)tet[su_tet_face[f][0]];
        double ab[3], ac[3], normal[3], start[3], direction[3];
        su_sub3(x + 3 * (int64_t)tet[su_tet_face[f][1]], a, ab);
        su_sub3(x + 3 * (int64_t)tet[su_tet_face[f][2]], a, ac);
        su_cross3(ab, ac, normal);
        su_sub3(ends, a, start);
        su_sub3(ends + 3, ends, direction);
        double d0 = su_dot3(normal, start), slope = su_dot3(normal, direction);
        if (slope > 0)
            to = fmin(to, -d0 / slope);
        else if (slope < 0)
            from = fmax(from, -d0 / slope);
        else if (d0 > 0)
            return false;
    }
    return from <= to;
}

typedef struct crossing {
    const double *x, *ends;
    const int32_t *tets;
    uint8_t *mark;
    int64_t count;
} crossing;

static bool mark_crossed(void *context, int32_t item)
{
    crossing *c = context;
    const int32_t *tet = c->tets + 4 * (int64_t)item;
    if (!segment_in_tet(c->x, tet, c->ends)) return true;
    for (int a = 0; a < 4; a++) c->mark[tet[a]] = 1;
    c->count++;
    return true;
}

su_status su_handle_vertices(const su_tet_mesh *mesh, int64_t count, const su_handle *handles, int32_t *region_of,
                             su_error *err)
{
    int64_t n = mesh->n;
    const double *vertices = mesh->x;
    su_boxtree tree = {0};
    uint8_t *mark = NULL;
    int32_t *region = NULL, *taken = NULL, *rival = NULL;
    int64_t *members = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("handles", err, SU_WANT(mark, n), SU_WANT(taken, n), SU_WANT(region, count),
                       SU_WANT(members, count), SU_WANT(rival, count)));
    SU_GO(su_boxtree_of_tets(vertices, mesh->t, mesh->tets, &tree, err));
    su_handle_regions(count, handles, region);
    for (int64_t v = 0; v < n; v++) taken[v] = -1;
    for (int64_t h = 0; h < count; h++) {
        const double *ends = handles[h].ends;
        crossing c = {vertices, ends, mesh->tets, mark, 0};
        double low[3], high[3];
        memset(mark, 0, (size_t)n);
        for (int i = 0; i < 3; i++) low[i] = fmin(ends[i], ends[3 + i]), high[i] = fmax(ends[i], ends[3 + i]);
        if (su_distance3(ends, ends + 3) > 0) su_boxtree_overlap(&tree, low, high, mark_crossed, &c);
        if (c.count == 0) {
            int64_t nearest = 0;
            double middle[3];
            for (int i = 0; i < 3; i++) middle[i] = 0.5 * (ends[i] + ends[3 + i]);
            for (int64_t v = 1; v < n; v++)
                if (su_distance3(vertices + 3 * v, middle) < su_distance3(vertices + 3 * nearest, middle)) nearest = v;
            mark[nearest] = 1;
        }
        for (int64_t v = 0; v < n; v++) {
            if (!mark[v]) continue;
            int64_t other = taken[v]; /* of two, the nearer one holds it */
            if (other >= 0 && distance_to_handle(&handles[h], vertices + 3 * v) >=
                                  distance_to_handle(&handles[other], vertices + 3 * v))
                rival[h] = (int32_t)other;
            else {
                if (other >= 0) rival[other] = (int32_t)h;
                taken[v] = (int32_t)h;
            }
        }
    }
    for (int64_t v = 0; v < n; v++) {
        region_of[v] = taken[v] < 0 ? -1 : region[taken[v]];
        if (taken[v] >= 0) members[region_of[v]]++;
    }
    for (int64_t h = 0; h < count; h++)
        if (members[region[h]] == 0)
            SU_GO(su_fail(err, SU_INPUT,
                          "handles '%s' and '%s' claim the same flesh vertex; move them apart or use more tets",
                          handles[rival[h]].name, handles[h].name));
done:
    su_boxtree_free(&tree);
    free(mark), free(taken), free(region), free(members), free(rival);
    return status;
}
