// SPDX-License-Identifier: Apache-2.0
/*
 * Reading the audit chain as a sequence of facts, and what the request of a fact is about: for
 * metrics and statistics. Any thread.
 */
#pragma once

#include "handoff/storage/store.h"

/** One entry. */
struct handoff_entry {
    enum handoff_fact fact;
    uint64_t number;
    int64_t time_ns;
    char request_id[ID_SIZE];
    char role[HANDOFF_NAME_SIZE]; /**< of who did it; "" = none */
    bool is_of_time;              /**< nobody did it: it was due */
    bool is_shed;                 /**< it made room for another request */
};

/** @return whether it is a fact of a handoff */
bool handoff_entry_read(const char *json, size_t len, struct handoff_entry *ret_entry);

/** What a request is about. Texts that a request lacks are "none". */
struct handoff_facts_of {
    char agent_id[HANDOFF_NAME_SIZE];
    char trigger[72];
    char rule[72];
    char policy_hash[HANDOFF_DIGEST_SIZE];
    double confidence; /**< below 0 = none */
    enum handoff_level risk;
    enum handoff_level priority;
    int64_t requested_ns;
    int64_t decided_ns;
    int64_t sla_begin_ns; /**< moved by the time in which the agent answered questions */
    uint32_t escalation_level;
};

/** RONDO_ERR_NOT_FOUND; RONDO_ERR_CORRUPT. */
int handoff_facts_of(const struct handoff_store *handoffs, const char *request_id,
                     struct handoff_facts_of *ret_facts, struct rondo_error *err);

/** Whether a request that waits is past due, or has less than a quarter of its time left. */
bool handoff_is_stale(const struct handoff *handoff, int64_t now_ns);
