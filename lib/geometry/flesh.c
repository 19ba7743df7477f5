#include "geometry/flesh.h"

#include "geometry/boxtree.h"
#include "geometry/intersect.h"
#include "geometry/tetgen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

su_flesh_settings su_flesh_defaults(void)
{
    return (su_flesh_settings){.method = SU_MESH_AUTO, .tets = 15000, .dihedral_bound = 5.0, .child_seconds = 120.0,
                               .child_memory = (int64_t)4 << 30, .threads = 1};
}

void su_flesh_free(su_flesh *flesh)
{
    su_tets_free(&flesh->mesh);
    memset(flesh, 0, sizeof *flesh);
}

static bool near_enough(int64_t count, int64_t wanted, double tolerance)
{
    return fabs((double)count - (double)wanted) <= tolerance * (double)wanted;
}

/* Volume of a regular tet of that edge, halved: TetGen's bound is the largest tet, its average is about half of that. */
static double bound_of_edge(double edge) { return edge * edge * edge / (6.0 * sqrt(2.0)) * 2.0; }

/* One quality setting: the volume bound is iterated until the count fits. Keeps the nearest result in out. */
static su_status direct_counted(const su_surface *surface, const su_flesh_settings *settings, su_tetgen_settings *tetgen,
                                su_flesh *out, su_error *err)
{
    enum { TRIES = 6 };
    double low = 0.0, high = INFINITY;   /* bounds known to give too many, too few */
    tetgen->volume_bound = settings->edge_length > 0.0 ? bound_of_edge(settings->edge_length)
                                                       : 2.0 * surface->volume / (double)settings->tets;
    for (int k = 0; k < TRIES; k++) {
        su_tets mesh = {0};
        out->attempts++;
        SU_TRY(su_progress_update(settings->progress, (double)k / TRIES, err));
        SU_TRY(su_tetgen_run(surface, tetgen, &mesh, err));
        int64_t best = llabs(out->mesh.t - settings->tets);
        int64_t count = mesh.t;
        if (!out->mesh.t || llabs(count - settings->tets) < best) {
            su_tets_free(&out->mesh);
            out->mesh = mesh;
        } else {
            su_tets_free(&mesh);
        }
        if (settings->edge_length > 0.0 || near_enough(count, settings->tets, 0.1)) return SU_OK;
        if (count > settings->tets) low = tetgen->volume_bound;
        else high = tetgen->volume_bound;
        double next = tetgen->volume_bound * (double)count / (double)settings->tets;
        if (next <= low || next >= high) next = sqrt(low * fmin(high, 1e6 * surface->volume));
        /* tets beyond the size of the body change nothing any more: the skin's own triangles set the count */
        if (low > surface->volume) break;
        tetgen->volume_bound = next;
    }
    if (near_enough(out->mesh.t, settings->tets, 0.2)) return SU_OK;
    return su_fail(err, SU_FAILED, "the skin's own triangles lead to %lld tets, not %lld", (long long)out->mesh.t,
                   (long long)settings->tets);
}

static void tell(const su_flesh_settings *settings, const char *format, const char *what)
{
    char text[1200];
    if (!settings->say) return;
    snprintf(text, sizeof text, format, what);
    settings->say(settings->context, text);
}

static bool good(const su_flesh *flesh, const su_flesh_settings *settings)
{
    return (settings->edge_length > 0.0 || near_enough(flesh->mesh.t, settings->tets, 0.2)) &&
           flesh->quality.dihedral_min >= settings->dihedral_bound;
}

/* A count that fits comes first, then shape; where no count fits, the nearer one. */
static bool preferred(const su_flesh *a, const su_flesh *b, const su_flesh_settings *settings)
{
    bool fits = near_enough(a->mesh.t, settings->tets, 0.2), other = near_enough(b->mesh.t, settings->tets, 0.2);
    if (settings->edge_length > 0.0 || (fits && other)) return a->quality.dihedral_min > b->quality.dihedral_min;
    if (fits != other) return fits;
    return llabs(a->mesh.t - settings->tets) < llabs(b->mesh.t - settings->tets);
}

/* From strict to lenient bounds: under strict ones TetGen's refinement may not end, or needs far more tets than wanted.
 * Fails where no result has both the count and the angle; *out then holds the best-shaped one, if any. */
static su_status build_direct(const su_surface *surface, const su_flesh_settings *settings, su_flesh *out, su_error *err)
{
    static const struct { double radius_edge, dihedral; } ladder[] = {{1.4, 14.0}, {2.0, 7.0}, {4.0, 12.0}};
    su_status status = SU_OK;
    su_boxtree tree = {0};
    int64_t meeting = 0;
    if (!surface->closed)
        return su_fail(err, SU_FAILED, "the skin is not closed (%lld open, %lld non-manifold edges)",
                       (long long)surface->boundary_edges, (long long)surface->nonmanifold_edges);
    SU_TRY(su_boxtree_of_triangles(surface->x, surface->t, surface->triangles, &tree, err));
    SU_GO(su_surface_intersections(surface, &tree, 1, &meeting, NULL, err));
    if (meeting) {
        status = su_fail(err, SU_FAILED, "the skin meets itself");
        goto done;
    }
    for (size_t k = 0; k < sizeof ladder / sizeof *ladder; k++) {
        su_flesh tried = {.method = SU_MESH_DIRECT};
        su_tetgen_settings tetgen = {
            .program = settings->tetgen, .folder = settings->folder, .radius_edge = ladder[k].radius_edge, .dihedral = ladder[k].dihedral,
            .limits = {.seconds = settings->child_seconds, .memory_bytes = settings->child_memory, .progress = settings->progress}};
        status = direct_counted(surface, settings, &tetgen, &tried, err);
        if (su_progress_stopped(settings->progress)) { su_flesh_free(&tried); goto done; }
        out->attempts += tried.attempts;
        if (tried.mesh.t && su_tet_measure(&tried.mesh, &tried.quality, err) == SU_OK) {
            if (!out->mesh.t || preferred(&tried, out, settings)) {
                su_tets_free(&out->mesh);
                out->mesh = tried.mesh, out->quality = tried.quality;
                memset(&tried.mesh, 0, sizeof tried.mesh);
            }
        }
        su_flesh_free(&tried);
        if (status == SU_OK && good(out, settings)) goto done;
        if (status == SU_OK)
            status = su_fail(err, SU_FAILED, "smallest dihedral angle %.2f degrees, %g wanted", out->quality.dihedral_min,
                             settings->dihedral_bound);
        if (k + 1 < sizeof ladder / sizeof *ladder) tell(settings, "TetGen with strict bounds: %s; trying easier ones", err->text);
    }
done:
    su_boxtree_free(&tree);
    return status;
}

su_status su_flesh_build(const su_surface *surface, const su_flesh_settings *settings, su_flesh *out, su_error *err)
{
    su_status status = SU_OK;
    su_flesh flesh = {.method = SU_MESH_DIRECT};
    status = build_direct(surface, settings, &flesh, err);
    if (status && flesh.mesh.t && !su_progress_stopped(settings->progress)) {
        tell(settings, "%s; taking the nearest mesh that TetGen made", err->text);
        status = SU_OK;
    }
    if (status) goto done;
    *out = flesh;
    memset(&flesh, 0, sizeof flesh);
done:
    su_flesh_free(&flesh);
    return status;
}
