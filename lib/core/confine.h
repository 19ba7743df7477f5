/* What a process gives up before it touches a stranger's file: a defence behind the checks of the readers and the
 * faults of programs that others wrote. */
#ifndef SU_CORE_CONFINE_H
#define SU_CORE_CONFINE_H

typedef enum su_confinement {
    SU_FREE,
    SU_NO_NETWORK, /* no sockets, no looking into other processes */
    SU_READ_ONLY   /* nor any file made, written, removed or renamed, nor any program started: what it has to say goes
                    * through   descriptors that are open */
} su_confinement;

/* Closes all descriptors above standard error but `keep` (-1: none), and has the kernel refuse the rest from now on
 * (seccomp; EACCES), for this process and all it starts. For a child after fork: only calls that are safe there. Where
 * the kernel has no such filters nothing is refused. */
void su_confine(su_confinement how, int keep);

#endif
