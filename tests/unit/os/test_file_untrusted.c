// SPDX-License-Identifier: Apache-2.0
#include "folder.h"

#include "base/auto.h"
#include "base/memory.h"
#include "os/file_untrusted.h"

#include <errno.h>
#include <pthread.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#define LIMIT      64
#define SECRET     "the secret of somebody else"
#define OTHER_USER 12345

static int set_up(void **state)
{
    (void)state;
    char outside[PATH_MAX + 16];
    scratch_make(folder);
    snprintf(outside, sizeof(outside), "%s/in", folder);
    assert_int_equal(mkdir(outside, 0700), 0);
    scratch_write(folder, "secret", SECRET);
    folder_fd = file_open_folder(outside, NULL);
    assert_true(folder_fd >= 0);
    return 0;
}

/** Read what must be refused. @return the message */
static const char *refused(const char *name, int expected)
{
    static struct rondo_error error;
    struct buf content = {0};
    error = (struct rondo_error){0};
    assert_int_equal(file_read_untrusted(folder_fd, name, LIMIT, &content, &error), expected);
    assert_int_equal(content.len, 0);
    return error.message;
}

static void assert_reads(const char *name, const char *expected)
{
    struct buf content = {0};
    struct rondo_error error = {0};
    if (file_read_untrusted(folder_fd, name, LIMIT, &content, &error) != 0) {
        fail_msg("%s", error.message);
    }
    assert_string_equal(buf_string(&content), expected);
    buf_fini(&content);
}

