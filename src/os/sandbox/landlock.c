// SPDX-License-Identifier: Apache-2.0
/*
 * Landlock's three system calls. The structures and flags are defined here, because the headers of
 * the systems that we build on are older than the kernels that we run on; each version of the
 * kernel's interface is given only the rights that it knows. No state; any thread.
 */
#include "os/sandbox/landlock.h"

#include "base/auto.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CREATE_VERSION    1u
#define RULE_PATH_BENEATH 1

#define FS_EXECUTE    (UINT64_C(1) << 0)
#define FS_WRITE_FILE (UINT64_C(1) << 1)
#define FS_READ_FILE  (UINT64_C(1) << 2)
#define FS_READ_DIR   (UINT64_C(1) << 3)
#define FS_TRUNCATE   (UINT64_C(1) << 14)
#define FS_IOCTL_DEV  (UINT64_C(1) << 15)

#define NET_BIND_TCP    (UINT64_C(1) << 0)
#define NET_CONNECT_TCP (UINT64_C(1) << 1)

#define SCOPE_ABSTRACT_UNIX_SOCKET (UINT64_C(1) << 0)
#define SCOPE_SIGNAL               (UINT64_C(1) << 1)

struct ruleset_attributes {
    uint64_t handled_fs;
    uint64_t handled_net; /* from version 4 */
    uint64_t scoped;      /* from version 6 */
};

struct path_beneath {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

int landlock_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
    return version < 0 ? 0 : (int)version;
}

/** Every file right that this version knows: 13 at first, then refer, truncate, ioctl. */
static uint64_t known_fs(int version)
{
    static const int rights[] = {0, 13, 14, 15, 15, 16};
    int last = (int)(sizeof(rights) / sizeof(rights[0])) - 1;
    return (UINT64_C(1) << rights[version > last ? last : version]) - 1;
}

static size_t attributes_size(int version)
{
    if (version >= 6) {
        return sizeof(struct ruleset_attributes);
    }
    return version >= 4 ? offsetof(struct ruleset_attributes, scoped)
                        : offsetof(struct ruleset_attributes, handled_net);
}

int landlock_begin(bool denies_network, int *ret_fd, struct rondo_error *err)
{
    int version = landlock_version();
    if (version < LANDLOCK_VERSION_NEEDED) {
        return error_set(err, RONDO_ERR_UNSUPPORTED,
                         "the kernel has Landlock version %d; %d is needed", version,
                         LANDLOCK_VERSION_NEEDED);
    }
    const struct ruleset_attributes attributes = {
        .handled_fs = known_fs(version),
        .handled_net = denies_network ? NET_BIND_TCP | NET_CONNECT_TCP : 0,
        .scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL,
    };
    long fd = syscall(SYS_landlock_create_ruleset, &attributes, attributes_size(version), 0);
    if (fd < 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot begin Landlock rules");
    }
    *ret_fd = (int)fd;
    return 0;
}

/** The kernel refuses rights of folders in the rule of a file. */
static uint64_t rights_of(enum landlock_access access, bool is_folder)
{
    static const uint64_t file_rights =
        FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV;
    uint64_t rights = 0;
    switch (access) {
    case LANDLOCK_READ:
        rights = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR;
        break;
    case LANDLOCK_WRITE:
        rights = UINT64_MAX;
        break;
    case LANDLOCK_LIST:
        rights = FS_READ_DIR;
        break;
    case LANDLOCK_DEVICE:
        rights = FS_READ_FILE | FS_WRITE_FILE | FS_IOCTL_DEV;
        break;
    }
    rights &= known_fs(landlock_version());
    return is_folder ? rights : rights & file_rights;
}

int landlock_allow(int ruleset_fd, const struct landlock_target *target,
                   enum landlock_access access, struct rondo_error *err)
{
    auto_close int fd = open(target->path, O_PATH | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        return errno == ENOENT || errno == ENOTDIR
                   ? 0
                   : error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot open %s", target->path);
    }
    bool is_any = target->device == 0 && target->inode == 0;
    if (!is_any && (status.st_dev != target->device || status.st_ino != target->inode)) {
        return 0;
    }
    const struct path_beneath rule = {
        .allowed = rights_of(access, S_ISDIR(status.st_mode)),
        .parent_fd = fd,
    };
    if (rule.allowed != 0 &&
        syscall(SYS_landlock_add_rule, ruleset_fd, RULE_PATH_BENEATH, &rule, 0) != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot allow %s", target->path);
    }
    return 0;
}

int landlock_enforce(int ruleset_fd, struct rondo_error *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_landlock_restrict_self, ruleset_fd, 0) != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot enforce Landlock rules");
    }
    return 0;
}

int landlock_scope_sockets(struct rondo_error *err)
{
    const struct ruleset_attributes attributes = {.scoped = SCOPE_ABSTRACT_UNIX_SOCKET};
    if (landlock_version() < 6) {
        return 0;
    }
    auto_close int fd =
        (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
    if (fd < 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot begin Landlock rules");
    }
    return landlock_enforce(fd, err);
}
