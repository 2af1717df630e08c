// SPDX-License-Identifier: Apache-2.0
/* Loading GMime with dlopen. No state of its own; GMime counts its users itself. */
#include "tool/mail/gmime_library.h"

#include "base/error.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define GMIME_LIBRARY_FILE "libgmime-3.0.so.0"

/** @param slot a pointer to a function; ISO C has no conversion from an object pointer to one */
static bool find_symbol(void *handle, const char *name, void *slot)
{
    void *symbol = dlsym(handle, name);
    memcpy(slot, &symbol, sizeof(symbol));
    return symbol != NULL;
}

int gmime_library_open(struct gmime_library *ret_library, struct rondo_error *err)
{
    struct gmime_library library = {0};
    bool is_whole = true;
    void *handle = dlopen(GMIME_LIBRARY_FILE, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        return error_set(err, RONDO_ERR_UNSUPPORTED,
                         "the library that reads mails cannot be loaded (install GMime 3, Debian's "
                         "libgmime-3.0-0): %s",
                         dlerror());
    }
#define GMIME_LIBRARY_FIND(type, name, parameters) \
    is_whole = find_symbol(handle, #name, &library.name) && is_whole;
    GMIME_LIBRARY_FUNCTIONS(GMIME_LIBRARY_FIND)
#undef GMIME_LIBRARY_FIND
    if (!is_whole) {
        return error_set(err, RONDO_ERR_UNSUPPORTED, "%s is too old to read mails",
                         GMIME_LIBRARY_FILE);
    }
    library.g_mime_init();
    *ret_library = library;
    return 0;
}