static void assert_says(const char *message, const char *part)
{
    if (strstr(message, part) == NULL) {
        fail_msg("'%s' lacks '%s'", message, part);
    }
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(a_plain_file_is_read)
{
    scratch_write(folder, "in/a", "text");
    assert_int_equal(mkdir(path_of("in/sub"), 0700), 0);
    scratch_write(folder, "in/sub/b", "deeper");
    assert_reads("a", "text");
    assert_reads("./sub//b", "deeper");
}

CASE(a_missing_file_is_not_found)
{
    refused("none", RONDO_ERR_NOT_FOUND);
    refused("none/none", RONDO_ERR_NOT_FOUND);
    refused("", RONDO_ERR_NOT_FOUND);
}

CASE(a_symbolic_link_is_refused)
{
    assert_int_equal(symlink("../secret", path_of("in/relative")), 0);
    auto_free char *secret = memory_dup_string(path_of("secret"));
    assert_int_equal(symlink(secret, path_of("in/absolute")), 0);
    assert_int_equal(symlink("nowhere", path_of("in/dangling")), 0);
    assert_int_equal(symlink("loop", path_of("in/loop")), 0);
    assert_says(refused("relative", RONDO_ERR_INVALID), "relative is a symbolic link");
    refused("absolute", RONDO_ERR_INVALID);
    refused("dangling", RONDO_ERR_INVALID);
    refused("loop", RONDO_ERR_INVALID);
}

CASE(a_link_to_a_harmless_file_in_the_same_folder_is_refused_too)
{
    scratch_write(folder, "in/a", "text");
    assert_int_equal(symlink("a", path_of("in/b")), 0);
    refused("b", RONDO_ERR_INVALID);
}

CASE(a_link_in_the_middle_is_refused_and_named)
{
    assert_int_equal(symlink("..", path_of("in/up")), 0);
    assert_int_equal(mkdir(path_of("in/sub"), 0700), 0);
    assert_int_equal(symlink("/etc", path_of("in/sub/etc")), 0);
    assert_says(refused("up/secret", RONDO_ERR_INVALID), "through the symbolic link up");
    assert_says(refused("sub/etc/passwd", RONDO_ERR_INVALID), "through the symbolic link sub/etc");
}

CASE(links_of_proc_are_refused)
{
    static const char *const targets[] = {"/proc/self/environ", "/proc/self/fd/0",
                                          "/proc/self/exe",     "/proc/self/root/etc/passwd",
                                          "/dev/fd/0",          "/dev/stdin"};
    for (size_t i = 0; i < COUNT(targets); i++) {
        unlink(path_of("in/a"));
        assert_int_equal(symlink(targets[i], path_of("in/a")), 0);
        refused("a", RONDO_ERR_INVALID);
    }
}

CASE(magic_links_of_proc_itself_are_refused)
{
    struct buf content = {0};
    int proc_fd = file_open_folder("/proc/self", NULL);
    assert_int_equal(file_read_untrusted(proc_fd, "exe", LIMIT, &content, NULL), RONDO_ERR_INVALID);
    assert_int_equal(file_read_untrusted(proc_fd, "cwd/x", LIMIT, &content, NULL),
                     RONDO_ERR_INVALID);
    close(proc_fd);
}

CASE(a_path_that_leads_out_is_refused)
{
    assert_int_equal(mkdir(path_of("in/sub"), 0700), 0);
    scratch_write(folder, "in/a", "text");
    assert_says(refused("../secret", RONDO_ERR_INVALID), "leads out");
    refused("sub/../../secret", RONDO_ERR_INVALID);
    refused("sub/../a", RONDO_ERR_INVALID);
    refused(path_of("secret"), RONDO_ERR_INVALID);
    refused("..", RONDO_ERR_INVALID);
}

CASE(what_is_not_a_regular_file_is_refused_without_waiting)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/in/socket", folder);
    int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(socket_fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(mkfifo(path_of("in/fifo"), 0600), 0);
    assert_int_equal(mkdir(path_of("in/sub"), 0700), 0);
    assert_says(refused("fifo", RONDO_ERR_INVALID), "fifo is a FIFO");
    assert_says(refused("socket", RONDO_ERR_INVALID), "socket is a socket");
    assert_says(refused("sub", RONDO_ERR_INVALID), "sub is a folder");
    assert_says(refused(".", RONDO_ERR_INVALID), "is a folder");
    close(socket_fd);
}

CASE(a_device_is_refused)
{
    struct buf content = {0};
    struct rondo_error error = {0};
    int device_fd = file_open_folder("/dev", NULL);
    assert_int_equal(file_read_untrusted(device_fd, "zero", LIMIT, &content, &error),
                     RONDO_ERR_INVALID);
    assert_says(error.message, "zero is a device");
    close(device_fd);
    /* One without a driver cannot even be opened. */
    if (mknod(path_of("in/device"), S_IFCHR | 0600, makedev(240, 7)) == 0) {
        assert_says(refused("device", RONDO_ERR_INVALID), "device is a device");
    }
}

CASE(a_hard_link_is_refused)
{
    auto_free char *secret = memory_dup_string(path_of("secret"));
    assert_int_equal(link(secret, path_of("in/a")), 0);
    assert_says(refused("a", RONDO_ERR_INVALID), "hard link");
    assert_int_equal(unlink(path_of("secret")), 0);
    assert_reads("a", SECRET);
}

CASE(a_file_of_another_user_is_refused)
{
    if (geteuid() != 0) {
        print_message("skipped: only root can give files away\n");
        return;
    }
    scratch_write(folder, "in/a", "text");
    assert_int_equal(chown(path_of("in/a"), OTHER_USER, OTHER_USER), 0);
    assert_says(refused("a", RONDO_ERR_INVALID), "another user (id 12345)");
    /* In a folder of theirs it is what they mean. */
    assert_int_equal(chown(path_of("in"), OTHER_USER, OTHER_USER), 0);
    assert_reads("a", "text");
}

CASE(the_limit_counts_before_anything_is_read)
{
    char text[LIMIT + 2];
    memset(text, 'x', sizeof(text));
    text[LIMIT] = '\0';
    scratch_write(folder, "in/a", text);
    assert_reads("a", text);
    text[LIMIT] = 'x';
    text[LIMIT + 1] = '\0';
    scratch_write(folder, "in/a", text);
    assert_says(refused("a", RONDO_ERR_LIMIT), "larger than 64 bytes");
    scratch_write(folder, "in/sparse", "");
    assert_int_equal(truncate(path_of("in/sparse"), INT64_C(1) << 40), 0);
    refused("sparse", RONDO_ERR_LIMIT);
}

CASE(files_of_proc_that_claim_no_size_are_bounded)
{
    struct buf content = {0};
    int proc_fd = file_open_folder("/proc/self", NULL);
    assert_int_equal(file_read_untrusted(proc_fd, "smaps", LIMIT, &content, NULL), RONDO_ERR_LIMIT);
    assert_int_equal(content.len, 0);
    close(proc_fd);
}

static _Atomic bool must_stop;

static void *append_for_ever(void *path)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    while (!must_stop) {
        assert_true(write(fd, "0123456789abcdef", 16) == 16);
        if (lseek(fd, 0, SEEK_CUR) > 30 << 20) {
            assert_int_equal(ftruncate(fd, 0), 0);
        }
    }
    close(fd);
    return NULL;
}

