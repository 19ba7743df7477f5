#include "runtime/subspace/skinning_space.h"
#include "geometry/box.h"

#include <math.h>

bool su_is_skinning_model(const su_model *source) { return source->skinning_weights != NULL; }

su_skinning_frame su_skinning_frame_of(const su_model *source)
{
    su_skinning_frame frame;
    double low[3], high[3], square = 0;
    su_bounding_box(source->n, source->vertices, low, high);
    for (int c = 0; c < 3; c++) {
        frame.centre[c] = 0.5 * (low[c] + high[c]);
        square += (high[c] - low[c]) * (high[c] - low[c]);
    }
    frame.length = 0.5 * sqrt(square);
    return frame;
}

void su_skinning_affine(const su_model *source, const su_skinning_frame *frame, int64_t vertex, double affine[4])
{
    for (int c = 0; c < 3; c++) affine[c] = (source->vertices[3 * vertex + c] - frame->centre[c]) / frame->length;
    affine[3] = 1;
}

void su_skinning_row(const su_model *source, const su_skinning_frame *frame, int64_t vertex, double *phi)
{
    const double *w = source->skinning_weights + source->k * vertex;
    double affine[4];
    su_skinning_affine(source, frame, vertex, affine);
    for (int64_t b = 0; b < source->k; b++)
        for (int c = 0; c < 4; c++) phi[4 * b + c] = w[b] * affine[c];
}
