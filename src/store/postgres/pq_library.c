// SPDX-License-Identifier: Apache-2.0
/* Loading libpq with dlopen. No state of its own. */
#include "store/postgres/pq_library.h"

#include "base/error.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define PQ_LIBRARY_FILE "libpq.so.5"

/** @param slot a pointer to a function; ISO C has no conversion from an object pointer to one */
static bool find_symbol(void *handle, const char *name, void *slot)
{
    void *symbol = dlsym(handle, name);
    memcpy(slot, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static bool find_all(void *handle, struct pq_library *library)
{
    bool is_whole = true;
#define PQ_LIBRARY_FIND(name) \
    is_whole = find_symbol(handle, "PQ" #name, &library->name) && is_whole;
    PQ_LIBRARY_FUNCTIONS(PQ_LIBRARY_FIND)
#undef PQ_LIBRARY_FIND
    return is_whole;
}

int pq_library_open(struct pq_library *ret_library, struct rondo_error *err)
{
    void *handle = dlopen(PQ_LIBRARY_FILE, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        return error_set(err, RONDO_ERR_UNSUPPORTED,
                         "the library of PostgreSQL cannot be loaded (install libpq5): %s",
                         dlerror());
    }
    struct pq_library library = {0};
    if (!find_all(handle, &library)) {
        return error_set(err, RONDO_ERR_UNSUPPORTED,
                         "%s is too old: a store in PostgreSQL needs libpq 14 or newer",
                         PQ_LIBRARY_FILE);
    }
    *ret_library = library;
    return 0;
}