CASE(a_file_that_grows_is_never_half_read)
{
    pthread_t thread;
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%.4000s/in/a", folder);
    scratch_write(folder, "in/a", "");
    must_stop = false;
    assert_int_equal(pthread_create(&thread, NULL, append_for_ever, path), 0);
    int refusals = 0;
    bool is_right = true;
    int64_t deadline_ns = clock_monotonic(clock_system()) + GENEROUS_NS;
    while (refusals < 5 && clock_monotonic(clock_system()) < deadline_ns) {
        struct buf content = {0};
        struct rondo_error error = {0};
        int code = file_read_untrusted(folder_fd, "a", 64 << 20, &content, &error);
        is_right =
            is_right && (code == 0 || (code == RONDO_ERR_INVALID &&
                                       strstr(error.message, "changed while it was read") != NULL));
        refusals += code == RONDO_ERR_INVALID ? 1 : 0;
        buf_fini(&content);
    }
    must_stop = true;
    pthread_join(thread, NULL);
    assert_int_equal(refusals, 5);
    assert_true(is_right);
}

static void *exchange_for_ever(void *unused)
{
    (void)unused;
    for (int i = 0; !must_stop; i++) {
        (void)!symlinkat("../secret", folder_fd, "new");
        (void)!renameat(folder_fd, "new", folder_fd, "a");
        (void)!unlinkat(folder_fd, "new", 0);
        int fd = openat(folder_fd, "new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        (void)!write(fd, "text", 4);
        close(fd);
        (void)!renameat(folder_fd, "new", folder_fd, "a");
        if (i % 64 == 0) {
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL); /* Now and then it is whole. */
        }
        (void)!linkat(folder_fd, "../secret", folder_fd, "new", 0);
        (void)!renameat(folder_fd, "new", folder_fd, "a");
        (void)!unlinkat(folder_fd, "a", 0);
        (void)!mkdirat(folder_fd, "a", 0700);
        (void)!unlinkat(folder_fd, "a", AT_REMOVEDIR);
    }
    return NULL;
}

CASE(a_file_that_is_exchanged_all_the_time_never_shows_another)
{
    pthread_t thread;
    must_stop = false;
    assert_int_equal(pthread_create(&thread, NULL, exchange_for_ever, NULL), 0);
    int reads = 0;
    int secrets = 0;
    int64_t deadline_ns = clock_monotonic(clock_system()) + GENEROUS_NS;
    for (int i = 0; i < 20000 || reads == 0; i++) {
        if (clock_monotonic(clock_system()) > deadline_ns) {
            break;
        }
        struct buf content = {0};
        if (file_read_untrusted(folder_fd, "a", LIMIT, &content, NULL) == 0) {
            secrets += strstr(buf_string(&content), "secret") != NULL ? 1 : 0;
            reads++;
        }
        buf_fini(&content);
    }
    must_stop = true;
    pthread_join(thread, NULL);
    assert_true(reads > 0);
    assert_int_equal(secrets, 0);
}

