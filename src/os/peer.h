// SPDX-License-Identifier: Apache-2.0
/*
 * The peer of a connection on this machine. The API trusts processes of its own
 * user without a token, but not the commands that it runs for agents in a sandbox: those have
 * another user namespace, or no right to look like ours.
 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

/**
 * User of the process at the other end of a connected Unix socket, or of a TCP connection between
 * two ends of this machine. @return whether the kernel says it. Any thread; microseconds.
 */
bool peer_user(int fd, uid_t *ret_user);

/**
 * Whether the peer of a connected TCP (loopback) or Unix socket is certainly a process of our user
 * (or root) in our user namespace that is not confined by seccomp under a supervisor of ours. TCP:
 * sock_diag (or /proc/net/tcp and tcp6) gives uid and inode, /proc/PID/fd the process; Unix:
 * SO_PEERCRED. False whenever it cannot be proven. Any thread; reads /proc, a millisecond or some.
 */
bool peer_is_same_user(int fd);
