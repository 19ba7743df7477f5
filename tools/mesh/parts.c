#include "parts.h"

#include "core/memory.h"
#include "core/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRINTED = 8, NAMED = 5 };

typedef struct part {
    int64_t number, tets;
    int64_t held, hard; /* corners of its tets that are held, and those of them that are hard */
    double place[3];    /* mean of its tets' corners, m */
} part;

/* Largest first. */
static int compare(const void *a, const void *b)
{
    const part *p = a, *q = b;
    if (p->tets != q->tets) return p->tets < q->tets ? 1 : -1;
    return (p->number > q->number) - (p->number < q->number);
}

static void place_name(const part *p, char text[60])
{
    snprintf(text, 60, "(%.3g, %.3g, %.3g)", p->place[0], p->place[1], p->place[2]);
}

/* Appends the place to a list of at most NAMED. */
static void name(const part *p, char *list, size_t size, int64_t before)
{
    char text[60];
    size_t used = strlen(list);
    place_name(p, text);
    if (before < NAMED)
        snprintf(list + used, size - used, "%s%s", before ? ", " : "", text);
    else if (before == NAMED)
        snprintf(list + used, size - used, " and elsewhere");
}

static void say(su_tool *tool, int64_t vertices, const su_held *held, const part *parts)
{
    char stiff[60 * (NAMED + 1)] = "", loose[60 * (NAMED + 1)] = "";
    int64_t stiff_count = 0, cores = 0;
    for (int64_t k = 0; k < held->parts; k++) cores += held->part_core[parts[k].number];
    su_note(tool, "held: %lld of %lld vertices (%.0f %%), %lld part%s%s", (long long)held->count, (long long)vertices,
            100.0 * (double)held->count / (double)vertices, (long long)held->parts, held->parts == 1 ? "" : "s",
            cores == held->parts ? ", by a core" : "");
    su_stats_integer(tool, "core_parts", cores);
    if (held->parts == 1) return;
    int64_t core_count = 0;
    for (int64_t k = 0; k < held->parts; k++) {
        const part *p = &parts[k];
        char place[60], line[200];
        double share = held->part_share[p->number];
        bool core = held->part_core[p->number];
        place_name(p, place);
        snprintf(line, sizeof line, "part of %lld tets at %s: %.0f %% of its vertices held%s", (long long)p->tets,
                 place, 100.0 * share, core && cores < held->parts ? ", by a core" : "");
        if (k < PRINTED)
            su_note(tool, "%s", line);
        else
            su_detail(tool, "%s", line);
        if (share > 0.5 && 2 * p->hard < p->held) name(p, stiff, sizeof stiff, stiff_count++);
        if (core) name(p, loose, sizeof loose, core_count++);
    }
    if (held->parts > PRINTED) su_note(tool, "and %lld smaller parts", (long long)(held->parts - PRINTED));
    if (stiff_count)
        su_warn(tool, "more than half of %lld of %lld parts is held, they hardly move; they are at %s",
                (long long)stiff_count, (long long)held->parts, stiff);
    if (cores && cores < held->parts)
        su_warn(tool, "no bone passes through %lld of %lld parts, their cores follow the skin; they are at %s",
                (long long)cores, (long long)held->parts, loose);
}

su_status report_parts(su_tool *tool, const su_tets *mesh, const su_held *held, const uint8_t *hard)
{
    part *parts = NULL;
    SU_TRY(SU_ALLOC(&parts, held->parts, "flesh parts", &tool->err));
    for (int64_t q = 0; q < held->parts; q++) parts[q].number = q;
    for (int64_t k = 0; k < 4 * mesh->t; k++) {
        part *p = &parts[held->part[k / 4]];
        for (int i = 0; i < 3; i++) p->place[i] += mesh->x[3 * (int64_t)mesh->tets[k] + i];
        p->tets += k % 4 == 0;
        p->held += held->fixed[mesh->tets[k]];
        p->hard += held->fixed[mesh->tets[k]] && hard[mesh->tets[k]];
    }
    for (int64_t q = 0; q < held->parts; q++)
        for (int i = 0; i < 3; i++) parts[q].place[i] /= 4.0 * (double)parts[q].tets;
    su_sort(parts, (size_t)held->parts, sizeof *parts, compare);
    say(tool, mesh->n, held, parts);
    json_t *list = json_array();
    for (int64_t k = 0; k < held->parts; k++)
        json_array_append_new(list,
                              json_pack("{s:I, s:f, s:b, s:[f,f,f]}", "tets", (json_int_t)parts[k].tets, "held_share",
                                        held->part_share[parts[k].number], "core", held->part_core[parts[k].number],
                                        "place", parts[k].place[0], parts[k].place[1], parts[k].place[2]));
    json_object_set_new(tool->stats, "part_list", list);
    su_stats_integer(tool, "parts", held->parts);
    free(parts);
    return SU_OK;
}
