/* Growing text, whole files and one hash; see text.h. */
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void *text_realloc(void *old, size_t count, size_t size)
{
    void *memory = reallocarray(old, count > 0 ? count : 1, size);

    if (memory == NULL) {
        fputs("repair-worker: out of memory\n", stderr);
        abort();
    }
    return memory;
}

void text_fini(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

static void text_reserve(struct text *text, size_t more)
{
    size_t cap = text->cap > 0 ? text->cap : 64;

    while (cap < text->len + more + 1)
        cap *= 2;
    if (cap != text->cap) {
        text->data = text_realloc(text->data, cap, 1);
        text->cap = cap;
    }
}

void text_append(struct text *text, const char *data, size_t len)
{
    text_reserve(text, len);
    if (len > 0)
        memcpy(text->data + text->len, data, len);
    text->len += len;
    text->data[text->len] = '\0';
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list arguments;
    char *piece = NULL;

    va_start(arguments, format);
    int len = vasprintf(&piece, format, arguments);
    va_end(arguments);
    if (len < 0)
        abort();
    text_append(text, piece, (size_t)len);
    free(piece);
}

const char *text_string(const struct text *text)
{
    return text->data != NULL ? text->data : "";
}

static bool read_all(struct text *text, int fd)
{
    char chunk[16384];
    size_t total = 0;
    ssize_t n = 0;

    while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        total += (size_t)n;
        if (total > TEXT_FILE_MAX) {
            errno = EFBIG;
            return false;
        }
        text_append(text, chunk, (size_t)n);
    }
    return true;
}

bool text_read_file(struct text *text, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    bool is_read = read_all(text, fd);
    int saved = errno;

    close(fd);
    errno = saved;
    return is_read;
}

static bool write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

/* The new content has to be on the disk before its name is, or a crash could leave an empty file.
 */
static bool fill_and_rename(int fd, const char *temporary, const char *path, const char *data,
                            size_t len, unsigned mode)
{
    bool is_written = write_all(fd, data, len) && fchmod(fd, (mode_t)mode) == 0 && fsync(fd) == 0;
    int saved = errno;

    if (close(fd) != 0 && is_written) {
        is_written = false;
        saved = errno;
    }
    if (is_written && rename(temporary, path) == 0)
        return true;
    if (is_written)
        saved = errno;
    unlink(temporary);
    errno = saved;
    return false;
}

bool text_replace_file(const char *path, const char *data, size_t len, unsigned mode)
{
    struct text temporary = {0};
    bool is_replaced = false;

    text_printf(&temporary, "%s.new", path);
    int fd = open(temporary.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd >= 0)
        is_replaced = fill_and_rename(fd, temporary.data, path, data, len, mode);
    text_fini(&temporary);
    return is_replaced;
}

uint64_t text_hash(uint64_t hash, const void *data, size_t len)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash;
}
