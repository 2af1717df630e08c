// SPDX-License-Identifier: Apache-2.0
/* Loading libcurl with dlopen. No state of its own; libcurl counts its users itself. */
#include "net/client/curl_library.h"

#include "base/error.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define CURL_LIBRARY_FILE "libcurl.so.4"

/** @param slot a pointer to a function; ISO C has no conversion from an object pointer to one */
static bool find_symbol(void *handle, const char *name, void *slot)
{
    void *symbol = dlsym(handle, name);
    memcpy(slot, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static bool find_all(void *handle, struct curl_library *library)
{
    bool is_whole = true;
#define CURL_LIBRARY_FIND(name) \
    is_whole = find_symbol(handle, "curl_" #name, &library->name) && is_whole;
    CURL_LIBRARY_FUNCTIONS(CURL_LIBRARY_FIND)
#undef CURL_LIBRARY_FIND
    return is_whole;
}

int curl_library_open(struct curl_library *ret_library, struct rondo_error *err)
{
    void *handle = dlopen(CURL_LIBRARY_FILE, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        return error_set(err, RONDO_ERR_UNSUPPORTED,
                         "the library for network calls cannot be loaded (install libcurl): %s",
                         dlerror());
    }
    struct curl_library library = {0};
    if (!find_all(handle, &library)) {
        return error_set(err, RONDO_ERR_UNSUPPORTED, "%s is too old for network calls",
                         CURL_LIBRARY_FILE);
    }
    CURLcode code = library.global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) {
        return error_set(err, RONDO_ERR_SYSTEM, "cannot initialise %s: %s", CURL_LIBRARY_FILE,
                         library.easy_strerror(code));
    }
    *ret_library = library;
    return 0;
}

void curl_library_close(struct curl_library *library)
{
    library->global_cleanup();
}
