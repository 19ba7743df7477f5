#include "geometry/flesh.h"

#include "core/memory.h"
#include "geometry/boxtree.h"
#include "geometry/distance.h"
#include "geometry/embed.h"
#include "geometry/grade.h"
#include "geometry/intersect.h"
#include "geometry/mirrored_triangles.h"
#include "geometry/shape_change.h"
#include "geometry/mat3.h"
#include "geometry/tetgen.h"
#include "geometry/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How far a number of tets may be off the wanted one, as a share of it: CLOSE ends the search, FITS is still taken as
 * what was asked for. */
#define CLOSE 0.1
#define FITS 0.2

su_flesh_settings su_flesh_defaults(void)
{
    return (su_flesh_settings){.method = SU_MESH_AUTO,
                               .tets = 15000,
                               .grade = 1.0,
                               .follow = 3.0,
                               .dihedral_bound = 5.0,
                               .child_seconds = 120.0,
                               .child_memory = (int64_t)4 << 30,
                               .threads = 1};
}

void su_flesh_free(su_flesh *flesh)
{
    su_tets_free(&flesh->mesh);
    free(flesh->holder), free(flesh->layers), free(flesh->skin_layers);
    memset(flesh, 0, sizeof *flesh);
}

static bool near_enough(int64_t count, int64_t wanted, double tolerance)
{
    return fabs((double)count - (double)wanted) <= tolerance * (double)wanted;
}

/* Volume of a regular tet of that edge, halved: TetGen's bound is the largest tet, its average is about half of that.
 */
static double bound_of_edge(double edge) { return edge * edge * edge / (6.0 * sqrt(2.0)) * 2.0; }

/* One quality setting: the volume bound is iterated until the count fits. Keeps the nearest result in out. */
static su_status direct_counted(const su_surface *surface, const su_flesh_settings *settings,
                                su_tetgen_settings *tetgen, su_flesh *out, su_error *err)
{
    enum { TRIES = 6 };
    const double NO_BOUND = 1e6;       /* of the body's volume: a tet that large never binds */
    double low = 0.0, high = INFINITY; /* bounds known to give too many, too few */
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
        if (settings->edge_length > 0.0 || near_enough(count, settings->tets, CLOSE)) return SU_OK;
        if (count > settings->tets)
            low = tetgen->volume_bound;
        else
            high = tetgen->volume_bound;
        double next = tetgen->volume_bound * (double)count / (double)settings->tets;
        if (next <= low || next >= high) next = sqrt(low * fmin(high, NO_BOUND * surface->volume));
        /* tets beyond the size of the body change nothing any more: the skin's own triangles set the count */
        if (low > surface->volume) break;
        tetgen->volume_bound = next;
    }
    if (near_enough(out->mesh.t, settings->tets, FITS)) return SU_OK;
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
    return (settings->edge_length > 0.0 || near_enough(flesh->mesh.t, settings->tets, FITS)) &&
           flesh->quality.dihedral_min >= settings->dihedral_bound;
}

/* A count that fits comes first, then shape; where no count fits, the nearer one. */
static bool preferred(const su_flesh *a, const su_flesh *b, const su_flesh_settings *settings)
{
    bool fits = near_enough(a->mesh.t, settings->tets, FITS), other = near_enough(b->mesh.t, settings->tets, FITS);
    if (settings->edge_length > 0.0 || (fits && other)) return a->quality.dihedral_min > b->quality.dihedral_min;
    if (fits != other) return fits;
    return llabs(a->mesh.t - settings->tets) < llabs(b->mesh.t - settings->tets);
}

/* From strict to lenient bounds: under strict ones TetGen's refinement may not end, or needs far more tets than wanted.
 * Fails where no result has both the count and the angle; *out then holds the best-shaped one, if any. SU_AGAIN ends it
 * at once: the same surface gives the same flesh, or none. */
