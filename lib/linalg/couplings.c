#include "linalg/couplings.h"

void su_couplings_add_product(const su_couplings *couplings, const double *x, double *y)
{
    for (int64_t k = 0; k < couplings->count; k++) {
        const su_coupling *block = couplings->block + k;
        double there[SU_COUPLED], sum[SU_COUPLED] = {0};
        for (int i = 0; i < SU_COUPLED; i++) there[i] = block->dof[i] < 0 ? 0 : x[block->dof[i]];
        for (int j = 0; j < SU_COUPLED; j++)
            for (int i = 0; i < SU_COUPLED; i++) sum[i] += block->value[SU_COUPLED * j + i] * there[j];
        for (int i = 0; i < SU_COUPLED; i++)
            if (block->dof[i] >= 0) y[block->dof[i]] += sum[i];
    }
}
