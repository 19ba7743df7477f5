/* Clusters of tets that move alike in skinning modes (docs/skinning.md, section 2; FCD section 6). */
#ifndef SU_REDUCE_CLUSTERS_H
#define SU_REDUCE_CLUSTERS_H

#include "core/error.h"

#include <stdint.h>

/* All pointers borrowed. */
typedef struct su_cluster_problem {
    int64_t n, t, k;
    const double *vertices;    /* (n,3) */
    const int32_t *tets;       /* (t,4) */
    const double *weights;     /* (n,k) skinning modes W */
    const double *eigenvalues; /* (k) */
    int64_t wanted;
    uint64_t seed;
    int threads;
} su_cluster_problem;

typedef struct su_cluster_report {
    int64_t means;      /* clusters before they are cut apart */
    int64_t iterations; /* of Lloyd's */
    double spread;      /* rms distance of the tets' features from their mean over that from the mean of all */
} su_cluster_report;

/* cluster (t), numbered without gaps by their first tets, *count of them: k-means++ (Arthur and Vassilvitskii 2007) on
 * the means of W Lambda^-2 over the corners of each tet, weighted by volume, of a sample of them where they are many,
 * Lloyd's iterations with Hamerly's bounds (2010); then clusters in several pieces that share no face become one each,
 * and slivers join a neighbour: *count may be larger than wanted, or smaller. Modes that cost nothing have no say: they
 * are constant on each part. The same for any number of threads. report may be NULL. */
su_status su_clusters_create(const su_cluster_problem *problem, int32_t *cluster, int64_t *count,
                             su_cluster_report *report, su_error *err);

#endif