static su_status build_direct(const su_surface *surface, const su_flesh_settings *settings, su_flesh *out,
                              su_error *err)
{
    static const struct {
        double radius_edge, dihedral;
    } ladder[] = {{1.4, 14.0}, {2.0, 7.0}, {4.0, 12.0}};
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
        su_tetgen_settings tetgen = {.program = settings->tetgen,
                                     .folder = settings->folder,
                                     .radius_edge = ladder[k].radius_edge,
                                     .dihedral = ladder[k].dihedral,
                                     .limits = {.confinement = SU_NO_NETWORK,
                                                .seconds = settings->child_seconds,
                                                .memory_bytes = settings->child_memory,
                                                .progress = settings->progress}};
        status = direct_counted(surface, settings, &tetgen, &tried, err);
        if (status == SU_AGAIN) {
            su_flesh_free(&tried);
            goto done;
        }
        out->attempts += tried.attempts;
        su_status measured = tried.mesh.t ? su_tet_measure(&tried.mesh, &tried.quality, err) : SU_OK;
        if (measured != SU_OK) {
            su_flesh_free(&tried);
            status = measured;
            goto done;
        }
        if (tried.mesh.t) {
            if (!out->mesh.t || preferred(&tried, out, settings)) {
                su_tets_free(&out->mesh);
                out->mesh = tried.mesh, out->quality = tried.quality;
                memset(&tried.mesh, 0, sizeof tried.mesh);
            }
        }
        su_flesh_free(&tried);
        if (status == SU_OK && good(out, settings)) goto done;
        if (status == SU_OK)
            status = su_fail(err, SU_FAILED, "smallest dihedral angle %.2f degrees, %g wanted",
                             out->quality.dihedral_min, settings->dihedral_bound);
        if (k + 1 < sizeof ladder / sizeof *ladder)
            tell(settings, "TetGen with strict bounds: %s; trying easier ones", err->text);
    }
done:
    su_boxtree_free(&tree);
    return status;
}

/* In auto mode TetGen gets one look, without a bound on volumes: a skin whose own triangles ask for too many tets, or
 * force slivers, is better meshed around than through. */
static su_status worth_direct(const su_surface *surface, const su_flesh_settings *settings, su_flesh *out,
                              su_error *err)
{
    su_status status = SU_OK;
    su_tets mesh = {0};
    su_tet_quality quality;
    su_tetgen_settings tetgen = {.program = settings->tetgen,
                                 .folder = settings->folder,
                                 .radius_edge = 2.0,
                                 .dihedral = 7.0,
                                 .limits = {.confinement = SU_NO_NETWORK,
                                            .seconds = settings->child_seconds,
                                            .memory_bytes = settings->child_memory,
                                            .progress = settings->progress}};
    if (!surface->closed)
        return su_fail(err, SU_FAILED, "the skin is not closed (%lld open, %lld non-manifold edges)",
                       (long long)surface->boundary_edges, (long long)surface->nonmanifold_edges);
    /* no mesh with bounded angles has fewer tets than about three a boundary triangle */
    if (settings->edge_length <= 0.0 && 3.0 * (double)surface->t > (1 + FITS) * (double)settings->tets)
        return su_fail(err, SU_FAILED, "the skin's %lld triangles are too many for %lld tets", (long long)surface->t,
                       (long long)settings->tets);
    su_boxtree tree = {0};
    int64_t meeting = 0;
    SU_GO(su_boxtree_of_triangles(surface->x, surface->t, surface->triangles, &tree, err));
    SU_GO(su_surface_intersections(surface, &tree, 1, &meeting, NULL, err));
    if (meeting) {
        status = su_fail(err, SU_FAILED, "the skin meets itself");
        goto done;
    }
    out->attempts++;
    SU_GO(su_tetgen_run(surface, &tetgen, &mesh, err));
    SU_GO(su_tet_measure(&mesh, &quality, err));
    if (settings->edge_length <= 0.0 && (double)mesh.t > (1 + FITS) * (double)settings->tets)
        status = su_fail(err, SU_FAILED, "the skin's own triangles lead to %lld tets or more", (long long)mesh.t);
    else if (quality.dihedral_min < settings->dihedral_bound)
        status = su_fail(err, SU_FAILED, "the skin's own triangles force dihedral angles of %.1f degrees",
                         quality.dihedral_min);
done:
    su_boxtree_free(&tree);
    su_tets_free(&mesh);
    return status;
}

