// SPDX-License-Identifier: Apache-2.0
/* A checkpoint with a state of some size, against a bare commit of a blob of that size. */
#include "floor.h"
#include "loops.h"
#include "measure.h"

#include <stdint.h>
#include <stdlib.h>

/** Bytes that cannot be compressed, other ones for each seed (xorshift64). */
static void fill_random(unsigned char *bytes, size_t len, uint64_t seed)
{
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (size_t i = 0; i < len; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        bytes[i] = (unsigned char)x;
    }
}

/** Text like an agent's notes: lines that differ in a number. */
static void fill_text(unsigned char *bytes, size_t len, uint64_t seed)
{
    char line[96];
    for (size_t at = 0; at < len;) {
        int n =
            snprintf(line, sizeof(line), "{\"step\":%llu,\"tried\":\"swap operands\",\"ok\":0}\n",
                     (unsigned long long)seed++);
        for (int i = 0; i < n && at < len; i++) {
            bytes[at++] = (unsigned char)line[i];
        }
    }
}

static const struct size {
    const char *name;
    size_t len;
    void (*fill)(unsigned char *bytes, size_t len, uint64_t seed);
} sizes[] = {
    {"checkpoint of 1 KiB of text", 1024, fill_text},
    {"checkpoint of 1 KiB of random bytes", 1024, fill_random},
    {"checkpoint of 64 KiB of text", 64 * 1024, fill_text},
    {"checkpoint of 64 KiB of random bytes", 64 * 1024, fill_random},
    {"checkpoint of 1 MiB of text", 1024 * 1024, fill_text},
    {"checkpoint of 1 MiB of random bytes", 1024 * 1024, fill_random},
};

static double save_us(struct rondo_loop *loop, const unsigned char *bytes, size_t len)
{
    struct rondo_error err = {0};
    double began = now_us();
    if (rondo_loop_set_state(loop, bytes, len, &err) < 0 ||
        rondo_loop_save_checkpoint(loop, NULL, &err) < 0) {
        bench_die("rondo_loop_save_checkpoint: %s", err.message);
    }
    return now_us() - began;
}

static void measure_size(struct bench *bench, const struct size *size, struct rondo_loop *loop,
                         struct floor *floor, unsigned char *bytes)
{
    struct samples ours = {0};
    struct samples bare = {0};
    for (size_t round = 0; round < bench_rounds(bench, 60); round++) {
        size->fill(bytes, size->len, round + 1);
        samples_add(&ours, save_us(loop, bytes, size->len));
        double began = now_us();
        floor_commit(floor, bytes, size->len);
        samples_add(&bare, now_us() - began);
    }
    bench_row(
        bench,
        &(struct report_row){.name = size->name, .floor_name = "bare commit of it", .unit = "us"},
        &ours, &bare);
}

void figure_checkpoint(struct bench *bench)
{
    struct rondo *rondo = loops_open(bench_path(bench, "checkpoint.db"));
    struct rondo_loop *loop = loops_start(rondo);
    struct floor *floor = floor_open(bench_path(bench, "checkpoint-floor.db"));
    unsigned char *bytes = malloc(1024 * 1024);
    if (bytes == NULL) {
        bench_die("out of memory");
    }
    loops_turn(loop);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        measure_size(bench, &sizes[i], loop, floor, bytes);
    }
    free(bytes);
    floor_close(floor);
    rondo_loop_free(loop);
    rondo_close(rondo);
}
