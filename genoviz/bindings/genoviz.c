/* The calls of genoviz.h: each is a line, and what it takes, sent to the process of its handle.
 *
 * service.py answers them. A request is a line of words and numbers, and the texts whose lengths
 * it has. Answers are "ok NUMBERS", "error SENTENCE" or, before one of these, "told SHARE WORDS",
 * which is itself answered "go" or "stop". Arrays lie in a file without a name that both map.
 */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE
#include "genoviz.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef GENOVIZ_PYTHON
#define GENOVIZ_PYTHON "python3"
#endif
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

enum { LINE = 4096, SOCKET = 3, MEMORY = 4, SPARE = 10 };

struct genoviz {
    int socket, memory;
    pid_t process;
    char* shared;
    size_t n_shared;
    int64_t n_samples, n_variants;
    genoviz_teller tell;
    void* context;
    char line[LINE];
    size_t n_line;
};

extern char** environ;
static __thread char message[LINE];

const char* genoviz_error(void) {
    return message;
}

int64_t genoviz_samples(const genoviz* handle) {
    return handle->n_samples;
}

int64_t genoviz_variants(const genoviz* handle) {
    return handle->n_variants;
}

void genoviz_watch(genoviz* handle, genoviz_teller tell, void* context) {
    handle->tell = tell;
    handle->context = context;
}

static int fail(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return -1;
}

static int has_ended(void) {
    return fail("the process of genoviz has ended; standard error may say why");
}