/* ---- around the skin ---- */

typedef struct around {
    const su_surface *surface;
    const su_flesh_settings *settings;
    su_lattice_items items;
    su_parting parting;
    double *shapes; /* (poses, surface n, 3) */
    double *thickness, *wanted,
        *size; /* (items) thickness and wanted size, m, NULL: not graded by it; size of the lattice at work */
} around;

static bool graded(const around *a) { return a->thickness || a->wanted; }

static su_status graded_lattice(around *a, double cell, su_lattice *out, su_error *err)
{
    su_status status = SU_OK;
    su_lattice lattice = {0};
    SU_GO(su_lattice_create(a->surface, &a->items, cell, a->settings->threads, a->settings->progress, &lattice, err));
    if (graded(a)) {
        for (int64_t k = 0; k < a->items.count; k++) {
            a->size[k] = cell;
            /* three tets through a thin part, within what is allowed */
            if (a->thickness) a->size[k] = fmax(cell / a->settings->grade, fmin(cell, a->thickness[k] / 3.0));
            if (a->wanted) a->size[k] = fmin(a->size[k], fmax(cell / a->settings->follow, a->wanted[k]));
        }
        SU_GO(su_lattice_grade(a->surface, &a->items, a->size, a->settings->threads, &lattice, err));
    }
    *out = lattice;
    memset(&lattice, 0, sizeof lattice);
done:
    su_lattice_free(&lattice);
    return status;
}

static su_status wrapped(around *a, double cell, su_cage *out, su_error *err)
{
    su_status status = SU_OK;
    su_lattice lattice = {0};
    su_cage cage = {0};
    su_wrap_settings wrap = su_wrap_defaults();
    wrap.progress = a->settings->progress;
    SU_GO(graded_lattice(a, cell, &lattice, err));
    SU_GO(
        su_cage_create(a->surface, &a->items, &lattice, &a->parting, a->settings->threads, wrap.progress, &cage, err));
    SU_GO(su_wrap(a->surface, &a->items, &wrap, &cage, err));
    *out = cage;
    memset(&cage, 0, sizeof cage);
done:
    su_lattice_free(&lattice);
    su_cage_free(&cage);
    return status;
}

static su_status count_tets(around *a, double cell, int64_t *count, int64_t *cut, su_error *err)
{
    su_lattice lattice;
    if (!graded(a))
        return su_lattice_count(a->surface, &a->items, cell, a->settings->threads, a->settings->progress, count, cut,
                                err);
    SU_TRY(graded_lattice(a, cell, &lattice, err));
    *count = lattice.t, *cut = lattice.cut;
    su_lattice_free(&lattice);
    return SU_OK;
}

static void keep_cage(su_cage *cage, double cell, su_flesh *out)
{
    su_tets_free(&out->mesh);
    out->mesh = cage->mesh, out->cell = cell, out->copies = cage->copies, out->joined = cage->joined;
    memset(&cage->mesh, 0, sizeof cage->mesh);
    if (out->parting) free(out->layers), out->layers = cage->layers, cage->layers = NULL;
}

/* Layers of the surface's vertices; those without a triangle are in all. */
static su_status layer_skin(const around *a, su_flesh *out, su_error *err)
{
    const su_surface *s = a->surface;
    if (!out->parting) return SU_OK;
    SU_TRY(SU_ALLOC(&out->skin_layers, s->n, "layers of the skin", err));
    for (int64_t v = 0; v < s->n; v++) out->skin_layers[v] = a->parting.layers_of[0];
    for (int64_t k = 0; k < 3 * s->t; k++)
        out->skin_layers[s->triangles[k]] = a->parting.layers_of[a->parting.class_of[k / 3]];
    return SU_OK;
}

