// Ends the process that it is loaded into (LD_PRELOAD) with SIGKILL at one of its writes to watched files, so that a
// harness can stop a program at each of them in turn.
//
// STOP_WATCH  a part of the path of every watched file
// STOP_AT     the number of the write, from 1 on; 0 or nothing: none
// STOP_TORN   1: half of what that write brings is written first
// STOP_COUNT  a file that gets a line for each write: `write`, `sync` or `name`
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long seen;

static int named(const char *path) {
    const char *watch = getenv("STOP_WATCH");
    return watch && *watch && path && strstr(path, watch);
}

static int watched(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return named(path);
}

// Whether this is the one to stop at.
static int reached(const char *kind) {
    const char *count = getenv("STOP_COUNT"), *at = getenv("STOP_AT");
    if (count) {
        int fd = syscall(SYS_openat, AT_FDCWD, count, O_WRONLY | O_CREAT | O_APPEND, 0600);
        syscall(SYS_write, fd, kind, strlen(kind));
        syscall(SYS_close, fd);
    }
    return atomic_fetch_add(&seen, 1) + 1 == (at ? atol(at) : 0);
}

static void stop(void) {
    for (;;) kill(getpid(), SIGKILL);
}

static int torn(void) {
    const char *torn = getenv("STOP_TORN");
    return torn && *torn == '1';
}

ssize_t write(int fd, const void *bytes, size_t length) {
    if (watched(fd) && reached("write\n")) {
        if (torn()) syscall(SYS_write, fd, bytes, length / 2);
        stop();
    }
    return syscall(SYS_write, fd, bytes, length);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    if (watched(fd) && reached("write\n")) {
        if (torn()) syscall(SYS_pwrite64, fd, bytes, length / 2, at);
        stop();
    }
    return syscall(SYS_pwrite64, fd, bytes, length, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
    return pwrite64(fd, bytes, length, at);
}

int fsync(int fd) {
    if (watched(fd) && reached("sync\n")) stop();
    return syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    if (watched(fd) && reached("sync\n")) stop();
    return syscall(SYS_fdatasync, fd);
}

int ftruncate64(int fd, off64_t length) {
    if (watched(fd) && reached("write\n")) stop();
    return syscall(SYS_ftruncate, fd, length);
}

int ftruncate(int fd, off_t length) {
    return ftruncate64(fd, length);
}

int rename(const char *from, const char *to) {
    if (named(to) && reached("name\n")) stop();
    return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path) {
    if (named(path) && reached("name\n")) stop();
    return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