CASE(steps_refuse_what_openat2_refuses)
{
    scratch_write(folder, "in/a", "text");
    assert_int_equal(mkdir(path_of("in/sub"), 0700), 0);
    scratch_write(folder, "in/sub/b", "text");
    assert_int_equal(symlink("../secret", path_of("in/link")), 0);
    assert_int_equal(symlink("..", path_of("in/up")), 0);
    static const struct {
        const char *path;
        int failure;
    } cases[] = {{"a", 0},           {"sub/b", 0},         {"./sub//b", 0},        {"link", ELOOP},
                 {"up/in/a", ELOOP}, {"../secret", EXDEV}, {"/etc/passwd", EXDEV}, {"none", ENOENT},
                 {"a/b", ENOTDIR}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        int by_openat2_fd = file_open_beneath(folder_fd, cases[i].path, O_RDONLY);
        int by_openat2 = by_openat2_fd < 0 ? errno : 0;
        int by_steps_fd = file_open_beneath_by_steps(folder_fd, cases[i].path, O_RDONLY);
        int by_steps = by_steps_fd < 0 ? errno : 0;
        assert_int_equal(by_openat2, cases[i].failure);
        assert_int_equal(by_steps, cases[i].failure);
        close(by_openat2_fd);
        close(by_steps_fd);
    }
}