/* Smallest cell over the skin's diagonal: a few loose points never reach the wanted count, however small the cells. */
static const double FINEST = 1e-5;

/* Wrapping takes away about this share of the tets that meet the skin: 0.33 to 0.46 on the characters looked at. */
static const double WRAPPED_AWAY = 0.43;
/* First cell over the skin's diagonal: some thousand tets in most bodies, from where counts can be trusted. */
static const double FIRST_CELL = 0.05;
/* Counts that far off the wanted number are met by meshing as well as they can be. */
static const double COUNTED = 0.03;

/* Cell size that leads to about the wanted number of tets; counting is much cheaper than meshing. */
static su_status find_cell(around *a, double *cell, su_error *err)
{
    double wanted = (double)a->settings->tets;
    *cell = FIRST_CELL * a->surface->diagonal;
    for (int k = 0; k < 8; k++) {
        int64_t count, cut;
        SU_TRY(count_tets(a, *cell, &count, &cut, err));
        count -= (int64_t)(WRAPPED_AWAY * (double)cut);
        if (near_enough(count, a->settings->tets, COUNTED)) break;
        /* never refine by more than three at once: the first counts are too coarse to aim far */
        *cell *= fmax(1.0 / 3.0, fmin(3.0, cbrt((double)count / wanted)));
        *cell = fmax(*cell, FINEST * a->surface->diagonal);
    }
    return SU_OK;
}

/* Finest wanted: the skin's distance from what a tet can follow, over its diagonal. supple fit aims at the same figure.
 */
static const double TOLERANCE = 0.002;
/* RMS of that distance, over the diagonal, above which uniform tets will not do. Mean over the skin: demo 0.05 %,
 * cesium_man 0.06, fox 0.09, which all fit to 0.2 % as they are; hand_left as a fist 0.14, mannequiny 0.24, which do
 * not. */
static const double BAD = 0.0012;
/* Of the neighbourhoods that are looked at, over the cell: tets of the lattice lie within balls of this size. */
static const double RADIUS = 0.56;

/* RMS of misfit over the area of the skin. */
static double mean_misfit(const su_surface *s, const double *misfit)
{
    double area = 0, sum = 0;
    for (int64_t k = 0; k < s->t; k++) {
        const int32_t *c = s->triangles + 3 * k;
        double u[3], v[3], normal[3];
        su_sub3(s->x + 3 * (int64_t)c[1], s->x + 3 * (int64_t)c[0], u);
        su_sub3(s->x + 3 * (int64_t)c[2], s->x + 3 * (int64_t)c[0], v);
        su_cross3(u, v, normal);
        area += su_norm3(normal);
        for (int i = 0; i < 3; i++) sum += su_norm3(normal) * misfit[c[i]] * misfit[c[i]] / 3;
    }
    return area > 0 ? sqrt(sum / area) : 0;
}

/* Poses turn one side and another at the other: what a place asks for its mirror image does, too. */
static su_status mirror_misfit(const around *a, double *misfit, su_error *err)
{
    const su_surface *s = a->surface;
    double near = SU_MIRROR_NEAR * s->diagonal, *own = NULL;
    su_boxtree tree = {0};
    su_status status = SU_OK;
    if (a->items.mirror.axis < 0) return SU_OK;
    SU_GO(SU_ALLOC(&own, s->n, "skin shapes", err));
    memcpy(own, misfit, (size_t)s->n * sizeof *own);
    SU_GO(su_boxtree_of_triangles(s->x, s->t, s->triangles, &tree, err));
#pragma omp parallel for num_threads(a->settings->threads) schedule(dynamic, 256)
    for (int64_t v = 0; v < s->n; v++) {
        double image[3], bary[3], there = 0;
        int32_t triangle;
        su_mirror_image(&a->items.mirror, s->x + 3 * v, image);
        su_closest_point(&tree, s->x, s->triangles, image, near, &triangle, bary);
        for (int i = 0; i < 3 && triangle >= 0; i++) there += bary[i] * own[s->triangles[3 * (int64_t)triangle + i]];
        misfit[v] = fmax(own[v], there);
    }
done:
    su_boxtree_free(&tree);
    free(own);
    return status;
}

