#include "geometry/tetmesh.h"

#include "core/memory.h"
#include "core/order.h"
#include "geometry/mat3.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

const int su_tet_face[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

void su_tets_free(su_tets *mesh)
{
    free(mesh->x);
    free(mesh->tets);
    memset(mesh, 0, sizeof *mesh);
}

void su_simplices_around(int64_t n, int64_t count, const int32_t *simplices, int corners, int64_t *start, int32_t *list)
{
    for (int64_t i = 0; i < corners * count; i++) start[simplices[i] + 1]++;
    for (int64_t v = 0; v < n; v++) start[v + 1] += start[v];
    for (int64_t i = 0; i < corners * count; i++) list[start[simplices[i]]++] = (int32_t)(i / corners);
    for (int64_t v = n; v > 0; v--) start[v] = start[v - 1];
    start[0] = 0;
}

double su_tet_volume(const double *x, const int32_t *tet)
{
    double m[9];
    su_tet_edges(x + 3 * tet[0], x + 3 * tet[1], x + 3 * tet[2], x + 3 * tet[3], m);
    return su_det3(m) / 6.0;
}

void su_lumped_mass(int64_t n, const double *vertices, int64_t t, const int32_t *tets, const double *density,
                    double *mass)
{
    memset(mass, 0, (size_t)n * sizeof *mass);
    for (int64_t e = 0; e < t; e++) {
        const int32_t *v = tets + 4 * e;
        double edges[9];
        su_tet_edges(vertices + 3 * v[0], vertices + 3 * v[1], vertices + 3 * v[2], vertices + 3 * v[3], edges);
        double quarter = density[e] * su_det3(edges) / 24;
        for (int a = 0; a < 4; a++) mass[v[a]] += quarter;
    }
}

/* Outward normals of the four faces, not normalized. */
static void face_normals(const double *p[4], double normal[4][3])
{
    for (int f = 0; f < 4; f++) {
        const double *a = p[su_tet_face[f][0]], *b = p[su_tet_face[f][1]], *c = p[su_tet_face[f][2]];
        double u[3], v[3];
        su_sub3(b, a, u);
        su_sub3(c, a, v);
        su_cross3(u, v, normal[f]);
    }
}

static void dihedral_cosines(const double *p[4], double cosine[6])
{
    double normal[4][3], length[4];
    face_normals(p, normal);
    for (int f = 0; f < 4; f++) length[f] = su_norm3(normal[f]);
    int k = 0;
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++, k++) {
            double product = length[i] * length[j];
            cosine[k] = product > 0.0 ? -su_dot3(normal[i], normal[j]) / product : 2.0;
        }
}

double su_tet_dihedral_cosine(const double *a, const double *b, const double *c, const double *d)
{
    const double *p[4] = {a, b, c, d};
    double cosine[6], largest = -1.0;
    dihedral_cosines(p, cosine);
    for (int k = 0; k < 6; k++) largest = fmax(largest, cosine[k]);
    return largest;
}

void su_tet_barycentric(const double *x, const int32_t *tet, const double p[3], double bary[4])
{
    const double *a = x + 3 * tet[0];
    double m[9], inverse[9], r[3];
    su_tet_edges(a, x + 3 * tet[1], x + 3 * tet[2], x + 3 * tet[3], m);
    if (su_inverse3(m, inverse) == 0.0) {
        bary[0] = bary[1] = bary[2] = -1.0, bary[3] = 4.0;
        return;
    }
    su_sub3(p, a, r);
    su_mulv3(inverse, r, bary + 1);
    bary[0] = 1.0 - bary[1] - bary[2] - bary[3];
}

typedef struct face_key {
    int32_t v[2]; /* the higher two vertices, ascending */
    int32_t side; /* 4 * tet + face */
} face_key;

static int compare_faces(const void *a, const void *b)
{
    const face_key *p = a, *q = b;
    for (int i = 0; i < 2; i++)
        if (p->v[i] != q->v[i]) return p->v[i] < q->v[i] ? -1 : 1;
    return (p->side > q->side) - (p->side < q->side);
}

/* Few faces share their lowest vertex (32 in a lattice): sorted by insertion, whose time is the square of that. */
enum { FEW_FACES = 64 };

static void sort_faces(int64_t count, face_key *keys)
{
    if (count > FEW_FACES) {
        su_sort(keys, (size_t)count, sizeof *keys, compare_faces);
        return;
    }
    for (int64_t k = 1; k < count; k++) {
        face_key held = keys[k];
        int64_t at = k;
        for (; at > 0 && compare_faces(keys + at - 1, &held) > 0; at--) keys[at] = keys[at - 1];
        keys[at] = held;
    }
}

