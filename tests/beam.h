/* A box of tets along x for tests: cells of six tets each, held at x = 0. */
#ifndef TESTS_BEAM_H
#define TESTS_BEAM_H

#include <stdint.h>

typedef struct beam {
    int64_t n, t, held_count;
    double length, width, height;
    double *vertices;                  /* (n,3) */
    int32_t *tets;                     /* (t,4) positive volume */
    int32_t *held;                     /* vertices at x = 0, ascending */
    double *young, *poisson, *density; /* (t) 1e5 Pa, 0.4, 1000 kg/m^3 */
} beam;

/* nx, ny, nz cells over length (x) by height (y) by width (z), centred on the x axis. Aborts without memory. */
beam beam_create(int nx, int ny, int nz, double length, double height, double width);
void beam_free(beam *b);

/* out (n,3): the axis becomes an arc that turns by `angle` rad in the x-y plane over the whole length; cross sections
 * stay plane and normal to it. 0 gives the neutral shape. */
void beam_bend(const beam *b, double angle, double *out);
/* out (n,3): rotated about the axis (unit) by angle, then moved. */
void beam_turn(const beam *b, const double axis[3], double angle, const double shift[3], double *out);

/* modes (r,n,3): the lowest linear vibration modes about a rest shape (n,3), orthonormal in the lumped mass, by a dense
 * solver (small beams only); eigenvalues (r) rad^2/s^2, may be NULL. */
void beam_modes(const beam *b, const double *rest, int r, double *modes, double *eigenvalues);
/* mass (n): lumped */
void beam_mass(const beam *b, double *mass);

#endif
