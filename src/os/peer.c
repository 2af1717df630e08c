// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel knows both ends of a connection on this machine. The other end's entry has the user
 * and the inode of the socket; the process that has that inode among its descriptors is the peer. A
 * sandbox may leave the user as it is, so each holder is compared with ourselves: its user
 * namespace, and how many seccomp filters lie on it. Whatever cannot be read proves nothing.
 *
 * The entry is asked for through a netlink socket (sock_diag), which costs microseconds; reading
 * the whole of /proc/net/tcp takes the kernel milliseconds, however few connections there are, and
 * is left for kernels that do not answer.
 */
#include "os/peer.h"

#include "base/auto.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/** State of an open connection in /proc/net/tcp. */
#define STATE_ESTABLISHED 1
/** State of one whose client has finished sending and waits for the answer. */
#define STATE_FIN_WAIT2 5

/** What confines a process, as far as /proc shows. */
struct process_confinement {
    dev_t namespace_device;
    ino_t namespace_inode;
    long seccomp_mode;
    long seccomp_filters; /**< -1 = an old kernel does not report it */
};

static bool read_seccomp(const char *path, struct process_confinement *ret_confinement)
{
    auto_fclose FILE *file = fopen(path, "re");
    char line[512];
    if (file == NULL) {
        return false;
    }
    ret_confinement->seccomp_mode = -1;
    ret_confinement->seccomp_filters = -1;
    while (fgets(line, sizeof(line), file) != NULL) {
        sscanf(line, "Seccomp: %ld", &ret_confinement->seccomp_mode);
        sscanf(line, "Seccomp_filters: %ld", &ret_confinement->seccomp_filters);
    }
    return ret_confinement->seccomp_mode >= 0;
}

/** @param process "self" or a number */
static bool read_confinement(const char *process, struct process_confinement *ret_confinement)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%s/ns/user", process);
    if (stat(path, &status) < 0) {
        return false;
    }
    ret_confinement->namespace_device = status.st_dev;
    ret_confinement->namespace_inode = status.st_ino;
    snprintf(path, sizeof(path), "/proc/%s/status", process);
    return read_seccomp(path, ret_confinement);
}

/** Whether a process is as free as we are. */
static bool is_like_us(const char *process)
{
    struct process_confinement ours;
    struct process_confinement theirs;
    return read_confinement("self", &ours) && read_confinement(process, &theirs) &&
           ours.namespace_device == theirs.namespace_device &&
           ours.namespace_inode == theirs.namespace_inode &&
           theirs.seccomp_mode <= ours.seccomp_mode &&
           theirs.seccomp_filters <= ours.seccomp_filters;
}

static bool holds(const char *process, const char *socket_name)
{
    char path[300];
    snprintf(path, sizeof(path), "/proc/%s/fd", process);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return false;
    }
    bool is_found = false;
    const struct dirent *entry = NULL;
    while (!is_found && (entry = readdir(folder)) != NULL) {
        char target[64];
        ssize_t len = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
        if (len > 0) {
            target[len] = '\0';
            is_found = strcmp(target, socket_name) == 0;
        }
    }
    closedir(folder);
    return is_found;
}

/** Upper bound of the numbers of our descriptors. */
static int descriptor_bound(void)
{
    auto_fclose FILE *file = fopen("/proc/self/status", "re");
    char line[512];
    int bound = 0;
    while (file != NULL && bound == 0 && fgets(line, sizeof(line), file) != NULL) {
        sscanf(line, "FDSize: %d", &bound);
    }
    return bound;
}

static bool read_descriptor(int fd, struct statx *ret_status)
{
    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, ret_status) ==
           0;
}

/**
 * The same for ourselves. A server has thousands of descriptors, and reading a link in /proc takes
 * twenty times as long as asking for the descriptor itself. Other threads open and close theirs
 * meanwhile. This is no race that matters, as nobody closes the end that is looked for; but
 * ThreadSanitizer reports it of fstat(), and knows nothing of statx().
 * @param fd any socket of the kernel's
 */
