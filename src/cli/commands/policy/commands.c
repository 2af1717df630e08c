// SPDX-License-Identifier: Apache-2.0
/* The table of the commands of `rondo policy`. */
#include "cli/commands/policy/commands.h"

const struct command policy_commands[] = {
    {
        .name = "policy check",
        .synopsis = "[OPTION...] [PATH]",
        .help = "Say what is wrong with policies",
        .description =
            "Reads the policies of a file or folder, without PATH those of the store, and shows "
            "every error and warning with its place: syntax, words that Rondo does not know, "
            "comparisons that cannot be evaluated, policies that can never apply. The exit code "
            "is 1 when there is an error, with --strict also when there is a warning.",
        .examples = "rondo policy check new.cedar\ta file that is not in force yet\n"
                    "rondo policy check --strict policies/\ta folder, in a build",
        .options = policy_check_options,
        .completes = COMPLETE_FILE,
        .run = cmd_policy_check,
    },
    {
        .name = "policy show",
        .synopsis = "[OPTION...] [DIGEST]",
        .help = "Show the policies in force, or former ones",
        .description =
            "Shows the policies in force as one Cedar text: those of the store's file, and behind "
            "them Rondo's own. With DIGEST (the beginning is enough) it shows the text that had "
            "this digest, from the history.",
        .examples = "rondo policy show >rondo.cedar\ta start for policies of your own\n"
                    "rondo policy show 3f2a91\twhat held before\n"
                    "rondo policy show --schema >rondo.cedarschema\tfor Cedar's own tools",
        .options = policy_show_options,
        .run = cmd_policy_show,
    },
    {
        .name = "policy set",
        .synopsis = "[OPTION...] FILE|-",
        .help = "Put policies in force",
        .description =
            "Checks a file (or the standard input), records it in the history, and replaces the "
            "store's rondo.cedar with it in one step. Entities and links beside that file stay, "
            "and the text is checked together with them. A text with an error changes nothing, "
            "and the exit code is 1. Running loops ask the new policies at their next step.",
        .examples = "rondo policy set new.cedar --by alice\tfrom now on\n"
                    "rondo policy show --raw 3f2a91 | rondo policy set -\tback to former ones",
        .options = policy_set_options,
        .completes = COMPLETE_FILE,
        .run = cmd_policy_set,
    },
    {
        .name = "policy history",
        .synopsis = "[OPTION...]",
        .help = "List the policies that were in force",
        .description =
            "Lists each change of the policies that this store knows of, newest first: `set` by "
            "`rondo policy set`, `found` by the first run that used them, or `edited` by somebody "
            "while runs were going on.",
        .options = policy_history_options,
        .run = cmd_policy_history,
    },
    {
        .name = "policy explain",
        .synopsis = "[OPTION...] [PATH]",
        .help = "Say why something is allowed or denied",
        .description =
            "Asks the policies (of PATH, or those of the store) and shows what each of them says: "
            "which forbid or permit, which do not apply, and the values that made it so. The end "
            "is the verdict, with the limit that was found. Nothing is executed or recorded.\n\n"
            "Without options the question is whether an agent may begin its first iteration. The "
            "exit code is 0 when it is allowed, and 6 when it is denied or a person must approve.",
        .examples = "rondo policy explain --run last\twhy does this run not go on?\n"
                    "rondo policy explain --context '{\"iteration\":100}'\tafter 100 iterations\n"
                    "rondo policy explain --agent fixer --tool shell\tmay it call this tool?",
        .options = policy_explain_options,
        .completes = COMPLETE_FILE,
        .run = cmd_policy_explain,
    },
    {
        .name = "policy test",
        .synopsis = "[OPTION...] CASES [PATH]",
        .help = "Hold policies against cases of what they should say",
        .description =
            "Asks the policies (of PATH, or those of the store) each question of a JSON file and "
            "compares the answers with those that it expects:\n\n"
            "{\"cases\": [{\"name\": \"the hundredth is the last\", \"agent\": \"fixer\", "
            "\"action\": \"iterate\", \"context\": {\"iteration\": 100}, \"expect\": \"deny\", "
            "\"policies\": [\"limit.iterations\"]}]}\n\n"
            "A case may have name, agent, run, action, tool, model, condition, options "
            "(max_iterations, max_tokens, max_cost_usd, max_elapsed_s), context, expect (allow, "
            "deny or ask) and policies (the ids that decide). The exit code is 0 when all pass, 1 "
            "when one fails, and 2 when the file cannot be used.",
        .examples = "rondo policy test cases.json new.cedar\tbefore putting them in force",
        .options = policy_test_options,
        .completes = COMPLETE_FILE,
        .run = cmd_policy_test,
    },
    {0},
};
