// SPDX-License-Identifier: Apache-2.0
/*
 * The state machine of handoffs: all transitions, and nothing else. It has no I/O, no clock and no
 * randomness. Every command first lets time do what is due (handoff_advance), so that it makes no
 * difference whether a timer fires late or a command comes early.
 *
 * A command that is refused changes nothing but what time has changed, with one exception: passing
 * a request on in a circle escalates it.
 *
 * The caller finds out who is acting, and commits the new record on condition of the old version,
 * together with the facts (audit entries, messages) that are listed. Of two commands on one version
 * one is committed; the other is tried again on the new record, and told what has become of it.
 */
#pragma once

#include "handoff/handoff.h"

/** What somebody wants to do with a handoff. */
enum handoff_command_kind {
    /* The agent. */
    HANDOFF_RESUBMIT = 0, /**< answers to questions */
    HANDOFF_CANCEL,       /**< its lane or run has ended; an administrator may, too */
    HANDOFF_TAKE,         /**< take what was approved, to prepare it */
    HANDOFF_START,        /**< take the grant: the action is made next */
    HANDOFF_FINISH,       /**< the action has a result */
    HANDOFF_RETURN,       /**< it could not be prepared: later again, or not at all */
    /* The router. */
    HANDOFF_ROUTE, /**< the desk was found, or there is none */
    HANDOFF_SHED,  /**< one of low priority makes room for a newer one */
    /* A person. */
    HANDOFF_CLAIM,
    HANDOFF_RELEASE,
    HANDOFF_APPROVE,
    HANDOFF_REJECT,
    HANDOFF_REROUTE,
    HANDOFF_ASK,
    HANDOFF_WITHDRAW, /**< the questions */
    HANDOFF_ESCALATE,
    HANDOFF_DEESCALATE,
    HANDOFF_REPLAY, /**< of a dead letter; an administrator */
    HANDOFF_COMMAND_COUNT
};

/** Who acts, as the caller has verified it. */
struct handoff_actor {
    const char *id;
    bool is_assignee;  /**< a person of the desks that have it */
    bool is_admin;     /**< may release, cancel, de-escalate and replay what is others' */
    bool may_decide;   /**< the role allows decisions at this risk */
    bool is_requester; /**< an agent, or who has tokens of the one that asks: never decides */
};

struct handoff_command {
    enum handoff_command_kind kind;
    struct handoff_actor actor;
    const char *consumer;      /**< take to return: names one life of a process of the agent */
    uint64_t if_version;       /**< while it waits: the record has this version; 0 = any */
    uint32_t revision;         /**< decisions, resubmission: the one that it is about */
    const char *action_digest; /**< decisions, resubmission, start: the action that was seen */
    const char *text_digest;   /**< resubmission: of its body; finish: of the result */
    bool has_text;             /**< a comment or questions are given */
    const char *desk;          /**< route: NULL = none; reroute: where to */
    const char *state_hash;    /**< start: of the checkpoint that was loaded */
    const char *new_request;   /**< resubmission of another action: id of the new request */
    bool is_allowed;           /**< start: the policies, asked again with the approval, allow it */
    bool is_transient;         /**< return: it may work later */
};

/** What became of a command. */
enum handoff_outcome {
    HANDOFF_DONE = 0,
    HANDOFF_REPEATED,        /**< it was done before: the same answer again */
    HANDOFF_PARTIAL,         /**< approved by one person; others must approve, too */
    HANDOFF_DECIDED,         /**< somebody, or time, was faster: see state and decided_by */
    HANDOFF_WAITS_FOR_AGENT, /**< questions must be answered or withdrawn first */
    HANDOFF_NOT_OPEN,        /**< the state does not permit it */
    HANDOFF_NOT_YOURS,       /**< another agent, process or operator has it */
    HANDOFF_NOT_PERMITTED,   /**< the actor's role does not permit it */
    HANDOFF_SELF_APPROVAL,   /**< who requested it cannot decide it */
    HANDOFF_SECOND_PERSON,   /**< this person has approved; another one must */
    HANDOFF_OTHER_VERSION,   /**< something happened to it since it was looked at */
    HANDOFF_OTHER_REVISION,  /**< the request has changed since it was looked at */
    HANDOFF_OTHER_ACTION,    /**< the action is not the one that was requested */
    HANDOFF_TEXT_MISSING,    /**< a comment or a question is required */
    HANDOFF_REROUTE_LOOP,    /**< it was on this desk, or was passed on too often: escalated */
    HANDOFF_TOO_MANY_QUESTIONS,
    HANDOFF_NO_APPLICATION, /**< nothing can be taken, started or finished now */
    HANDOFF_LEASE_ENDED,
    HANDOFF_INTEGRITY, /**< checkpoint, arguments or policies have changed: never applied */
    HANDOFF_TOO_LATE,  /**< there is no time left for a person */
    HANDOFF_FULL,      /**< as many wait already as may: of the lane, the agent or the store */
    HANDOFF_JOINED,    /**< the same action waits in the lane already: that one decides */
    HANDOFF_OUTCOME_COUNT
};

