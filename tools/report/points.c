/* The points of the reduced model at every example pose: cubature tets, inertia vertices, held vertices, contacts. */
#include "pack.h"

#include "core/memory.h"
#include "rig/rest_shape.h"

#include <stdlib.h>
#include <string.h>

enum { POINT_BYTES = 8 << 20 };

typedef struct points {
    float *cubature, *inertia, *fixed; /* (poses,c,3), (poses,ci,3), (poses,fixed,3) */
    float *contact;                    /* (contacts,3), pose after pose */
    uint32_t *contact_start;           /* (poses+1) */
    double *x, *one;                   /* (n,3), (m) */
    uint8_t *touched;                  /* (n) */
} points;

static void points_free(points *p)
{
    free(p->cubature), free(p->inertia), free(p->fixed), free(p->contact), free(p->contact_start);
    free(p->x), free(p->one), free(p->touched);
}

static void copy(const double *x, int32_t vertex, float *to)
{
    for (int i = 0; i < 3; i++) to[i] = (float)x[3 * (int64_t)vertex + i];
}

/* The vertices in contact rows of a pose; modes files may hold a part of the poses. */
static void mark_contacts(const report_data *d, int64_t pose, uint8_t *touched)
{
    const su_modes *modes = d->modes;
    memset(touched, 0, (size_t)d->model->n);
    if (!modes || !modes->contact_offsets || !modes->contact_row_offsets || !modes->contact_vertices) return;
    for (int64_t k = 0; k < modes->k && k + 1 < modes->offset_count; k++) {
        if (modes->pose[k] != pose) continue;
        for (int32_t row = modes->contact_offsets[k];
             row < modes->contact_offsets[k + 1] && row + 1 < modes->row_offset_count; row++)
            for (int32_t z = modes->contact_row_offsets[row]; z < modes->contact_row_offsets[row + 1] && z < modes->z;
                 z++)
                if (modes->contact_vertices[z] < d->model->n) touched[modes->contact_vertices[z]] = 1;
    }
}

su_status report_pack_points(const report_data *d, su_page *page, json_t *info, su_error *err)
{
    const su_model *model = d->model;
    int64_t all = model->c + model->ci + model->fixed_count, m = d->poses ? model->m : 1, contacts = 0, room = 0;
    if (m * all * 12 > POINT_BYTES) m = 1;
    const su_rest_shape shape = {.n = model->n,
                                 .m = model->m,
                                 .ties = model->ties,
                                 .vertices = model->vertices,
                                 .neutral = model->neutral,
                                 .shepard_index = model->shepard_index,
                                 .shepard_weight = model->shepard_weight,
                                 .corrections = model->corrections};
    points p = {0};
    su_status status;
    SU_GO(SU_ALLOC(&p.cubature, 3 * m * model->c, "points", err));
    SU_GO(SU_ALLOC(&p.inertia, 3 * m * model->ci, "points", err));
    SU_GO(SU_ALLOC(&p.fixed, 3 * m * model->fixed_count, "points", err));
    SU_GO(SU_ALLOC(&p.contact_start, m + 1, "points", err));
    SU_GO(SU_ALLOC(&p.x, 3 * model->n, "points", err));
    SU_GO(SU_ALLOC(&p.one, model->m, "points", err));
    SU_GO(SU_ALLOC(&p.touched, model->n, "points", err));
    for (int64_t i = 0; i < m; i++) {
        mark_contacts(d, i, p.touched);
        for (int64_t v = 0; v < model->n; v++) room += p.touched[v];
    }
    SU_GO(SU_ALLOC(&p.contact, 3 * room, "points", err));
    for (int64_t i = 0; i < m; i++) {
        memset(p.one, 0, (size_t)model->m * sizeof *p.one);
        p.one[i] = 1.0;
        if (d->poses)
            su_rest_shape_evaluate(&shape, model->n, NULL, d->poses->shapes + i * 3 * model->nbar, p.one, p.x);
        else
            memcpy(p.x, model->vertices, 3 * (size_t)model->n * sizeof *p.x);
        for (int64_t e = 0; e < model->c; e++)
            for (int k = 0; k < 3; k++)
                for (int c = 0; c < 4; c++)
                    p.cubature[3 * (i * model->c + e) + k] +=
                        (float)(0.25 * p.x[3 * (int64_t)model->tets[4 * (int64_t)model->cubature_tets[e] + c] + k]);
        for (int64_t k = 0; k < model->ci; k++)
            copy(p.x, model->inertia_vertices[k], p.inertia + 3 * (i * model->ci + k));
        for (int64_t k = 0; k < model->fixed_count; k++)
            copy(p.x, model->fixed[k], p.fixed + 3 * (i * model->fixed_count + k));
        mark_contacts(d, i, p.touched);
        for (int64_t v = 0; v < model->n; v++)
            if (p.touched[v]) copy(p.x, (int32_t)v, p.contact + 3 * contacts++);
        p.contact_start[i + 1] = (uint32_t)contacts;
    }
    SU_GO(su_page_add(page, "cubature", SU_PAGE_F32, 3 * m * model->c, p.cubature, err));
    SU_GO(su_page_add(page, "inertia", SU_PAGE_F32, 3 * m * model->ci, p.inertia, err));
    SU_GO(su_page_add(page, "fixed", SU_PAGE_F32, 3 * m * model->fixed_count, p.fixed, err));
    SU_GO(su_page_add(page, "contact", SU_PAGE_F32, 3 * contacts, p.contact, err));
    SU_GO(su_page_add(page, "contact_start", SU_PAGE_U32, m + 1, p.contact_start, err));
    json_object_set_new(info, "point_poses", json_integer(m));
done:
    points_free(&p);
    return status;
}