/* Cell size that the shapes ask for at each item; none (a->wanted stays NULL) where uniform tets can follow them. */
static su_status follow_shapes(around *a, double cell, su_error *err)
{
    const su_surface *s = a->surface;
    su_status status = SU_OK;
    double *misfit = NULL;
    SU_GO(SU_ALLOC(&misfit, s->n, "skin shapes", err));
    SU_GO(su_shape_change(s->n, s->x, a->settings->poses, a->shapes, RADIUS * cell, a->settings->threads, misfit, err));
    if (!(mean_misfit(s, misfit) > BAD * s->diagonal)) goto done;
    SU_GO(mirror_misfit(a, misfit, err));
    SU_GO(SU_ALLOC(&a->wanted, a->items.count, "skin shapes", err));
    for (int64_t k = 0; k < a->items.count; k++) {
        double worst = 0;
        for (int i = 0; i < 3; i++) worst = fmax(worst, misfit[a->items.corners[3 * k + i]]);
        /* misfits go with the square of the size */
        a->wanted[k] = worst > TOLERANCE * s->diagonal ? cell * sqrt(TOLERANCE * s->diagonal / worst) : INFINITY;
    }
done:
    free(misfit);
    return status;
}

/* The settings' shapes at the surface's own vertices. */
static su_status take_shapes(around *a, su_error *err)
{
    const su_surface *s = a->surface;
    int64_t poses = a->settings->poses;
    SU_TRY(SU_ALLOC(&a->shapes, 3 * poses * s->n, "skin shapes", err));
    for (int64_t pose = 0; pose < poses; pose++)
        for (int64_t v = 0; v < s->source_count; v++)
            if (s->vertex[v] >= 0)
                memcpy(a->shapes + 3 * (pose * s->n + s->vertex[v]),
                       a->settings->shapes + 3 * (pose * s->source_count + v), 3 * sizeof *a->shapes);
    return SU_OK;
}

static su_status build_around(const su_surface *given, const su_flesh_settings *settings, su_flesh *out, su_error *err)
{
    enum { TRIES = 6 };
    static const double MEAN_EDGE = 0.923; /* of the lattice, over its cell */
    su_status status = SU_OK;
    su_mirror mirror;
    su_surface ordered = {0};
    const su_surface *surface = &ordered;
    around a = {.surface = surface, .settings = settings};
    su_cage cage = {0};
    double cell = settings->edge_length / MEAN_EDGE;
    bool counted = settings->edge_length <= 0.0;
    SU_GO(su_mirror_find(given, &mirror, err));
    SU_GO(su_mirrored_triangles(given, &mirror, &ordered, err));
    SU_GO(su_lattice_items_create(surface, &mirror, &a.items, err));
    SU_GO(take_shapes(&a, err));
    SU_GO(su_parting_create(surface, settings->poses, a.shapes, &a.parting, err));
    out->parting = a.parting.classes - 1;
    SU_GO(layer_skin(&a, out, err));
    SU_GO(SU_ALLOC(&a.size, a.items.count, "lattice sizes", err));
    if (settings->grade > 1.0) {
        SU_GO(SU_ALLOC(&a.thickness, a.items.count, "skin thickness", err));
        SU_GO(su_skin_thickness(surface, &a.items, settings->threads, a.thickness, err));
    }
    if (counted) SU_GO(find_cell(&a, &cell, err));
    if (settings->poses > 0 && settings->follow > 1.0) {
        /* Fewer tets than usual miss the skin anyhow, and spending them on folds makes it worse (fox, 4,000: 0.18 % for
         * 0.14). */
        double few = counted ? fmin(1.0, (double)settings->tets / (double)su_flesh_defaults().tets) : 1.0;
        SU_GO(follow_shapes(&a, cell * cbrt(few), err));
        out->followed = a.wanted != NULL;
        if (counted && a.wanted) SU_GO(find_cell(&a, &cell, err));
    }
    for (int k = 0; k < TRIES; k++) {
        out->attempts++;
        SU_GO(wrapped(&a, cell, &cage, err));
        int64_t count = cage.mesh.t;
        if (!out->mesh.t || llabs(count - settings->tets) < llabs(out->mesh.t - settings->tets)) {
            keep_cage(&cage, cell, out);
            free(out->holder);
            out->holder = NULL;
            SU_GO(SU_ALLOC(&out->holder, surface->n, "embedding", err));
            for (int64_t v = 0; v < surface->n; v++) out->holder[v] = cage.points[v].tet;
        }
        su_cage_free(&cage);
        if (!counted || near_enough(count, settings->tets, CLOSE)) break;
        cell *= fmax(0.5, fmin(2.0, cbrt((double)count / (double)settings->tets)));
        cell = fmax(cell, FINEST * surface->diagonal);
    }
    if (counted && !near_enough(out->mesh.t, settings->tets, FITS)) {
        char text[200];
        snprintf(text, sizeof text, "%lld tets were wanted, the nearest mesh for this skin has %lld",
                 (long long)settings->tets, (long long)out->mesh.t);
        tell(settings, "%s", text);
    }
done:
    su_lattice_items_free(&a.items);
    su_parting_free(&a.parting);
    free(a.shapes), free(a.thickness), free(a.wanted), free(a.size);
    su_cage_free(&cage);
    su_mirrored_triangles_free(&ordered);
    return status;
}