/** A fact that follows: an entry of the audit chain, and a message to whom it concerns. */
enum handoff_fact {
    FACT_REQUESTED = 0,
    FACT_ROUTED,
    FACT_REMINDED,
    FACT_ESCALATED,
    FACT_DEESCALATED,
    FACT_CLAIMED,
    FACT_RELEASED,
    FACT_APPROVED_PARTLY,
    FACT_APPROVED,
    FACT_REJECTED,
    FACT_REROUTED,
    FACT_ASKED,
    FACT_WITHDRAWN,
    FACT_RESUBMITTED,
    FACT_SUPERSEDED,
    FACT_EXPIRED,
    FACT_CANCELLED,
    FACT_DEAD_LETTERED,
    FACT_REPLAYED,
    FACT_TAKEN,
    FACT_LEASE_ENDED,
    FACT_STARTED,
    FACT_APPLIED,
    FACT_RETURNED,
    FACT_LAPSED,
    FACT_IN_DOUBT,
    FACT_APPLY_FAILED,
    FACT_COUNT
};

/** Facts that one command can make: what time has done, and the command itself. */
#define HANDOFF_MOST_FACTS 32

struct handoff_facts {
    enum handoff_fact facts[HANDOFF_MOST_FACTS];
    bool are_of_time[HANDOFF_MOST_FACTS]; /**< nobody did it: it was due */
    size_t count;
};

/** What a request must say. */
struct handoff_request {
    const char *request_id;
    const char *agent_id;
    const char *lane_id;
    const char *parent_id; /**< NULL = none */
    const char *owner;     /**< NULL = none */
    const char *action_digest;
    const char *state_hash;  /**< NULL = none */
    const char *body_digest; /**< by which the same request is recognised */
    enum handoff_level risk;
    enum handoff_level priority;
    int64_t required_by_ns; /**< 0 = none */
    bool is_idempotent;
    bool is_foreign; /**< of an agent that Rondo does not run */
    bool has_place;  /**< one that waits makes room for it at once: bounds do not count */
    bool joins;      /**< while the same action waits in the lane, no second request is made */
};

/** "handoff.approved", the name of a fact in the audit chain. */
const char *handoff_fact_name(enum handoff_fact fact);
/** "second_person_required", the stable code of an outcome. */
const char *handoff_outcome_name(enum handoff_outcome outcome);

/**
 * Accept a request. Whether its signature, its agent and its lane are in order is the caller's.
 * @return HANDOFF_DONE, or HANDOFF_TOO_LATE: then there is no record
 */
enum handoff_outcome handoff_begin(const struct handoff_request *request,
                                   const struct handoff_rules *rules, int64_t now_ns,
                                   struct handoff *ret_handoff, struct handoff_facts *facts);

/** Let time do what is due, in the order of the due times. @return whether anything changed */
bool handoff_advance(struct handoff *handoff, const struct handoff_rules *rules, int64_t now_ns,
                     struct handoff_facts *facts);

/**
 * Let time do what is due, then carry out a command.
 * @param facts what happened is added; commit the record when there is any
 */
enum handoff_outcome handoff_step(struct handoff *handoff, const struct handoff_rules *rules,
                                  const struct handoff_command *command, int64_t now_ns,
                                  struct handoff_facts *facts);
