// SPDX-License-Identifier: Apache-2.0
/* The folders of the IANA database. */
#include "os/zone.h"

#include "base/buf.h"
#include "base/time/calendar.h"
#include "os/file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_LEN 64

/** Names such as "Europe/Berlin", "Etc/GMT+5"; nothing that leads out of the folder. */
static bool is_zone_name(const char *zone)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_+-/";
    size_t len = strlen(zone);
    return len > 0 && len <= NAME_MAX_LEN && zone[0] != '/' && zone[len - 1] != '/' &&
           strspn(zone, letters) == len;
}

bool zone_load(const char *name, struct zone **ret_zone)
{
    static const char *const folders[] = {"/usr/share/zoneinfo", "/usr/lib/zoneinfo",
                                          "/usr/share/lib/zoneinfo", "/etc/zoneinfo"};
    if (strcmp(name, "UTC") == 0) {
        *ret_zone = NULL;
        return true;
    }
    for (size_t i = 0; is_zone_name(name) && i < sizeof(folders) / sizeof(folders[0]); i++) {
        char path[PATH_MAX];
        auto_buf struct buf bytes = {0};
        snprintf(path, sizeof(path), "%s/%s", folders[i], name);
        /* opens: the system's time zones */
        struct zone *zone = file_read(path, ZONE_FILE_MAX_BYTES, &bytes, NULL) == 0
                                ? zone_parse(buf_string(&bytes), bytes.len)
                                : NULL;
        if (zone != NULL) {
            *ret_zone = zone;
            return true;
        }
    }
    return false;
}

bool zone_find(const char *name, int64_t unix_seconds, struct zone_moment *ret_moment)
{
    struct zone *zone;
    struct zone_span span;
    if (unix_seconds < CALENDAR_FIRST_SECOND || unix_seconds > CALENDAR_LAST_SECOND ||
        !zone_load(name, &zone)) {
        return false;
    }
    zone_span_at(zone, unix_seconds, &span);
    zone_free(zone);
    *ret_moment = span.moment;
    return true;
}