static int send_all(genoviz* handle, const void* bytes, size_t n) {
    for (const char* at = bytes; n > 0;) {
        ssize_t sent = send(handle->socket, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return has_ended();
        at += sent;
        n -= (size_t)sent;
    }
    return 0;
}

/* Read a line into the handle, without its end. */
static int read_line(genoviz* handle) {
    for (handle->n_line = 0;;) {
        char byte;
        ssize_t n = recv(handle->socket, &byte, 1, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return has_ended();
        if (byte == '\n') break;
        if (handle->n_line < LINE - 1) handle->line[handle->n_line++] = byte;
    }
    handle->line[handle->n_line] = 0;
    return 0;
}

/* Send a request and its texts, and wait for the answer, whose numbers are stored. */
static int ask(genoviz* handle, const char* const texts[], int n_texts, int64_t numbers[],
               int n_numbers, const char* format, ...) {
    char request[LINE];
    va_list arguments;
    va_start(arguments, format);
    size_t n = (size_t)vsnprintf(request, sizeof request, format, arguments);
    va_end(arguments);
    for (int i = 0; i < n_texts; i++)
        n += (size_t)snprintf(request + n, sizeof request - n, " %zu", strlen(texts[i]));
    request[n++] = '\n';
    if (send_all(handle, request, n)) return -1;
    for (int i = 0; i < n_texts; i++)
        if (send_all(handle, texts[i], strlen(texts[i]))) return -1;

    message[0] = 0;
    for (;;) {
        if (read_line(handle)) return -1;
        char* rest = strchr(handle->line, ' ');
        if (rest)
            *rest++ = 0;
        else
            rest = handle->line + handle->n_line;
        if (!strcmp(handle->line, "error")) return fail("%s", rest);
        if (!strcmp(handle->line, "ok")) {
            for (int i = 0; i < n_numbers; i++) numbers[i] = strtoll(rest, &rest, 10);
            return 0;
        }
        double done = strtod(rest, &rest);
        int stops = handle->tell && handle->tell(rest + 1, done, handle->context);
        if (send_all(handle, stops ? "stop\n" : "go\n", stops ? 5 : 3)) return -1;
    }
}

/* Make room for so many bytes in the shared memory. */
static int share(genoviz* handle, size_t n) {
    if (n <= handle->n_shared) return 0;
    if (handle->shared) munmap(handle->shared, handle->n_shared);
    handle->shared = NULL;
    handle->n_shared = 0;
#ifdef __linux__ /* what is not there is said here, and not by a signal when it is written to */
    int error = posix_fallocate(handle->memory, 0, (off_t)n);
#else
    int error = ftruncate(handle->memory, (off_t)n) ? errno : 0;
#endif
    if (error) return fail("%zu bytes cannot be shared with genoviz: %s", n, strerror(error));
    void* at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, handle->memory, 0);
    if (at == MAP_FAILED)
        return fail("%zu bytes cannot be shared with genoviz: %s", n, strerror(errno));
    handle->shared = at;
    handle->n_shared = n;
    return 0;
}

/* Store how many bytes so many items take, of one size. */
static int size_of(int64_t n_rows, int64_t n_columns, size_t n_each, size_t* n) {
    size_t limit = PTRDIFF_MAX / 2 / n_each;
    if (n_rows < 0 || n_columns < 0 || (n_columns && (size_t)n_rows > limit / (size_t)n_columns))
        return fail("%" PRId64 " x %" PRId64 " values cannot be", n_rows, n_columns);
    *n = (size_t)n_rows * (size_t)n_columns * n_each;
    return 0;
}

/* Return an open file without a name, in memory where the system has such. */
static int open_memory(void) {
    const char* folders[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
    for (int i = 0; i < 3; i++) {
        char path[LINE];
        if (!folders[i]) continue;
        snprintf(path, sizeof path, "%s/genoviz-XXXXXX", folders[i]);
        int file = mkstemp(path);
        if (file < 0) continue;
        unlink(path);
        int moved = fcntl(file, F_DUPFD_CLOEXEC, SPARE);
        close(file);
        return moved;
    }
    return -1;
}

static int spawn_service(genoviz* handle, int theirs) {
    posix_spawn_file_actions_t files;
    const char* python = getenv("GENOVIZ_PYTHON");
    char* const arguments[] = {(char*)(python ? python : GENOVIZ_PYTHON), "-m",
                               "genoviz.bindings.service", NULL};
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, theirs, SOCKET);
    posix_spawn_file_actions_adddup2(&files, handle->memory, MEMORY);
    int error = posix_spawnp(&handle->process, arguments[0], &files, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    if (error) return fail("%s cannot be started: %s", arguments[0], strerror(error));
    return 0;
}

/* Start a process; NULL if that cannot be. */
static genoviz* start(void) {
    int pair[2];
    genoviz* handle = calloc(1, sizeof *handle);
    if (!handle) return fail("there is no memory left"), NULL;
    handle->socket = -1;
    handle->memory = open_memory();
    if (handle->memory < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) {
        fail("no memory can be shared with genoviz: %s", strerror(errno));
        genoviz_close(handle);
        return NULL;
    }
    handle->socket = fcntl(pair[0], F_DUPFD_CLOEXEC, SPARE);
    int theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, SPARE);
    close(pair[0]);
    close(pair[1]);
#ifdef SO_NOSIGPIPE
    setsockopt(handle->socket, SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
#endif
    int error = spawn_service(handle, theirs);
    close(theirs);
    if (!error) return handle;
    genoviz_close(handle);
    return NULL;
}

/* Keep the size of the matrix that the process has answered with; NULL, and closed, on failure. */
static genoviz* opened(genoviz* handle, int error, const int64_t size[]) {
    if (error) {
        genoviz_close(handle);
        return NULL;
    }
    handle->n_samples = size[0];
    handle->n_variants = size[1];
    return handle;
}

genoviz* genoviz_open(const char* path, const char* options) {
    int64_t size[2];
    const char* texts[] = {path, options ? options : ""};
    genoviz* handle = start();
    if (!handle) return NULL;
    return opened(handle, ask(handle, texts, 2, size, 2, "open"), size);
}

genoviz* genoviz_pack(const unsigned char* packed, int64_t n_samples, int64_t n_variants,
                      const char* options) {
    int64_t size[2];
    const char* texts[] = {options ? options : ""};
    size_t n;
    if (n_samples < 0 || size_of(n_variants, n_samples / 4 + (n_samples % 4 > 0), 1, &n)) {
        fail("%" PRId64 " samples and %" PRId64 " variants cannot be", n_samples, n_variants);
        return NULL;
    }
    genoviz* handle = start();
    if (!handle) return NULL;
    int error = share(handle, n);
    if (!error) {
        memcpy(handle->shared, packed, n);
        error = ask(handle, texts, 1, size, 2, "pack %" PRId64 " %" PRId64, n_samples, n_variants);
    }
    return opened(handle, error, size);
}

static int multiply(genoviz* handle, const char* what, const double* x, int64_t n_x, double* y,
                    int64_t n_y, int64_t n_columns) {
    size_t n_in, n_out;
    if (size_of(n_x, n_columns, sizeof *x, &n_in) || size_of(n_y, n_columns, sizeof *y, &n_out))
        return -1;
    if (share(handle, n_in + n_out)) return -1;
    memcpy(handle->shared, x, n_in);
    if (ask(handle, NULL, 0, NULL, 0, "%s %" PRId64, what, n_columns)) return -1;
    memcpy(y, handle->shared + n_in, n_out);
    return 0;
}

int genoviz_multiply(genoviz* handle, const double* x, int64_t n_columns, double* y) {
    const int64_t n_x = handle->n_variants, n_y = handle->n_samples;
    return multiply(handle, "multiply", x, n_x, y, n_y, n_columns);
}

int genoviz_multiply_transposed(genoviz* handle, const double* x, int64_t n_columns, double* y) {
    const int64_t n_x = handle->n_samples, n_y = handle->n_variants;
    return multiply(handle, "multiply_transposed", x, n_x, y, n_y, n_columns);
}

int genoviz_put(genoviz* handle, const char* name, const double* values, int64_t n_rows,
                int64_t n_columns) {
    size_t n;
    if (size_of(n_rows, n_columns, sizeof *values, &n) || share(handle, n)) return -1;
    memcpy(handle->shared, values, n);
    return ask(handle, &name, 1, NULL, 0, "put %" PRId64 " %" PRId64, n_rows, n_columns);
}

int genoviz_solve(genoviz* handle, const char* options) {
    const char* texts[] = {options ? options : ""};
    return ask(handle, texts, 1, NULL, 0, "solve");
}

int64_t genoviz_get(genoviz* handle, const char* name, double* values, int64_t n) {
    int64_t n_there;
    if (ask(handle, &name, 1, &n_there, 1, "size")) return -1;
    if (!values) return n_there;
    if (n < n_there)
        return fail("%s are %" PRId64 " values, and there is room for %" PRId64, name, n_there, n);
    if (share(handle, (size_t)n_there * sizeof *values)) return -1;
    if (ask(handle, &name, 1, NULL, 0, "get")) return -1;
    memcpy(values, handle->shared, (size_t)n_there * sizeof *values);
    return n_there;
}

void genoviz_close(genoviz* handle) {
    if (!handle) return;
    if (handle->socket >= 0) {
        shutdown(handle->socket, SHUT_RDWR); /* which ends the process, also after a fork */
        close(handle->socket);
    }
    if (handle->process > 0)
        while (waitpid(handle->process, NULL, 0) < 0 && errno == EINTR) continue;
    if (handle->shared) munmap(handle->shared, handle->n_shared);
    if (handle->memory >= 0) close(handle->memory);
    free(handle);
}

/* For R, whose .C gives pointers to vectors and takes no results. Handles are numbers from 1; the
 * last argument is the sentence of an error, "" if there is none. */
enum { MOST_OF_R = 64 };
static genoviz* of_r[MOST_OF_R];

static genoviz* take(const int* handle, char** error) {
    genoviz* found = *handle > 0 && *handle <= MOST_OF_R ? of_r[*handle - 1] : NULL;
    *error = "";
    if (!found) *error = "these genotypes are closed";
    return found;
}

static void tell_r(int failed, char** error) {
    *error = failed ? message : "";
}

static void keep(genoviz* handle, int* number, double* size, char** error) {
    if (!handle) {
        tell_r(1, error);
        return;
    }
    *error = "";
    for (int i = 0; i < MOST_OF_R; i++)
        if (!of_r[i]) {
            of_r[i] = handle;
            *number = i + 1;
            size[0] = (double)handle->n_samples;
            size[1] = (double)handle->n_variants;
            return;
        }
    genoviz_close(handle);
    *error = "too many genotypes are open";
}

void genoviz_r_open(char** path, char** options, int* handle, double* size, char** error) {
    keep(genoviz_open(*path, *options), handle, size, error);
}

void genoviz_r_multiply(int* handle, int* is_transposed, double* x, int* n_columns, double* y,
                        char** error) {
    genoviz* found = take(handle, error);
    if (!found) return;
    int failed = *is_transposed ? genoviz_multiply_transposed(found, x, *n_columns, y)
                                : genoviz_multiply(found, x, *n_columns, y);
    tell_r(failed, error);
}

void genoviz_r_put(int* handle, char** name, double* values, int* shape, char** error) {
    genoviz* found = take(handle, error);
    if (found) tell_r(genoviz_put(found, *name, values, shape[0], shape[1]), error);
}

void genoviz_r_solve(int* handle, char** options, char** error) {
    genoviz* found = take(handle, error);
    if (found) tell_r(genoviz_solve(found, *options), error);
}

/* No room: n becomes the number of values. */
void genoviz_r_get(int* handle, char** name, double* values, double* n, char** error) {
    genoviz* found = take(handle, error);
    if (!found) return;
    int64_t there = genoviz_get(found, *name, *n > 0 ? values : NULL, (int64_t)*n);
    tell_r(there < 0, error);
    *n = (double)there;
}

void genoviz_r_close(int* handle, char** error) {
    genoviz* found = take(handle, error);
    if (!found) return;
    of_r[*handle - 1] = NULL;
    genoviz_close(found);
}