static bool do_we_hold(int fd, uint64_t inode)
{
    struct statx ours;
    struct statx status;
    if (!read_descriptor(fd, &ours)) {
        return false;
    }
    int bound = descriptor_bound();
    for (int i = 0; i < bound; i++) {
        if (read_descriptor(i, &status) && S_ISSOCK(status.stx_mode) && status.stx_ino == inode &&
            status.stx_dev_major == ours.stx_dev_major &&
            status.stx_dev_minor == ours.stx_dev_minor) {
            return true;
        }
    }
    return false;
}

/** Whether somebody holds the socket, and all of them are like us. @param fd our end */
static bool is_held_by_us(int fd, uint64_t inode)
{
    char name[64];
    char self[16];
    snprintf(name, sizeof(name), "socket:[%" PRIu64 "]", inode);
    snprintf(self, sizeof(self), "%d", (int)getpid());
    DIR *folder = opendir("/proc");
    if (folder == NULL) {
        return false;
    }
    bool is_found = false;
    bool is_ours = true;
    const struct dirent *entry = NULL;
    while (is_ours && (entry = readdir(folder)) != NULL) {
        bool is_process = entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
        if (is_process && strcmp(entry->d_name, self) != 0 && holds(entry->d_name, name)) {
            is_found = true;
            is_ours = is_like_us(entry->d_name);
        }
    }
    closedir(folder);
    return is_ours && (is_found || do_we_hold(fd, inode)); /* we are like us */
}

/** Another user than ours is trusted only if it is root, which could do everything anyway. */
static bool is_other_root(uid_t user)
{
    return user == 0 && geteuid() != 0;
}

/** An end of a connection as the kernel knows it. */
struct socket_row {
    char local[48];
    char remote[48];
    unsigned state;
    unsigned user;
    uint64_t inode;
};

static bool is_open(const struct socket_row *row)
{
    return row->state == STATE_ESTABLISHED || row->state == STATE_FIN_WAIT2;
}

/* ---- Asking for one entry: sock_diag(7). ------------------------------------------------------
 */

static void copy_address(const struct sockaddr_storage *address, __be32 *ret_words,
                         __be16 *ret_port)
{
    if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)address;
        memcpy(ret_words, &in->sin6_addr, sizeof(in->sin6_addr));
        *ret_port = in->sin6_port;
    } else {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;
        ret_words[0] = in->sin_addr.s_addr;
        *ret_port = in->sin_port;
    }
}

struct socket_query {
    struct nlmsghdr head;
    struct inet_diag_req_v2 request;
};

struct reply {
    struct nlmsghdr head;
    struct inet_diag_msg entry;
    char rest[1024];
};

static bool ask_kernel(const struct socket_query *question, struct reply *ret_reply)
{
    auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0 || send(fd, question, sizeof(*question), 0) != (ssize_t)sizeof(*question)) {
        return false;
    }
    /* The kernel answers while the question is sent. */
    ssize_t len = recv(fd, ret_reply, sizeof(*ret_reply), MSG_DONTWAIT);
    return len >= (ssize_t)offsetof(struct reply, rest) &&
           ret_reply->head.nlmsg_type == SOCK_DIAG_BY_FAMILY;
}

/** @return whether the kernel reports the connection between just these two */
static bool ask_for_row(const struct sockaddr_storage *from, const struct sockaddr_storage *to,
                        struct socket_row *ret_row)
{
    struct socket_query question = {
        .head = {.nlmsg_len = sizeof(question),
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .request = {.sdiag_family = (__u8)from->ss_family, .sdiag_protocol = IPPROTO_TCP},
    };
    struct inet_diag_sockid *id = &question.request.id;
    copy_address(from, id->idiag_src, &id->idiag_sport);
    copy_address(to, id->idiag_dst, &id->idiag_dport);
    id->idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    struct reply reply;
    if (!ask_kernel(&question, &reply)) {
        return false;
    }
    *ret_row = (struct socket_row){.state = reply.entry.idiag_state,
                                   .user = reply.entry.idiag_uid,
                                   .inode = reply.entry.idiag_inode};
    /* Without such a connection the answer may be about a listener. */
    return reply.entry.id.idiag_sport == id->idiag_sport &&
           reply.entry.id.idiag_dport == id->idiag_dport;
}

/* ---- Looking for it in the table. -------------------------------------------------------------
 */

/** The numbers of the kernel's table for an address: the address in words of the host, the port. */
static void table_text(const struct sockaddr_storage *address, bool is_wide, char *ret_text,
                       size_t size)
{
    uint32_t words[4] = {0, 0, htonl(0xffff), 0};
    unsigned port = 0;
    if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)address;
        memcpy(words, &in->sin6_addr, sizeof(words));
        port = ntohs(in->sin6_port);
    } else {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;
        words[3] = in->sin_addr.s_addr;
        port = ntohs(in->sin_port);
    }
    if (is_wide) {
        snprintf(ret_text, size, "%08" PRIX32 "%08" PRIX32 "%08" PRIX32 "%08" PRIX32 ":%04X",
                 words[0], words[1], words[2], words[3], port);
    } else {
        snprintf(ret_text, size, "%08" PRIX32 ":%04X", words[3], port);
    }
}

