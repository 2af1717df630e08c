// SPDX-License-Identifier: Apache-2.0
/* Options of the victim, the program that the crash tests kill, freeze and starve. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct victim_options {
    const char *store;
    const char *effects; /**< file to which bodies append */
    const char *agent;   /**< agent_id of new runs */
    const char *resume;  /**< work on this run only; NULL = on all unfinished ones, then new ones */
    const char *policy;  /**< file with Cedar policies; NULL = none */
    int64_t threads;     /**< loops at once */
    int64_t runs;        /**< runs that the store shall have in the end */
    int64_t iterations;  /**< limit of each run */
    int64_t interval;    /**< iterations between checkpoints */
    int64_t demand;      /**< every how many iterations a checkpoint on demand; 0 = never */
    int64_t state_bytes; /**< size of the agent's state, which does not compress */
    int64_t lease_ms;
    int64_t patience_ms; /**< how long to ask again for a run that is held */
    int64_t busy_ms;     /**< how long to wait for another process's transaction; 0 = default */
    int64_t body_us;     /**< duration of a body */
    int64_t verify_us;   /**< duration of an exit condition's verifier, not met; 0 = none */
    int64_t hurry;       /**< pauses between tries are divided by this */
    bool best_effort;
    bool exclusive;
    bool hold;    /**< bodies last until the loop is cancelled */
    bool keep;    /**< like hold, but until a byte or the end of stdin; then the run is released */
    bool barrier; /**< print "r" and wait for a byte on stdin before claiming */
    bool again;   /**< after a failure of the store, try to start another run */
    bool others;  /**< leave runs alone that others hold, or have ended since */
    bool no_sync; /**< fsync and fdatasync do nothing: shows that a power cut test can fail */
};

/** Read the command line; prints a message and exits on a mistake. */
struct victim_options victim_options_parse(int argc, char **argv);
