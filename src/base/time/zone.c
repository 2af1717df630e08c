// SPDX-License-Identifier: Apache-2.0
/* TZif files. */
#include "base/time/zone.h"

#include "base/memory.h"
#include "base/time/zone_rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 44
#define KIND_BYTES   6
#define DAY_SECONDS  86400

struct zone {
    size_t change_count;
    int64_t *changes;          /* seconds of the epoch, ascending */
    unsigned char *kind_after; /* of each change: index into `kinds` */
    struct zone_moment *kinds; /* the first one applies before all changes */
    struct zone_rule rule;     /* after the last change */
    bool has_rule;
};

/* Bytes of a file that are read front to back. */
struct tzfile_reader {
    const unsigned char *at;
    const unsigned char *end;
};

struct tzfile_counts {
    uint32_t ut, standard, leap, time, type, chars;
};

static uint32_t read_u32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t read_i64(const unsigned char *at)
{
    return (int64_t)((uint64_t)read_u32(at) << 32 | read_u32(at + 4));
}

static size_t bytes_left(const struct tzfile_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

static bool read_header(struct tzfile_reader *reader, struct tzfile_counts *ret_counts)
{
    const unsigned char *at = reader->at;
    if (bytes_left(reader) < HEADER_BYTES || memcmp(at, "TZif", 4) != 0) {
        return false;
    }
    *ret_counts = (struct tzfile_counts){read_u32(at + 20), read_u32(at + 24), read_u32(at + 28),
                                         read_u32(at + 32), read_u32(at + 36), read_u32(at + 40)};
    reader->at += HEADER_BYTES;
    return true;
}

/** Bytes of the data block after a header. */
static uint64_t block_bytes(const struct tzfile_counts *counts, unsigned time_bytes)
{
    return (uint64_t)counts->time * (time_bytes + 1) + (uint64_t)counts->type * KIND_BYTES +
           counts->chars + (uint64_t)counts->leap * (time_bytes + 4) + counts->standard +
           counts->ut;
}

/** The changes, which must ascend, and what applies after each. */
static bool read_changes(const struct tzfile_counts *counts, const unsigned char *at,
                         struct zone *zone)
{
    zone->change_count = counts->time;
    zone->changes = memory_new_zero(counts->time + 1U, sizeof(*zone->changes));
    zone->kind_after = memory_new_zero(counts->time + 1U, 1);
    for (size_t i = 0; i < counts->time; i++) {
        zone->changes[i] = read_i64(at + i * 8);
        zone->kind_after[i] = at[(size_t)counts->time * 8 + i];
        if (zone->kind_after[i] >= counts->type ||
            (i > 0 && zone->changes[i] <= zone->changes[i - 1])) {
            return false;
        }
    }
    return true;
}

static bool read_kinds(const struct tzfile_counts *counts, const unsigned char *at,
                       struct zone *zone)
{
    const unsigned char *names = at + (size_t)counts->type * KIND_BYTES;
    zone->kinds = memory_new_zero(counts->type + 1U, sizeof(*zone->kinds));
    for (size_t i = 0; i < counts->type; i++, at += KIND_BYTES) {
        struct zone_moment *kind = &zone->kinds[i];
        kind->offset_seconds = (int32_t)read_u32(at);
        if (at[5] >= counts->chars || kind->offset_seconds <= -DAY_SECONDS ||
            kind->offset_seconds >= DAY_SECONDS) {
            return false;
        }
        const char *name = (const char *)names + at[5];
        snprintf(kind->name, sizeof(kind->name), "%.*s",
                 (int)strnlen(name, (size_t)(counts->chars - at[5])), name);
    }
    return counts->type > 0;
}

/** Read the line after the data. @return false when there is none, or it is empty */
static bool read_rule(const struct tzfile_reader *reader, struct zone_rule *ret_rule)
{
    char text[128];
    size_t left = bytes_left(reader);
    if (left < 3 || reader->at[0] != '\n') {
        return false;
    }
    const unsigned char *line = reader->at + 1;
    const unsigned char *end = memchr(line, '\n', left - 1);
    if (end == NULL || end == line || (size_t)(end - line) >= sizeof(text)) {
        return false;
    }
    memcpy(text, line, (size_t)(end - line));
    text[end - line] = '\0';
    return zone_rule_parse(text, ret_rule);
}

/** Go to the second block, whose times have 64 bits. @return false when the file has none */
static bool find_block(struct tzfile_reader *reader, struct tzfile_counts *ret_counts)
{
    const unsigned char *bytes = reader->at;
    if (!read_header(reader, ret_counts) || bytes[4] < '2' ||
        block_bytes(ret_counts, 4) > bytes_left(reader)) {
        return false;
    }
    reader->at += block_bytes(ret_counts, 4);
    return read_header(reader, ret_counts) && block_bytes(ret_counts, 8) <= bytes_left(reader);
}

struct zone *zone_parse(const char *bytes, size_t len)
{
    struct tzfile_reader reader = {(const unsigned char *)bytes,
                                   (const unsigned char *)bytes + len};
    struct tzfile_counts counts;
    if (!find_block(&reader, &counts)) {
        return NULL;
    }
    struct zone *zone = memory_new_zero(1, sizeof(*zone));
    if (!read_changes(&counts, reader.at, zone) ||
        !read_kinds(&counts, reader.at + (size_t)counts.time * 9, zone)) {
        zone_free(zone);
        return NULL;
    }
    reader.at += block_bytes(&counts, 8);
    zone->has_rule = read_rule(&reader, &zone->rule);
    return zone;
}

void zone_free(struct zone *zone)
{
    if (zone != NULL) {
        free(zone->changes);
        free(zone->kind_after);
        free(zone->kinds);
        free(zone);
    }
}

/** Changes at or before a moment. */
static size_t count_changes(const struct zone *zone, int64_t unix_seconds)
{
    size_t low = 0;
    size_t high = zone->change_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->changes[middle] <= unix_seconds) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void zone_span_at(const struct zone *zone, int64_t unix_seconds, struct zone_span *ret_span)
{
    *ret_span = (struct zone_span){.begin = INT64_MIN, .end = INT64_MAX, .moment = {.name = "UTC"}};
    if (zone == NULL) {
        return;
    }
    size_t passed = count_changes(zone, unix_seconds);
    int64_t begin = passed == 0 ? INT64_MIN : zone->changes[passed - 1];
    if (passed == zone->change_count && zone->has_rule) {
        zone_rule_span(&zone->rule, unix_seconds, ret_span);
        ret_span->begin = begin > ret_span->begin ? begin : ret_span->begin;
        return;
    }
    ret_span->begin = begin;
    ret_span->end = passed == zone->change_count ? INT64_MAX : zone->changes[passed];
    ret_span->moment = zone->kinds[passed == 0 ? 0 : zone->kind_after[passed - 1]];
}