/* vertices of a face, ascending */
static void face_vertices(const int32_t *tet, int face, int32_t v[3])
{
    int32_t a = tet[su_tet_face[face][0]], b = tet[su_tet_face[face][1]], c = tet[su_tet_face[face][2]], swap;
    if (a > b) swap = a, a = b, b = swap;
    if (b > c) swap = b, b = c, c = swap;
    if (a > b) swap = a, a = b, b = swap;
    v[0] = a, v[1] = b, v[2] = c;
}

su_status su_tet_neighbours(int64_t t, const int32_t *tets, int32_t *neighbour, su_error *err)
{
    su_status status = SU_OK;
    face_key *keys = NULL;
    int64_t *begin = NULL, n = 0; /* (n + 2) keys of the faces whose lowest vertex it is */
    int32_t v[3];
    for (int64_t k = 0; k < 4 * t; k++)
        if (tets[k] >= n) n = (int64_t)tets[k] + 1;
    SU_GO(SU_ALLOC(&keys, 4 * t, "tet faces", err));
    SU_GO(SU_ALLOC(&begin, n + 2, "tet faces", err));
    for (int64_t k = 0; k < 4 * t; k++) {
        face_vertices(tets + k / 4 * 4, (int)(k % 4), v);
        begin[v[0] + 2]++;
    }
    for (int64_t i = 2; i < n + 2; i++) begin[i] += begin[i - 1];
    for (int64_t k = 0; k < 4 * t; k++) {
        face_vertices(tets + k / 4 * 4, (int)(k % 4), v);
        keys[begin[v[0] + 1]++] = (face_key){{v[1], v[2]}, (int32_t)k};
        neighbour[k] = -1;
    }
    for (int64_t i = 0; i < n; i++) {
        face_key *own = keys + begin[i];
        int64_t count = begin[i + 1] - begin[i];
        sort_faces(count, own);
        for (int64_t k = 0; k + 1 < count; k++) {
            if (memcmp(own[k].v, own[k + 1].v, sizeof own->v)) continue;
            neighbour[own[k].side] = own[k + 1].side / 4;
            neighbour[own[k + 1].side] = own[k].side / 4;
            k++;
            if (k + 1 < count && !memcmp(own[k].v, own[k + 1].v, sizeof own->v)) {
                status = su_fail(err, SU_FAILED, "tets %d, %d and %d share a face", own[k - 1].side / 4,
                                 own[k].side / 4, own[k + 1].side / 4);
                goto done;
            }
        }
    }
done:
    free(keys), free(begin);
    return status;
}

su_status su_tet_boundary(int64_t t, const int32_t *tets, int64_t *b, int32_t **surface, int32_t **owner, su_error *err)
{
    su_status status = SU_OK;
    int32_t *neighbour = NULL, *faces = NULL, *owners = NULL;
    int64_t count = 0;
    SU_GO(SU_ALLOC(&neighbour, 4 * t, "tet neighbours", err));
    SU_GO(su_tet_neighbours(t, tets, neighbour, err));
    for (int64_t k = 0; k < 4 * t; k++) count += neighbour[k] < 0;
    SU_GO(SU_ALLOC(&faces, 3 * count, "boundary triangles", err));
    SU_GO(SU_ALLOC(&owners, count, "boundary triangles", err));
    count = 0;
    for (int64_t k = 0; k < 4 * t; k++) {
        if (neighbour[k] >= 0) continue;
        for (int i = 0; i < 3; i++) faces[3 * count + i] = tets[k - k % 4 + su_tet_face[k % 4][i]];
        owners[count++] = (int32_t)(k / 4);
    }
    *b = count;
    *surface = faces, faces = NULL;
    if (owner) *owner = owners, owners = NULL;
done:
    free(neighbour);
    free(faces);
    free(owners);
    return status;
}

static int32_t find_root(int32_t *parent, int32_t k)
{
    while (parent[k] != k) parent[k] = parent[parent[k]], k = parent[k];
    return k;
}