/** In a child, because a filter stays. */
static void without_openat2(int os_errno)
{
    pid_t pid = fork();
    if (pid == 0) {
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        struct buf content = {0};
        bool is_right =
            seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint16_t)os_errno), SCMP_SYS(openat2), 0) ==
                0 &&
            seccomp_load(filter) == 0 &&
            file_read_untrusted(folder_fd, "a", LIMIT, &content, NULL) == 0 &&
            strcmp(buf_string(&content), "text") == 0 &&
            file_read_untrusted(folder_fd, "link", LIMIT, &content, NULL) == RONDO_ERR_INVALID &&
            file_read_untrusted(folder_fd, "up/secret", LIMIT, &content, NULL) == RONDO_ERR_INVALID;
        _exit(is_right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

CASE(the_same_holds_where_openat2_is_missing_or_filtered)
{
    scratch_write(folder, "in/a", "text");
    assert_int_equal(symlink("../secret", path_of("in/link")), 0);
    assert_int_equal(symlink("..", path_of("in/up")), 0);
    without_openat2(ENOSYS);
    without_openat2(EPERM);
}

/* --- files that a person named --- */

static int read_named(const char *path, struct buf *content, struct rondo_error *error)
{
    char around[PATH_MAX + 256];
    snprintf(around, sizeof(around), "%s/in", folder);
    const char *const agent_folders[] = {around, NULL};
    return file_read_named(agent_folders, path, LIMIT, content, error);
}

static void assert_named(const char *path, const char *expected)
{
    struct buf content = {0};
    struct rondo_error error = {0};
    if (read_named(path, &content, &error) != 0) {
        fail_msg("%s", error.message);
    }
    assert_string_equal(buf_string(&content), expected);
    buf_fini(&content);
}

CASE(links_outside_of_agents_folders_are_followed)
{
    scratch_write(folder, "in/a", "text");
    assert_int_equal(symlink("in", path_of("way")), 0);
    assert_int_equal(symlink("way/../in/a", path_of("file")), 0);
    assert_named(path_of("way/a"), "text");
    assert_named(path_of("file"), "text");
    assert_named(path_of("in/../secret"), SECRET);
    assert_int_equal(linkat(folder_fd, "../secret", folder_fd, "../other name", 0), 0);
    assert_named(path_of("secret"), SECRET);
}

CASE(links_inside_are_refused_however_the_folder_was_reached)
{
    struct buf content = {0};
    struct rondo_error error = {0};
    assert_int_equal(symlink("../secret", path_of("in/link")), 0);
    assert_int_equal(symlink("..", path_of("in/up")), 0);
    assert_int_equal(symlink("in", path_of("way")), 0);
    assert_int_equal(symlink("way/link", path_of("second")), 0);
    assert_int_equal(read_named(path_of("in/link"), &content, &error), RONDO_ERR_INVALID);
    assert_says(error.message, "symbolic link");
    assert_int_equal(read_named(path_of("way/link"), &content, &error), RONDO_ERR_INVALID);
    assert_int_equal(read_named(path_of("way/up/secret"), &content, &error), RONDO_ERR_INVALID);
    assert_int_equal(read_named(path_of("second"), &content, &error), RONDO_ERR_INVALID);
    assert_int_equal(content.len, 0);
}

CASE(a_named_file_inside_must_be_as_any_other_there)
{
    struct buf content = {0};
    assert_int_equal(linkat(folder_fd, "../secret", folder_fd, "hard", 0), 0);
    assert_int_equal(mkfifo(path_of("in/fifo"), 0600), 0);
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    assert_int_equal(read_named(path_of("in/hard"), &content, NULL), RONDO_ERR_INVALID);
    assert_int_equal(read_named(path_of("in/fifo"), &content, NULL), RONDO_ERR_INVALID);
    assert_int_equal(read_named(path_of("fifo"), &content, NULL), RONDO_ERR_INVALID);
    assert_int_equal(read_named(path_of("in"), &content, NULL), RONDO_ERR_INVALID);
    assert_int_equal(read_named("/", &content, NULL), RONDO_ERR_INVALID);
    assert_int_equal(read_named(path_of("none"), &content, NULL), RONDO_ERR_NOT_FOUND);
}

static int open_output(const char *path, bool is_emptied)
{
    char around[PATH_MAX + 256];
    snprintf(around, sizeof(around), "%s/in", folder);
    const char *const agent_folders[] = {around, NULL};
    return file_open_output(agent_folders, path, is_emptied, NULL);
}

CASE(an_output_is_made_appended_to_and_emptied)
{
    static const char *const names[] = {"in/out", "out"};
    for (size_t i = 0; i < 2; i++) {
        int fd = open_output(path_of(names[i]), false);
        assert_int_equal(write(fd, "one", 3), 3);
        close(fd);
        fd = open_output(path_of(names[i]), false);
        assert_int_equal(write(fd, "two", 3), 3);
        close(fd);
        assert_named(path_of(names[i]), "onetwo");
        close(open_output(path_of(names[i]), true));
        assert_named(path_of(names[i]), "");
    }
    struct stat status;
    assert_int_equal(stat(path_of("in/out"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    int fd = open_output("/dev/null", true);
    assert_true(fd >= 0);
    close(fd);
}

CASE(an_output_is_not_written_through_what_agents_can_change)
{
    assert_int_equal(symlinkat("../secret", folder_fd, "link"), 0);
    assert_int_equal(symlinkat("../new", folder_fd, "dangling"), 0);
    assert_int_equal(linkat(folder_fd, "../secret", folder_fd, "hard", 0), 0);
    assert_int_equal(mkfifoat(folder_fd, "fifo", 0600), 0);
    static const char *const names[] = {"in/link", "in/dangling", "in/hard", "in/fifo", "in"};
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_true(open_output(path_of(names[i]), true) < 0);
    }
    assert_false(file_exists(path_of("new")));
    assert_named(path_of("secret"), SECRET);
}

CASE(a_loop_of_ones_own_links_ends)
{
    struct buf content = {0};
    assert_int_equal(symlink("b", path_of("a")), 0);
    assert_int_equal(symlink("a", path_of("b")), 0);
    assert_true(read_named(path_of("a"), &content, NULL) < 0);
}

CASE(without_a_list_the_working_folder_counts)
{
    struct buf content = {0};
    char before[PATH_MAX];
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(symlink("../secret", path_of("in/link")), 0);
    scratch_write(folder, "in/a", "text");
    assert_int_equal(chdir(path_of("in")), 0);
    assert_int_equal(file_read_named(NULL, "link", LIMIT, &content, NULL), RONDO_ERR_INVALID);
    assert_int_equal(file_read_named(NULL, "../in/./a", LIMIT, &content, NULL), 0);
    assert_int_equal(file_read_named(NULL, "../secret", LIMIT, &content, NULL), 0);
    assert_int_equal(chdir(before), 0);
    assert_string_equal(buf_string(&content), "text" SECRET);
    buf_fini(&content);
}
