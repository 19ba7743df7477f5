#include "io/scene/control_points.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

char *su_control_points_text(const char *path, su_scene *scene, size_t *size)
{
    FILE *in = fopen(path, "rb");
    char *data = NULL;
    long length = -1;
    if (!in) scene->arena.failed = true; /* a parser read it a moment ago */
    if (!in) return NULL;
    if (fseek(in, 0, SEEK_END) == 0 && (length = ftell(in)) >= 0) {
        rewind(in);
        data = su_arena_alloc(&scene->arena, (int64_t)length + 1, 1);
        if (data && fread(data, 1, (size_t)length, in) != (size_t)length) data = NULL;
    }
    if (!data) scene->arena.failed = true;
    fclose(in);
    *size = data ? (size_t)length : 0;
    return data;
}

/* The meshes under one node, each with how far it is used up. */
typedef struct group {
    int64_t count;
    su_scene_mesh **mesh;
    int64_t *polygon, *corner;
    int32_t **point, **number; /* control_point and source_polygon to be */
} group;

static int64_t point_of(const su_control_mesh *m, int64_t corner)
{
    return m->corner[corner] < 0 ? -1 - (int64_t)m->corner[corner] : m->corner[corner];
}

/* Is the next polygon of the mesh that of corners first .. first + count - 1? assimp reads text to single precision. */
static bool same_polygon(const group *g, int64_t i, const su_control_mesh *m, int64_t first, int64_t count,
                         double tolerance)
{
    const su_scene_mesh *mesh = g->mesh[i];
    int64_t at = g->corner[i];
    if (g->polygon[i] >= mesh->polygons || mesh->face_counts[g->polygon[i]] != count) return false;
    for (int64_t k = 0; k < count; k++)
        for (int c = 0; c < 3; c++)
            if (!(fabs(m->position[3 * point_of(m, first + k) + c] - mesh->positions[3 * (at + k) + c]) <= tolerance))
                return false;
    return true;
}

static bool walk(group *g, const su_control_mesh *m, double tolerance)
{
    int32_t polygon = 0;
    for (int64_t first = 0, count; first < m->corners; first += count, polygon++) {
        int64_t i = 0;
        for (count = 1; first + count <= m->corners && m->corner[first + count - 1] >= 0;) count++;
        if (first + count > m->corners) return false;
        while (i < g->count && !same_polygon(g, i, m, first, count, tolerance)) i++;
        if (i == g->count) return false;
        for (int64_t k = 0; k < count; k++) g->point[i][g->corner[i]++] = (int32_t)point_of(m, first + k);
        g->number[i][g->polygon[i]++] = polygon;
    }
    return true;
}

/* Meshes of the node that nothing was found for yet; a vertex a corner, the corners of all make those of the file's
 * mesh. */
static bool gather(su_scene *scene, int64_t node, const su_control_mesh *m, group *g)
{
    int64_t corners = 0;
    g->count = 0;
    for (int64_t i = 0; i < scene->instances; i++) {
        su_scene_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        if (scene->instance[i].node != node || mesh->control_point) continue;
        if (mesh->vertices != mesh->corners) return false;
        for (int64_t k = 0; k < mesh->corners; k++)
            if (mesh->face_indices[k] != (int32_t)k) return false;
        corners += mesh->corners;
        g->mesh[g->count++] = mesh;
    }
    return g->count > 0 && corners == m->corners;
}

static bool match_node(su_scene *scene, int64_t node, const su_control_mesh *m, group *g, double tolerance)
{
    if (!gather(scene, node, m, g)) return false;
    for (int64_t i = 0; i < g->count; i++) {
        g->polygon[i] = g->corner[i] = 0;
        g->point[i] = su_arena_alloc(&scene->arena, g->mesh[i]->vertices, sizeof(int32_t));
        g->number[i] = su_arena_alloc(&scene->arena, g->mesh[i]->polygons, sizeof(int32_t));
        if (!g->point[i] || !g->number[i]) return false;
    }
    if (!walk(g, m, tolerance)) return false;
    int64_t which = 0;
    for (int64_t i = 0; i < scene->meshes; i++)
        if (scene->mesh[i].control_point && scene->mesh[i].source_mesh >= which) which = scene->mesh[i].source_mesh + 1;
    for (int64_t i = 0; i < g->count; i++) {
        g->mesh[i]->control_point = g->point[i], g->mesh[i]->control_points = m->points;
        g->mesh[i]->source_polygon = g->number[i], g->mesh[i]->source_mesh = which;
    }
    return true;
}

void su_control_points_match(su_scene *scene, const su_control_mesh *m)
{
    double size = 0.0;
    int64_t n = scene->instances;
    group g = {.mesh = su_arena_alloc(&scene->arena, n, sizeof *g.mesh),
               .polygon = su_arena_alloc(&scene->arena, n, sizeof *g.polygon),
               .corner = su_arena_alloc(&scene->arena, n, sizeof *g.corner),
               .point = su_arena_alloc(&scene->arena, n, sizeof *g.point),
               .number = su_arena_alloc(&scene->arena, n, sizeof *g.number)};
    if (!g.mesh || !g.polygon || !g.corner || !g.point || !g.number || m->corners < 1 || m->points > INT32_MAX) return;
    for (int64_t k = 0; k < m->corners; k++)
        if (point_of(m, k) >= m->points) return;
    for (int64_t i = 0; i < 3 * m->points; i++) size = fmax(size, fabs(m->position[i]));
    for (int64_t i = 0; i < n; i++) {
        bool first = i == 0 || scene->instance[i].node != scene->instance[i - 1].node;
        if (first && match_node(scene, scene->instance[i].node, m, &g, 2e-6 * size)) return;
    }
}