static su_status find_holders(const su_surface *surface, int threads, su_flesh *flesh, su_error *err)
{
    su_status status = SU_OK;
    double *bary = NULL;
    int64_t outside;
    SU_GO(SU_ALLOC(&flesh->holder, surface->n, "embedding", err));
    SU_GO(SU_ALLOC(&bary, 4 * surface->n, "embedding", err));
    SU_GO(su_embed_points(&flesh->mesh, surface->n, surface->x, threads, flesh->holder, bary, &outside, err));
    if (outside) status = su_fail(err, SU_FAILED, "%lld skin vertices lie outside TetGen's mesh", (long long)outside);
done:
    free(bary);
    return status;
}

su_status su_flesh_build(const su_surface *surface, const su_flesh_settings *settings, su_flesh *out, su_error *err)
{
    su_status status = SU_OK;
    su_flesh flesh = {0};
    bool automatic = settings->method == SU_MESH_AUTO;
    if (settings->method != SU_MESH_SDF) {
        flesh.method = SU_MESH_DIRECT;
        if (automatic) status = worth_direct(surface, settings, &flesh, err);
        if (!status) status = build_direct(surface, settings, &flesh, err);
        if (status == SU_AGAIN) goto done; /* the machine's fault: the next try may give this mesh and not another */
        if (status && !automatic && flesh.mesh.t) {
            tell(settings, "%s; taking the nearest mesh that TetGen made", err->text);
            status = SU_OK;
        }
        if (!status) status = find_holders(surface, settings->threads, &flesh, err);
        if (status == SU_NUMERICS && !automatic)
            status = err->status = SU_AGAIN; /* TetGen's limits of time and memory */
        if (status && (!automatic || status == SU_AGAIN)) goto done;
        if (status) tell(settings, "direct: %s; meshing around the skin", err->text);
    }
    if (status || !flesh.mesh.t) {
        int attempts = flesh.attempts;
        su_flesh_free(&flesh);
        flesh.method = SU_MESH_SDF, flesh.attempts = attempts;
        SU_GO(build_around(surface, settings, &flesh, err));
    }
    SU_GO(su_tet_measure(&flesh.mesh, &flesh.quality, err));
    if (!(flesh.quality.smallest_volume > 0.0)) {
        status = su_fail(err, SU_NUMERICS, "a tet of the flesh has no volume");
        goto done;
    }
    *out = flesh;
    memset(&flesh, 0, sizeof flesh);
done:
    su_flesh_free(&flesh);
    return status;
}
