/* Loaded into a service by LD_PRELOAD: kills it at a chosen step, or lets its disk be full.
 *
 * A step is a call that leaves something outside of the process: a write to a file, its way to the disk, a change of its length, a
 * rename, or bytes for a socket. FAULT_KILL_AT=N kills the process with SIGKILL instead of its Nth step. FAULT_FULL_FROM=N counts the
 * writes to files while the file FAULT_FULL_WHILE exists, and lets the Nth and later ones fail with ENOSPC; it makes the file
 * FAULT_FULL_HIT then. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long steps, writes;
static long kill_at, full_from;
static const char *full_while, *full_hit;

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

__attribute__((constructor)) static void read_environment(void) {
    kill_at = number("FAULT_KILL_AT");
    full_from = number("FAULT_FULL_FROM");
    full_while = getenv("FAULT_FULL_WHILE");
    full_hit = getenv("FAULT_FULL_HIT");
}

static void step(void) {
    if (atomic_fetch_add(&steps, 1) + 1 == kill_at) {
        kill(getpid(), SIGKILL);
        pause();
    }
}

static int is(int fd, mode_t kind) {
    struct stat status;
    return fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == kind;
}

/* Counts a write. Returns whether it fails. */
static int write_fails(int fd) {
    int is_file = is(fd, S_IFREG);
    if (is_file || is(fd, S_IFSOCK))
        step();
    if (!is_file || !full_while || access(full_while, F_OK) != 0 || atomic_fetch_add(&writes, 1) + 1 < full_from)
        return 0;
    int hit = open(full_hit, O_CREAT | O_WRONLY, 0600);
    if (hit >= 0)
        close(hit);
    errno = ENOSPC;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define WRITE(result, name, parameters, arguments) \
    result name parameters { return write_fails(fd) ? -1 : REAL(name) arguments; }

WRITE(ssize_t, write, (int fd, const void *bytes, size_t len), (fd, bytes, len))
WRITE(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
WRITE(ssize_t, pwrite, (int fd, const void *bytes, size_t len, off_t at), (fd, bytes, len, at))
WRITE(ssize_t, pwrite64, (int fd, const void *bytes, size_t len, off64_t at), (fd, bytes, len, at))
WRITE(ssize_t, send, (int fd, const void *bytes, size_t len, int flags), (fd, bytes, len, flags))
WRITE(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))

#define STEP(name, parameters, arguments) \
    int name parameters { step(); return REAL(name) arguments; }

STEP(fsync, (int fd), (fd))
STEP(fdatasync, (int fd), (fd))
STEP(ftruncate, (int fd, off_t len), (fd, len))
STEP(ftruncate64, (int fd, off64_t len), (fd, len))
STEP(rename, (const char *from, const char *to), (from, to))
