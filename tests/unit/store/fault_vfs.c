// SPDX-License-Identifier: Apache-2.0
/* The failing layer under SQLite. One thread uses it at a time. */
#include "fault_vfs.h"

#include <sqlite3.h>
#include <stddef.h>
#include <string.h>

struct fault_file {
    sqlite3_file base;
    bool is_log;
    sqlite3_file *real; /**< after this struct */
};

static struct {
    int operations;
    unsigned nth;
    unsigned seen;
    unsigned syncs;
    unsigned log_syncs;
    int code;
    bool is_lasting;
    bool has_failed;
} plan;

static sqlite3_vfs fault_vfs;

static sqlite3_file *real_file(sqlite3_file *file)
{
    return ((struct fault_file *)file)->real;
}

/** @return the code to fail with, or SQLITE_OK */
static int consult_plan(int operation)
{
    if ((plan.operations & operation) == 0) {
        return SQLITE_OK;
    }
    plan.seen++;
    bool is_hit = plan.seen == plan.nth || (plan.is_lasting && plan.seen > plan.nth);
    plan.has_failed = plan.has_failed || is_hit;
    return is_hit ? plan.code : SQLITE_OK;
}

static int fault_close(sqlite3_file *file)
{
    return real_file(file)->pMethods->xClose(real_file(file));
}

static int fault_read(sqlite3_file *file, void *bytes, int len, sqlite3_int64 offset)
{
    return real_file(file)->pMethods->xRead(real_file(file), bytes, len, offset);
}

static int fault_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 offset)
{
    int rc = consult_plan(FAULT_VFS_WRITE);
    return rc != SQLITE_OK ? rc
                           : real_file(file)->pMethods->xWrite(real_file(file), bytes, len, offset);
}

static int fault_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return real_file(file)->pMethods->xTruncate(real_file(file), size);
}

static int fault_sync(sqlite3_file *file, int flags)
{
    int rc = consult_plan(FAULT_VFS_SYNC);
    if (rc != SQLITE_OK) {
        return rc;
    }
    plan.syncs++;
    plan.log_syncs += ((struct fault_file *)file)->is_log;
    return real_file(file)->pMethods->xSync(real_file(file), flags);
}

static int fault_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
    return real_file(file)->pMethods->xFileSize(real_file(file), ret_size);
}

static int fault_lock(sqlite3_file *file, int level)
{
    return real_file(file)->pMethods->xLock(real_file(file), level);
}

static int fault_unlock(sqlite3_file *file, int level)
{
    return real_file(file)->pMethods->xUnlock(real_file(file), level);
}

static int fault_check_lock(sqlite3_file *file, int *ret_is_reserved)
{
    return real_file(file)->pMethods->xCheckReservedLock(real_file(file), ret_is_reserved);
}

static int fault_control(sqlite3_file *file, int operation, void *argument)
{
    return real_file(file)->pMethods->xFileControl(real_file(file), operation, argument);
}

static int fault_sector_size(sqlite3_file *file)
{
    return real_file(file)->pMethods->xSectorSize(real_file(file));
}

static int fault_characteristics(sqlite3_file *file)
{
    return real_file(file)->pMethods->xDeviceCharacteristics(real_file(file));
}

static int fault_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
    return real_file(file)->pMethods->xShmMap(real_file(file), page, size, extend, ret);
}

static int fault_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real_file(file)->pMethods->xShmLock(real_file(file), offset, count, flags);
}

static void fault_shm_barrier(sqlite3_file *file)
{
    real_file(file)->pMethods->xShmBarrier(real_file(file));
}

static int fault_shm_unmap(sqlite3_file *file, int is_deleted)
{
    return real_file(file)->pMethods->xShmUnmap(real_file(file), is_deleted);
}

static const sqlite3_io_methods fault_methods = {
    .iVersion = 2,
    .xClose = fault_close,
    .xRead = fault_read,
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = fault_size,
    .xLock = fault_lock,
    .xUnlock = fault_unlock,
    .xCheckReservedLock = fault_check_lock,
    .xFileControl = fault_control,
    .xSectorSize = fault_sector_size,
    .xDeviceCharacteristics = fault_characteristics,
    .xShmMap = fault_shm_map,
    .xShmLock = fault_shm_lock,
    .xShmBarrier = fault_shm_barrier,
    .xShmUnmap = fault_shm_unmap,
};

static int fault_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags,
                      int *ret_flags)
{
    sqlite3_vfs *real_vfs = vfs->pAppData;
    struct fault_file *fault_file = (struct fault_file *)file;
    fault_file->real = (sqlite3_file *)(fault_file + 1);
    fault_file->is_log = (flags & SQLITE_OPEN_WAL) != 0;
    int rc = real_vfs->xOpen(real_vfs, name, fault_file->real, flags, ret_flags);
    file->pMethods = fault_file->real->pMethods != NULL ? &fault_methods : NULL;
    return rc;
}

void fault_vfs_install(void)
{
    sqlite3_vfs *real_vfs = sqlite3_vfs_find(NULL);
    fault_vfs = *real_vfs;
    fault_vfs.zName = "fault";
    fault_vfs.pNext = NULL;
    fault_vfs.pAppData = real_vfs;
    fault_vfs.szOsFile = (int)sizeof(struct fault_file) + real_vfs->szOsFile;
    fault_vfs.xOpen = fault_open;
    sqlite3_vfs_register(&fault_vfs, 1);
}

void fault_vfs_plan(int operations, unsigned nth, int code, bool is_lasting)
{
    fault_vfs_reset();
    plan.operations = operations;
    plan.nth = nth;
    plan.code = code;
    plan.is_lasting = is_lasting;
}

void fault_vfs_reset(void)
{
    memset(&plan, 0, sizeof(plan));
}

unsigned fault_vfs_syncs(void)
{
    return plan.syncs;
}

unsigned fault_vfs_log_syncs(void)
{
    return plan.log_syncs;
}

bool fault_vfs_has_failed(void)
{
    return plan.has_failed;
}