static bool read_row(const char *line, struct socket_row *ret_row)
{
    return sscanf(line, " %*[^:]: %47s %47s %x %*s %*s %*s %u %*s %" SCNu64, ret_row->local,
                  ret_row->remote, &ret_row->state, &ret_row->user, &ret_row->inode) == 5;
}

/** @return whether the table has the connection from `from` to `to` */
static bool find_row(const char *path, const char *from, const char *to, struct socket_row *ret_row)
{
    auto_fclose FILE *file = fopen(path, "re");
    char line[512];
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (read_row(line, ret_row) && strcmp(ret_row->local, from) == 0 &&
            strcmp(ret_row->remote, to) == 0) {
            return is_open(ret_row);
        }
    }
    return false;
}

static bool find_peer(const struct sockaddr_storage *ours, const struct sockaddr_storage *theirs,
                      struct socket_row *ret_row)
{
    char from[48];
    char to[48];
    if (ask_for_row(theirs, ours, ret_row)) {
        return is_open(ret_row);
    }
    if (ours->ss_family == AF_INET) {
        table_text(theirs, false, from, sizeof(from));
        table_text(ours, false, to, sizeof(to));
        if (find_row("/proc/net/tcp", from, to, ret_row)) {
            return true;
        }
    }
    table_text(theirs, true, from, sizeof(from));
    table_text(ours, true, to, sizeof(to));
    return find_row("/proc/net/tcp6", from, to, ret_row);
}

static bool is_same_over_tcp(int fd, const struct sockaddr_storage *ours)
{
    struct sockaddr_storage theirs = {0};
    socklen_t len = sizeof(theirs);
    struct socket_row row;
    if (getpeername(fd, (struct sockaddr *)&theirs, &len) < 0 || !find_peer(ours, &theirs, &row)) {
        return false;
    }
    return is_other_root(row.user) || (row.user == geteuid() && is_held_by_us(fd, row.inode));
}

static bool is_same_over_unix(int fd)
{
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);
    char process[16];
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.pid <= 0) {
        return false;
    }
    snprintf(process, sizeof(process), "%d", (int)peer.pid);
    return is_other_root(peer.uid) || (peer.uid == geteuid() && is_like_us(process));
}

bool peer_user(int fd, uid_t *ret_user)
{
    struct sockaddr_storage ours = {0};
    struct sockaddr_storage theirs = {0};
    struct ucred peer = {0};
    struct socket_row row;
    socklen_t our_len = sizeof(ours);
    socklen_t their_len = sizeof(theirs);
    socklen_t len = sizeof(peer);
    if (getsockname(fd, (struct sockaddr *)&ours, &our_len) < 0) {
        return false;
    }
    if (ours.ss_family == AF_UNIX) {
        bool is_known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0;
        *ret_user = is_known ? peer.uid : *ret_user;
        return is_known;
    }
    if (getpeername(fd, (struct sockaddr *)&theirs, &their_len) < 0 ||
        !ask_for_row(&theirs, &ours, &row) || !is_open(&row)) {
        return false;
    }
    *ret_user = row.user;
    return true;
}

bool peer_is_same_user(int fd)
{
    struct sockaddr_storage ours = {0};
    socklen_t len = sizeof(ours);
    if (getsockname(fd, (struct sockaddr *)&ours, &len) < 0) {
        return false;
    }
    switch (ours.ss_family) {
    case AF_UNIX:
        return is_same_over_unix(fd);
    case AF_INET:
    case AF_INET6:
        return is_same_over_tcp(fd, &ours);
    default:
        return false;
    }
}
