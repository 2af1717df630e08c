// SPDX-License-Identifier: Apache-2.0
/*
 * A layer between SQLite and the disk that fails as planned. Once installed it serves every
 * connection that is opened later in the process.
 */
#pragma once

#include <stdbool.h>

enum fault_vfs_operation {
    FAULT_VFS_WRITE = 1, /**< writing to any file of the store */
    FAULT_VFS_SYNC = 2,  /**< fsync of any file of the store */
};

/** Install as the default; call once. */
void fault_vfs_install(void);

/**
 * Let operations fail from the `nth` one on (from 1) that is of one of these kinds.
 * @param operations set of enum fault_vfs_operation
 * @param code       SQLite's code to fail with
 * @param is_lasting all later ones fail too; else only this one does
 */
void fault_vfs_plan(int operations, unsigned nth, int code, bool is_lasting);

/** Let everything pass, and count from 0 again. */
void fault_vfs_reset(void);

/** Syncs of any file of the store since the last reset. */
unsigned fault_vfs_syncs(void);

/** Syncs of write-ahead logs since the last reset. */
unsigned fault_vfs_log_syncs(void);

/** Whether the planned failure has happened. */
bool fault_vfs_has_failed(void);
