// SPDX-License-Identifier: Apache-2.0
/* The table of the commands of `rondo policy`. */
#include "cli/commands/policy/commands.h"

const struct command policy_commands[] = {
    {
        .name = "policy check",
        .synopsis = "[OPTION...] [PATH]",
        .help = "Validate policies",
        .description =
            "Reads the policies of a file or folder (by default those of the store), and reports "
            "every error and warning with its position: syntax, unknown names, comparisons that "
            "cannot be evaluated, policies that can never apply. A file of profiles "
            "(profiles.cedar) "
            "is tried with contexts of all kinds. The exit code is 1 if there is an error, or with "
            "--strict a warning.",
        .examples = "rondo policy check new.cedar\tbefore it takes effect\n"
                    "rondo policy check --strict policies/\ta folder, in a build",
        .options = policy_check_options,
        .completes = COMPLETE_FILE,
        .run = cmd_policy_check,
    },
    {
        .name = "policy show",
        .synopsis = "[OPTION...] [DIGEST]",
        .help = "Show the current policies, or earlier ones",
        .description = "Shows the current policies as one Cedar text: those of the store's file, "
                       "then the built-in ones. With DIGEST (a unique prefix suffices), shows the "
                       "text with this digest from the history.",
        .examples = "rondo policy show >rondo.cedar\tstart your own policies\n"
                    "rondo policy show 3f2a91\tan earlier text\n"
                    "rondo policy show --schema >rondo.cedarschema\tfor Cedar's own tools",
        .options = policy_show_options,
        .run = cmd_policy_show,
    },
    {
        .name = "policy set",
        .synopsis = "[OPTION...] FILE|-",
        .help = "Replace the policies",
        .description =
            "Validates a file (or standard input), records it in the history, and atomically "
            "replaces the store's rondo.cedar. The text is checked together with the existing "
            "entities and links, which do not change. If the text has an error, nothing changes "
            "and the exit code is 1. Running loops use the new policies from their next step.",
        .examples = "rondo policy set new.cedar --by alice\treplace the policies\n"
                    "rondo policy show --raw 3f2a91 | rondo policy set -\trestore earlier ones",
        .options = policy_set_options,
        .completes = COMPLETE_FILE,
        .run = cmd_policy_set,
    },
    {
        .name = "policy history",
        .synopsis = "[OPTION...]",
        .help = "List changes of the policies",
        .description = "Lists the recorded changes of this store's policies, newest first: `set` "
                       "by `rondo policy set`, `found` by the first run that used them, or "
                       "`edited` while runs were active.",
        .options = policy_history_options,
        .run = cmd_policy_history,
    },
    {
        .name = "policy explain",
        .synopsis = "[OPTION...] [PATH]",
        .help = "Explain why a request is allowed or denied",
        .description =
            "Evaluates the policies (of PATH, or those of the store) and shows the effect of each: "
            "which forbid or permit, which do not apply, and the values that decide. The verdict "
            "comes last, with the limit that was found. Nothing is executed or recorded.\n\n"
            "Without options, the request is to begin an agent's first iteration. The exit code is "
            "0 if it is allowed, and 6 if it is denied or needs a person's approval.",
        .examples = "rondo policy explain --run last\twhy can this run not continue?\n"
                    "rondo policy explain --context '{\"iteration\":100}'\tafter 100 iterations\n"
                    "rondo policy explain --agent fixer --tool shell\tmay it call this tool?",
        .options = policy_explain_options,
        .completes = COMPLETE_FILE,
        .run = cmd_policy_explain,
    },
    {
        .name = "policy test",
        .synopsis = "[OPTION...] CASES [PATH]",
        .help = "Test policies against expected decisions",
        .description =
            "Evaluates the policies (of PATH, or those of the store) for each case of a JSON file "
            "and compares the verdicts with the expected ones:\n\n"
            "{\"cases\": [{\"name\": \"the hundredth is the last\", \"agent\": \"fixer\", "
            "\"action\": \"iterate\", \"context\": {\"iteration\": 100}, \"expect\": \"deny\", "
            "\"policies\": [\"limit.iterations\"]}]}\n\n"
            "A case may have name, agent, run, action, tool, model, condition, options "
            "(max_iterations, max_tokens, max_cost_usd, max_elapsed_s), context, expect (allow, "
            "deny or ask) and policies (the ids that decide). The exit code is 0 when all pass, 1 "
            "when one fails, and 2 when the file cannot be used.",
        .examples = "rondo policy test cases.json new.cedar\tbefore they take effect",
        .options = policy_test_options,
        .completes = COMPLETE_FILE,
        .run = cmd_policy_test,
    },
    {
        .name = "policy profile",
        .synopsis = "[OPTION...] [NAME]",
        .help = "Show a built-in profile for foreign agents",
        .description =
            "Lists the built-in profiles, or prints one as Cedar text. Profiles decide about "
            "actions that agents outside of Rondo ask about over the API: to allow, to ask a "
            "person, or to deny. A file profiles.cedar next to the store's rondo.cedar takes the "
            "place of all of them; it counts from the next action on.",
        .examples = "rondo policy profile default-security\tread it\n"
                    "rondo policy profile strict >profiles.cedar\tstart your own profiles",
        .options = policy_profile_options,
        .run = cmd_policy_profile,
    },
    {
        .name = "policy what-if",
        .synopsis = "[OPTION...] FILE",
        .help = "Compare profiles with those that count, on past actions",
        .description =
            "Decides about the actions that foreign agents have asked about lately, once by the "
            "profiles that count now and once by those of FILE, and shows how many outcomes "
            "change, by which rules, with samples. The entities beside the store count for both. "
            "Nothing is changed or recorded. The store keeps the contexts of the newest 10,000 "
            "evaluations; those with an approval are left out.",
        .examples = "rondo policy what-if new.cedar\tbefore it becomes profiles.cedar",
        .options = policy_what_if_options,
        .completes = COMPLETE_FILE,
        .run = cmd_policy_what_if,
    },
    {0},
};