su_status su_tet_parts(int64_t t, const int32_t *tets, int32_t *part, int64_t *parts, su_error *err)
{
    su_status status = SU_OK;
    int32_t *parent = NULL, *neighbour = NULL;
    SU_GO(SU_ALLOC(&parent, t, "flesh parts", err));
    SU_GO(SU_ALLOC(&neighbour, 4 * t, "tet neighbours", err));
    SU_GO(su_tet_neighbours(t, tets, neighbour, err));
    for (int64_t e = 0; e < t; e++) parent[e] = (int32_t)e;
    for (int64_t k = 0; k < 4 * t; k++) {
        if (neighbour[k] < 0) continue;
        int32_t a = find_root(parent, (int32_t)(k / 4)), b = find_root(parent, neighbour[k]);
        if (a != b) parent[a > b ? a : b] = a > b ? b : a;
    }
    *parts = 0;
    for (int64_t e = 0; e < t; e++) { /* a root is the first tet of its part */
        int32_t root = find_root(parent, (int32_t)e);
        part[e] = root == e ? (int32_t)(*parts)++ : part[root];
    }
done:
    free(parent);
    free(neighbour);
    return status;
}

void su_laplacian_free(su_laplacian *L)
{
    free(L->start), free(L->column), free(L->value);
    *L = (su_laplacian){0};
}

su_status su_laplacian_create(const su_tet_mesh *mesh, su_laplacian *L, double *volume, su_error *err)
{
    int64_t n = mesh->n, t = mesh->t;
    const int32_t *tets = mesh->tets;
    int64_t *fill = NULL;
    *L = (su_laplacian){0};
    su_status status;
    SU_GO(SU_ALLOC_ALL("Laplacian", err, SU_WANT(L->start, n + 2), SU_WANT(L->column, 16 * t), SU_WANT(fill, n + 1)));
    for (int64_t k = 0; k < 4 * t; k++) L->start[tets[k] + 1] += 4;
    for (int64_t v = 0; v < n; v++) L->start[v + 1] += L->start[v], fill[v] = L->start[v];
    for (int64_t e = 0; e < t; e++)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) L->column[fill[tets[4 * e + a]]++] = tets[4 * e + b];
    int64_t write = 0;
    for (int64_t v = 0; v < n; v++) { /* sorted, each once */
        int64_t from = L->start[v], to = fill[v];
        su_sort(L->column + from, (size_t)(to - from), sizeof *L->column, su_order_int32);
        L->start[v] = write;
        for (int64_t k = from; k < to; k++)
            if (k == from || L->column[k] != L->column[write - 1]) L->column[write++] = L->column[k];
    }
    L->start[n] = write;
    SU_GO(SU_ALLOC(&L->value, write, "Laplacian", err));
    for (int64_t e = 0; e < t; e++) {
        const int32_t *tet = tets + 4 * e;
        double g[12], V = su_tet_gradients(mesh->x, tet, g) / 6;
        for (int a = 0; a < 4; a++) {
            if (volume) volume[tet[a]] += 0.25 * V;
            for (int b = 0; b < 4; b++) {
                int64_t at = L->start[tet[a]];
                const int32_t *found = bsearch(&tet[b], L->column + at, (size_t)(L->start[tet[a] + 1] - at),
                                               sizeof tet[b], su_order_int32);
                L->value[found - L->column] += V * su_dot3(g + 3 * a, g + 3 * b);
            }
        }
    }
done:
    free(fill);
    if (status != SU_OK) su_laplacian_free(L);
    return status;
}

su_status su_tet_measure(const su_tets *mesh, su_tet_quality *out, su_error *err)
{
    /* A histogram gives the percentile without sorting millions of angles: bins of 1/100 degree. */
    enum { BINS = 18000 };
    su_status status = SU_OK;
    int64_t *bin = NULL, seen = 0;
    su_tet_quality q = {.smallest_volume = DBL_MAX, .dihedral_min = 180.0};
    SU_GO(SU_ALLOC(&bin, BINS + 1, "angle histogram", err));
    for (int64_t e = 0; e < mesh->t; e++) {
        const int32_t *tet = mesh->tets + 4 * e;
        const double *p[4] = {mesh->x + 3 * tet[0], mesh->x + 3 * tet[1], mesh->x + 3 * tet[2], mesh->x + 3 * tet[3]};
        double cosine[6], volume = su_tet_volume(mesh->x, tet);
        q.volume += volume;
        q.smallest_volume = fmin(q.smallest_volume, volume);
        dihedral_cosines(p, cosine);
        for (int k = 0; k < 6; k++) {
            double angle = acos(fmax(-1.0, fmin(1.0, cosine[k]))) * 180.0 / M_PI;
            q.dihedral_min = fmin(q.dihedral_min, angle);
            bin[(int)(angle * BINS / 180.0)]++;
        }
    }
    for (int k = 0; k <= BINS; k++) {
        seen += bin[k];
        if (100 * seen < 6 * mesh->t) continue;
        q.dihedral_percentile = fmax(k * 180.0 / BINS, q.dihedral_min);
        break;
    }
    *out = q;
done:
    free(bin);
    return status;
}
