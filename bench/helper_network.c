// SPDX-License-Identifier: Apache-2.0
/*
 * Helper: what a process takes that does nothing but to make one request with libcurl, loaded as
 * Rondo loads it. Prints its resident memory, KiB.
 *
 *   bench_network URL
 */
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t drop(const char *bytes, size_t size, size_t count, void *context)
{
    (void)bytes;
    (void)context;
    return size * count;
}

/** @param slot a pointer to a function */
static void find(void *library, const char *name, void *slot)
{
    void *symbol = library == NULL ? NULL : dlsym(library, name);
    if (symbol == NULL) {
        fprintf(stderr, "libcurl.so.4: %s\n", dlerror());
        exit(2);
    }
    memcpy(slot, &symbol, sizeof(symbol));
}

static void ask(const char *url)
{
    CURLcode (*global_init)(long);
    CURL *(*easy_init)(void);
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
    CURLcode (*easy_perform)(CURL *);
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    find(library, "curl_global_init", &global_init);
    find(library, "curl_easy_init", &easy_init);
    find(library, "curl_easy_setopt", &easy_setopt);
    find(library, "curl_easy_perform", &easy_perform);
    global_init(CURL_GLOBAL_DEFAULT);
    CURL *call = easy_init();
    (easy_setopt)(call, CURLOPT_URL, url);
    (easy_setopt)(call, CURLOPT_WRITEFUNCTION, drop);
    if (easy_perform(call) != CURLE_OK) {
        fprintf(stderr, "%s does not answer\n", url);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    char line[256];
    long kib = 0;
    if (argc != 2) {
        return 2;
    }
    ask(argv[1]);
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && kib == 0 && fgets(line, sizeof(line), status) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) {
            kib = strtol(line + 6, NULL, 10);
        }
    }
    printf("%ld\n", kib);
    return 0;
}
