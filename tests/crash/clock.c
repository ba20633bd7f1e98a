// Moves the clock that a program sees (LD_PRELOAD) by CLOCK_MOVED seconds.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = syscall(SYS_clock_gettime, clock, now);
    const char *moved = getenv("CLOCK_MOVED");
    if (result == 0 && clock == CLOCK_REALTIME && moved) now->tv_sec += atol(moved);
    return result;
}
