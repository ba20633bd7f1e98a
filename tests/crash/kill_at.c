// Runs a program and ends it, with every process that it has started, with SIGKILL at one of the calls by which it changes
// files, however the call is made: it is traced.
//
//     kill_at FOLDER COUNT NUMBER TORN PROGRAM [ARGUMENT...]
//
// FOLDER  calls about files below it count
// COUNT   a file that gets a line for each of them: what it is, and the path
// NUMBER  at which to end it, from 1 on; 0: none
// TORN    1: where that is a write, half of it is done first
//
// The exit code is that of the program, or 137 where it was ended.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *folder;

static int link_text(const char *link, char *out) {
    ssize_t length = readlink(link, out, PATH_MAX - 1);
    if (length <= 0) return 0;
    out[length] = 0;
    return 1;
}

static int of_handle(pid_t pid, long handle, char *out) {
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/fd/%ld", pid, handle);
    return link_text(link, out);
}

// A path as the program names it, from a folder that is open, or from where it is.
static int of_path(pid_t pid, long base, unsigned long address, char *out) {
    char text[PATH_MAX] = {0};
    size_t read = 0;
    while (read < sizeof text - 1) {
        // Not past the end of a page: the next one may not be there.
        size_t most = 4096 - (address + read) % 4096;
        if (most > sizeof text - 1 - read) most = sizeof text - 1 - read;
        struct iovec here = {text + read, most}, there = {(void *)(address + read), most};
        ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (got <= 0) break;
        if (memchr(text + read, 0, got)) break;
        read += got;
    }
    if (text[0] == '/') {
        strcpy(out, text);
        return 1;
    }
    char link[64], from[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/cwd", pid);
    if (!(base == AT_FDCWD ? link_text(link, from) : of_handle(pid, base, from))) return 0;
    return snprintf(out, PATH_MAX, "%s/%s", from, text) < PATH_MAX;
}

// What a call is that changes a file, with the file; nothing where it is another one.
static const char *change(pid_t pid, const struct __ptrace_syscall_info *info, char *path) {
    const __uint64_t *a = info->entry.args;
    int base = (int)a[0];
    switch (info->entry.nr) {
        case SYS_write:
        case SYS_pwrite64:
        case SYS_writev:
        case SYS_pwritev:
            return of_handle(pid, base, path) ? "write" : 0;
        case SYS_ftruncate:
        case SYS_fallocate:
            return of_handle(pid, base, path) ? "size" : 0;
        case SYS_fsync:
        case SYS_fdatasync:
            return of_handle(pid, base, path) ? "sync" : 0;
        case SYS_copy_file_range:
            return of_handle(pid, (int)a[2], path) ? "copy" : 0;
        case SYS_openat:
            return (a[2] & (O_CREAT | O_TRUNC | __O_TMPFILE)) && of_path(pid, base, a[1], path) ? "open" : 0;
        case SYS_mkdirat:
            return of_path(pid, base, a[1], path) ? "mkdir" : 0;
        case SYS_unlinkat:
            return of_path(pid, base, a[1], path) ? "unlink" : 0;
        case SYS_symlinkat:
            return of_path(pid, (int)a[1], a[2], path) ? "link" : 0;
        case SYS_linkat:
            return of_path(pid, (int)a[2], a[3], path) ? "link" : 0;
        case SYS_renameat2:
#ifdef SYS_renameat
        case SYS_renameat:
#endif
            return of_path(pid, (int)a[2], a[3], path) ? "rename" : 0;
#ifdef SYS_rename
        case SYS_rename:
            return of_path(pid, AT_FDCWD, a[1], path) ? "rename" : 0;
        case SYS_link:
        case SYS_symlink:
            return of_path(pid, AT_FDCWD, a[1], path) ? "link" : 0;
        case SYS_unlink:
        case SYS_rmdir:
            return of_path(pid, AT_FDCWD, a[0], path) ? "unlink" : 0;
        case SYS_mkdir:
            return of_path(pid, AT_FDCWD, a[0], path) ? "mkdir" : 0;
        case SYS_open:
            return (a[1] & (O_CREAT | O_TRUNC | __O_TMPFILE)) && of_path(pid, AT_FDCWD, a[0], path) ? "open" : 0;
#endif
    }
    return 0;
}

// Halves what a write is about to write; whether it is one.
static int halve(pid_t pid, const struct __ptrace_syscall_info *info) {
    if (info->entry.nr != SYS_write && info->entry.nr != SYS_pwrite64) return 0;
    struct user_regs_struct registers;
    struct iovec all = {&registers, sizeof registers};
    if (ptrace(PTRACE_GETREGSET, pid, 1, &all)) return 0;
#if defined __x86_64__
    registers.rdx /= 2;
#elif defined __aarch64__
    registers.regs[2] /= 2;
#else
    return 0;
#endif
    return ptrace(PTRACE_SETREGSET, pid, 1, &all) == 0;
}

static void end_all(pid_t program) {
    kill(-program, SIGKILL);
    int status;
    while (waitpid(-1, &status, __WALL) > 0 || errno == EINTR) {}
    _exit(137);
}

int main(int count, char **words) {
    if (count < 6) return 2;
    folder = words[1];
    FILE *list = fopen(words[2], "we");
    long at = atol(words[3]), seen = 0;
    int torn = atoi(words[4]);
    pid_t program = fork();
    if (program == 0) {
        setpgid(0, 0);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        execvp(words[5], words + 5);
        _exit(127);
    }
    int status;
    waitpid(program, &status, __WALL);
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (!list || ptrace(PTRACE_SETOPTIONS, program, 0, options)) return 2;
    ptrace(PTRACE_SYSCALL, program, 0, 0);
    pid_t halved = 0;
    for (;;) {
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0) return 2;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (pid == program) {
                fclose(list);
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            }
            continue;
        }
        int stop = WSTOPSIG(status), deliver = 0;
        if (stop == (SIGTRAP | 0x80)) {
            struct __ptrace_syscall_info info;
            char path[PATH_MAX];
            long got = ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
            if (got > 0 && info.op == PTRACE_SYSCALL_INFO_EXIT && pid == halved) end_all(program);
            const char *what = got > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY ? change(pid, &info, path) : 0;
            if (what && strncmp(path, folder, strlen(folder)) == 0) {
                fprintf(list, "%s %s\n", what, path + strlen(folder));
                fflush(list);
                if (++seen == at) {
                    if (!torn || !halve(pid, &info)) end_all(program);
                    halved = pid;
                }
            }
        } else if (stop != SIGTRAP && stop != SIGSTOP) {
            deliver = stop;
        }
        ptrace(PTRACE_SYSCALL, pid, 0, deliver);
    }
}
