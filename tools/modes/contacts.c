#include "modes.h"

#include "core/memory.h"
#include "geometry/box.h"

#include <math.h>
#include <string.h>

su_status detect_contacts(job *j)
{
    su_error *err = &j->tool->err;
    int64_t n = j->tet.n, rows = 0, entries = 0;
    double diagonal = su_box_diagonal(n, j->tet.vertices);
    uint8_t *held;
    bool itself = j->set->contact != CONTACT_NONE;
    j->touching.kind = itself ? (su_contact_kind)(j->set->contact - 1) : SU_CONTACT_SLIDING;
    j->touching.tolerance = j->set->tolerance * diagonal;
    j->touching.depth = su_contact_edge_length(j->tet.vertices, j->tet.b, j->tet.surface);
    j->touching.apart = 4 * (j->touching.tolerance + j->touching.depth);
    SU_TRY(SU_FILE_ALLOC(&j->modes.file, &held, n, err));
    for (int64_t k = 0; k < j->tet.fixed_count; k++) held[j->tet.fixed[k]] = 1;
    for (int64_t i = 0; i < j->modes.k; i++) {
        su_contact_rows *c = &j->contacts[i];
        const su_contact_flesh flesh = {n,        j->tet.vertices, j->fit.shapes + 3 * j->rows[i] * n,
                                        j->tet.b, j->tet.surface,  held};
        if (itself)
            SU_TRY(su_contact_detect(&flesh, &j->touching, j->tool->threads, c, err));
        else
            SU_TRY(su_contact_reserve(c, 0, 0, err));
        for (int64_t o = 0; o < j->obstacle_count; o++)
            if (j->obstacles[o].pose < 0 || j->obstacles[o].pose == j->modes.pose[i])
                SU_TRY(su_contact_obstacle(&flesh, &j->obstacles[o].obstacle, &j->touching, c, err));
        su_detail(j->tool, "pose %d: %lld vertices in contact, %lld of them inside the other side",
                  (int)j->modes.pose[i], (long long)c->contacts, (long long)c->penetrating);
        rows += c->rows, entries += c->entries;
    }
    su_stats_integer(j->tool, "contact_rows", rows);
    su_modes *modes = &j->modes;
    modes->offset_count = modes->k + 1, modes->row_offset_count = rows + 1, modes->z = entries;
    SU_TRY(SU_FILE_ALLOC(&modes->file, &modes->contact_offsets, modes->k + 1, err));
    SU_TRY(SU_FILE_ALLOC(&modes->file, &modes->contact_row_offsets, rows + 1, err));
    SU_TRY(SU_FILE_ALLOC(&modes->file, &modes->contact_vertices, entries, err));
    SU_TRY(SU_FILE_ALLOC(&modes->file, &modes->contact_coefficients, 3 * entries, err));
    for (int64_t i = 0, row = 0, at = 0; i < modes->k; i++) {
        const su_contact_rows *c = &j->contacts[i];
        for (int64_t r = 0; r < c->rows; r++) modes->contact_row_offsets[++row] = (int32_t)(at + c->offsets[r + 1]);
        memcpy(modes->contact_vertices + at, c->vertices, (size_t)c->entries * sizeof(int32_t));
        memcpy(modes->contact_coefficients + 3 * at, c->coefficients, 3 * (size_t)c->entries * sizeof(double));
        at += c->entries;
        modes->contact_offsets[i + 1] = (int32_t)row;
    }
    return SU_OK;
}
