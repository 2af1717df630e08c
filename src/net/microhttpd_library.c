// SPDX-License-Identifier: Apache-2.0
/* Loading libmicrohttpd with dlopen. No state of its own. */
#include "net/microhttpd_library.h"

#include "base/error.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define MICROHTTPD_LIBRARY_FILE "libmicrohttpd.so.12"

/** @param slot a pointer to a function; ISO C has no conversion from an object pointer to one */
static bool find_symbol(void *handle, const char *name, void *slot)
{
    void *symbol = dlsym(handle, name);
    memcpy(slot, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static bool find_all(void *handle, struct microhttpd_library *library)
{
    bool is_whole = true;
#define MICROHTTPD_LIBRARY_FIND(name) \
    is_whole = find_symbol(handle, "MHD_" #name, &library->name) && is_whole;
    MICROHTTPD_LIBRARY_FUNCTIONS(MICROHTTPD_LIBRARY_FIND)
#undef MICROHTTPD_LIBRARY_FIND
    return is_whole;
}

int microhttpd_library_open(struct microhttpd_library *ret_library, struct rondo_error *err)
{
    void *handle = dlopen(MICROHTTPD_LIBRARY_FILE, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        return error_set(err, RONDO_ERR_UNSUPPORTED,
                         "the library for serving HTTP cannot be loaded (install "
                         "libmicrohttpd12): %s",
                         dlerror());
    }
    struct microhttpd_library library = {0};
    if (!find_all(handle, &library)) {
        return error_set(err, RONDO_ERR_UNSUPPORTED, "%s is too old", MICROHTTPD_LIBRARY_FILE);
    }
    *ret_library = library;
    return 0;
}
