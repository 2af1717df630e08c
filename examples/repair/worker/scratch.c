/* A private copy of the project; see scratch.h. */
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *position)
{
    (void)status;
    (void)type;
    (void)position;
    return remove(path);
}

/* FTW_PHYS: a link is removed, never followed. */
static void remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");

    return folder != NULL && folder[0] == '/' ? folder : "/tmp";
}

/* One run has one worker at a time, so a folder with its name belongs to one that is dead. */
static void remove_leftovers(const char *prefix)
{
    const char *folder = temporary_folder();
    DIR *directory = opendir(folder);
    const struct dirent *entry = NULL;

    if (directory == NULL)
        return;
    while ((entry = readdir(directory)) != NULL) {
        struct text path = {0};
        struct stat status = {0};

        text_printf(&path, "%s/%s", folder, entry->d_name);
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && lstat(path.data, &status) == 0 &&
            status.st_uid == geteuid() && S_ISDIR(status.st_mode))
            remove_tree(path.data);
        text_fini(&path);
    }
    closedir(directory);
}

static bool copy_file(const char *from, const char *to, const struct stat *status)
{
    const struct timespec times[2] = {status->st_atim, status->st_mtim};
    struct text content = {0};
    bool is_copied = false;
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status->st_mode & 0777);

    if (fd < 0)
        return false;
    if (text_read_file(&content, from))
        is_copied = write(fd, text_string(&content), content.len) == (ssize_t)content.len;
    is_copied = is_copied && futimens(fd, times) == 0;
    close(fd);
    text_fini(&content);
    return is_copied;
}

static bool copy_tree(const char *from, const char *to, int depth, int *count);

static bool copy_entry(const char *from, const char *to, int depth, int *count)
{
    struct stat status = {0};

    if (lstat(from, &status) != 0)
        return errno == ENOENT; /* it went away meanwhile */
    if (++*count > SCRATCH_FILES_MAX || depth > SCRATCH_DEPTH_MAX) {
        errno = EFBIG;
        return false;
    }
    if (S_ISDIR(status.st_mode))
        return mkdir(to, 0700) == 0 && copy_tree(from, to, depth + 1, count);
    return !S_ISREG(status.st_mode) || copy_file(from, to, &status);
}

static bool copy_tree(const char *from, const char *to, int depth, int *count)
{
    DIR *directory = opendir(from);
    const struct dirent *entry = NULL;
    bool is_copied = true;

    if (directory == NULL)
        return false;
    while (is_copied && (entry = readdir(directory)) != NULL) {
        struct text source = {0};
        struct text target = {0};

        text_printf(&source, "%s/%s", from, entry->d_name);
        text_printf(&target, "%s/%s", to, entry->d_name);
        if (entry->d_name[0] != '.')
            is_copied = copy_entry(source.data, target.data, depth, count);
        if (!is_copied)
            fprintf(stderr, "repair-worker: copying %s: %s\n", source.data, strerror(errno));
        text_fini(&source);
        text_fini(&target);
    }
    closedir(directory);
    return is_copied;
}

bool scratch_open(struct scratch *scratch, const char *workspace, const char *owner)
{
    struct text prefix = {0};
    int count = 0;
    uint64_t hash = text_hash(TEXT_HASH_START, workspace, strlen(workspace) + 1);

    hash = text_hash(hash, owner, strlen(owner));
    text_printf(&prefix, "repair-%016llx.", (unsigned long long)hash);
    remove_leftovers(prefix.data);
    text_printf(&scratch->path, "%s/%sXXXXXX", temporary_folder(), prefix.data);
    text_fini(&prefix);
    if (mkdtemp(scratch->path.data) == NULL) {
        fprintf(stderr, "repair-worker: %s: %s\n", scratch->path.data, strerror(errno));
        text_fini(&scratch->path);
        return false;
    }
    if (copy_tree(workspace, scratch->path.data, 0, &count))
        return true;
    scratch_close(scratch);
    return false;
}

/*
 * The kernel stamps files with a clock that ticks every few milliseconds, so that a source could
 * be as old as the object made from its predecessor, and make would keep the object. The exact
 * time is always later.
 */
static bool stamp(int fd)
{
    struct timespec times[2] = {{0}};

    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[1] = times[0];
    return futimens(fd, times) == 0;
}

bool scratch_write(const struct scratch *scratch, const char *path, const struct text *content)
{
    struct text full_path = {0};
    bool is_written = false;

    text_printf(&full_path, "%s/%s", scratch->path.data, path);
    int fd = open(full_path.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd >= 0) {
        is_written =
            write(fd, text_string(content), content->len) == (ssize_t)content->len && stamp(fd);
        close(fd);
    }
    text_fini(&full_path);
    return is_written;
}

void scratch_unlink(const struct scratch *scratch, const char *path)
{
    struct text full_path = {0};

    text_printf(&full_path, "%s/%s", scratch->path.data, path);
    unlink(full_path.data);
    text_fini(&full_path);
}

void scratch_close(struct scratch *scratch)
{
    if (scratch->path.len > 0)
        remove_tree(scratch->path.data);
    text_fini(&scratch->path);
}
