// SPDX-License-Identifier: Apache-2.0
/* Numbers of system calls, also of those that libseccomp does not know. */
#include "os/sandbox/system_call.h"

#include <seccomp.h>
#include <string.h>

/* Calls that libseccomp may be too old for. Since 5.1 new ones have one number everywhere. */
static const struct {
    const char *name;
    int number;
} newer_calls[] = {
    {"clone3", 435},         {"openat2", 437},      {"process_madvise", 440},
    {"mount_setattr", 442},  {"quotactl_fd", 443},  {"process_mrelease", 448},
    {"fchmodat2", 452},      {"setxattrat", 463},   {"removexattrat", 466},
    {"open_tree_attr", 467}, {"file_setattr", 469},
};

int system_call_number(const char *name)
{
    int number = seccomp_syscall_resolve_name(name);
    for (size_t i = 0;
         number == __NR_SCMP_ERROR && i < sizeof(newer_calls) / sizeof(newer_calls[0]); i++) {
        if (strcmp(newer_calls[i].name, name) == 0) {
            return newer_calls[i].number;
        }
    }
    return number;
}
