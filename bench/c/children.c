/* The CPU time of processes that have ended. The standard library of Rust does not tell it. */

#include <sys/resource.h>

/* Returns the CPU seconds, of user and system, of all children that this process has waited for. */
double terse_bench_children_seconds(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0) {
        return 0.0;
    }
    struct timeval user = usage.ru_utime, system = usage.ru_stime;
    return (double)(user.tv_sec + system.tv_sec) + (double)(user.tv_usec + system.tv_usec) / 1e6;
}
